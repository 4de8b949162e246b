"""Conditions on columns as LanceDB expressions."""

from __future__ import annotations

from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import Any

from bitfold.stores.conditions import Condition

_COMPARISONS = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


def to_expression(groups: list[list[Condition]]) -> Any:
    """Return alternatives, each a list of conditions that must all hold, as one expression."""
    return reduce(or_, (reduce(and_, (_compile(*c) for c in group)) for group in groups))


def _compile(column: str, operator: str, value: Any) -> Any:
    from lancedb.expr import col, lit

    field = col(column)
    if operator in _COMPARISONS:
        return _COMPARISONS[operator](field, lit(value))
    if not value:
        # Nothing is in an empty list, everything else is outside; a missing value is neither.
        return (field == field) if operator == "not in" else ~(field == field)
    is_in = field.isin(value)
    return ~is_in if operator == "not in" else is_in
