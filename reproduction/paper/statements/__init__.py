"""The paper's statements about its experiments, by table and figure."""

from __future__ import annotations

from reproduction.paper.statement import Statement
from reproduction.paper.statements import (
    base_sets,
    classification,
    comparisons,
    embeddings,
    lookups,
    rotations,
    supervised,
)

STATEMENTS: dict[str, list[Statement]] = {
    **embeddings.STATEMENTS,
    **base_sets.STATEMENTS,
    **comparisons.STATEMENTS,
    **lookups.STATEMENTS,
    **classification.STATEMENTS,
    **rotations.STATEMENTS,
    **supervised.STATEMENTS,
}
"""Statements by artifact; their ids are unique."""
