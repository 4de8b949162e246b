"""Conditions on the columns of a store, in the form of pyarrow's filters.

``[("label", "=", 3), ("price", "<", 10)]`` holds where all conditions hold; a list of such lists
holds where at least one of the lists does. Conditions are data, never text of a query language.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import numpy as np

from bitfold import _validation

Condition = tuple[str, str, Any]
Where = Sequence[Condition] | Sequence[Sequence[Condition]]

OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "in", "not in")

_SCALAR_TYPES = (bool, int, float, str, date, datetime)


def parse_conditions(where: Any, owner: str) -> list[list[Condition]]:
    """Return ``where`` as a list of alternatives, each a list of checked conditions.

    The list is empty if there are no conditions.
    """
    if where is None:
        return []
    if not (_is_list(where) and all(map(_is_list, where))):
        requirement = 'a list of conditions such as ("label", "=", 3)'
        _validation.raise_invalid("where", owner, requirement, repr(where))
    is_nested = all(not group or not isinstance(group[0], str) for group in where)
    groups = [list(group) for group in where] if is_nested else [list(where)]
    if not all(groups):
        _validation.raise_invalid("where", owner, "without empty lists", repr(where))
    return [[_check_condition(condition, owner) for condition in group] for group in groups]


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _check_condition(condition: Any, owner: str) -> Condition:
    if not (_is_list(condition) and len(condition) == 3):
        _validation.raise_invalid(
            "where", owner, "conditions (column, operator, value)", repr(condition)
        )
    column, operator, value = condition
    operator = "=" if operator == "==" else operator
    _validation.check_choice(operator, "operator in where", owner, OPERATORS)
    if operator not in ("in", "not in"):
        return column, operator, _check_scalar(value, column, owner)
    if isinstance(value, (str, bytes)) or not np.iterable(value):
        _validation.raise_invalid(f"value of {column!r} in where", owner, "a list", repr(value))
    return column, operator, [_check_scalar(each, column, owner) for each in value]


def _check_scalar(value: Any, column: str, owner: str) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    name = f"value of {column!r} in where"
    if not isinstance(value, _SCALAR_TYPES):
        requirement = "a number, a string, a boolean or a time"
        _validation.raise_invalid(name, owner, requirement, repr(value))
    if isinstance(value, str) and not _is_unicode(value):
        _validation.raise_invalid(name, owner, "valid Unicode", repr(value))
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        _validation.raise_invalid(name, owner, "an integer of at most 64 bits", value)
    return value


def _is_unicode(text: str) -> bool:
    """Return whether a string has no lone surrogate, which no database can store."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
