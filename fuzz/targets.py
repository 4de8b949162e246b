"""All targets."""

from __future__ import annotations

from fuzz.operations import check_operations, make_operation_seeds
from fuzz.readers import READERS, Target

TARGETS: dict[str, Target] = {
    **READERS,
    "search": Target(make_operation_seeds, check_operations),
}
"""Targets by name."""
