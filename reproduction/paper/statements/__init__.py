"""The paper's statements about its experiments, by table and figure."""

from __future__ import annotations

from reproduction.paper.statement import Group
from reproduction.paper.statements import (
    base_sets,
    classification,
    comparisons,
    embeddings,
    lookups,
    main_claims,
    rotations,
    supervised,
)


def _merge(*groups: Group) -> Group:
    merged: Group = {}
    for group in groups:
        for artifact, statements in group.items():
            merged.setdefault(artifact, []).extend(statements)
    return merged


STATEMENTS: Group = _merge(
    embeddings.STATEMENTS,
    base_sets.STATEMENTS,
    comparisons.STATEMENTS,
    lookups.STATEMENTS,
    classification.STATEMENTS,
    rotations.STATEMENTS,
    supervised.STATEMENTS,
    main_claims.STATEMENTS,
)
"""Statements by artifact; their ids are unique."""
