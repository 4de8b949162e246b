"""Conditions on the user's columns, in the form of pyarrow's filters.

``[("label", "=", 3), ("price", "<", 10)]`` are conditions that must all hold; a list of such lists
is true where all of one hold. They are data, never text of a query language.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import numpy as np

from bitfold import _validation
from bitfold.search.ids import LARGEST

Condition = tuple[str, str, Any]
Where = Sequence[Condition] | Sequence[Sequence[Condition]]

OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "in", "not in")

_SCALARS = (bool, int, float, str, date, datetime)


def grouped(where: Any, owner: str) -> list[list[Condition]]:
    """Return alternatives, each a list of checked conditions; none for no condition at all."""
    if where is None:
        return []
    listed = isinstance(where, (list, tuple)) and all(isinstance(w, (list, tuple)) for w in where)
    if not listed:
        demand = 'a list of conditions such as ("label", "=", 3)'
        _validation.raise_invalid("where", owner, demand, repr(where))
    nested = all(not group or not isinstance(group[0], str) for group in where)
    groups = [list(group) for group in where] if nested else [list(where)]
    if not all(groups):
        _validation.raise_invalid("where", owner, "lists with conditions in them", repr(where))
    return [[_checked(condition, owner) for condition in group] for group in groups]


def _checked(condition: Any, owner: str) -> Condition:
    if not (isinstance(condition, (list, tuple)) and len(condition) == 3):
        _validation.raise_invalid(
            "where", owner, "conditions (column, operator, value)", repr(condition)
        )
    column, operator, value = condition
    operator = "=" if operator == "==" else operator
    _validation.check_choice(operator, "the operator in where", owner, OPERATORS)
    if operator in ("in", "not in"):
        return column, operator, _several(value, column, owner)
    return column, operator, _scalar(value, column, owner)


def _several(values: Any, column: str, owner: str) -> list[Any]:
    if isinstance(values, (str, bytes)) or not np.iterable(values):
        _validation.raise_invalid(
            f"the value of {column!r} in where", owner, "a list", repr(values)
        )
    return [_scalar(value, column, owner) for value in values]


def _scalar(value: Any, column: str, owner: str) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, _SCALARS):
        demand = "a number, a text, a truth value or a time"
        _validation.raise_invalid(f"the value of {column!r} in where", owner, demand, repr(value))
    if isinstance(value, int) and not -(1 << 63) <= value <= LARGEST:
        demand = "an integer of at most 64 bits"
        _validation.raise_invalid(f"the value of {column!r} in where", owner, demand, value)
    return value
