"""Conditions on metadata columns as SQL: every value is a parameter, every name a known column."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from bitfold import _validation
from bitfold.stores.conditions import Condition, parse_conditions

_OWNER = "search"

COMPARISONS = {
    "=": "=",
    "==": "=",
    "!=": "!=",
    "<>": "!=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
}
"""Operators of conditions, as SQL writes them."""


class SqlCondition(NamedTuple):
    """An expression of SQL with placeholders, and the values for them."""

    sql: str
    values: list[Any]


class ConditionCompiler(NamedTuple):
    """Compiles conditions on the columns of one collection.

    Parameters
    ----------
    types
        Types of the columns by name; ``id`` is among them.
    sql_names
        What the columns are called in SQL.
    """

    types: Mapping[str, type]
    sql_names: Mapping[str, str]

    def compile(self, where: Any) -> SqlCondition:
        """Return a condition, given as a list of tuples, as SQL."""
        groups = parse_conditions(where, _OWNER)
        if not groups:
            return SqlCondition("1", [])
        return join_conditions(
            " OR ", [join_conditions(" AND ", list(map(self._compile_tuple, g))) for g in groups]
        )

    def _compile_tuple(self, condition: Condition) -> SqlCondition:
        column, operator, value = condition
        if operator in COMPARISONS:
            return self.compare(column, COMPARISONS[operator], value)
        return self.is_in(column, value, negated=operator == "not in")

    def compare(self, column: str, operator: str, value: Any) -> SqlCondition:
        """Return a comparison of a column with a value."""
        return SqlCondition(f"{self.name(column)} {operator} ?", [self.convert(column, value)])

    def is_in(self, column: str, values: list[Any], *, negated: bool) -> SqlCondition:
        """Return a test whether a column has one of some values."""
        converted = [self.convert(column, value) for value in values]
        marks, word = ", ".join("?" * len(values)), "NOT IN" if negated else "IN"
        return SqlCondition(f"{self.name(column)} {word} ({marks})", converted)

    def name(self, column: str) -> str:
        """Return what a column is called in SQL; raise if it is unknown."""
        if column not in self.types:
            known = ", ".join(map(repr, self.types))
            _validation.raise_invalid("column in where", _OWNER, f"one of {known}", repr(column))
        return self.sql_names[column]

    def convert(self, column: str, value: Any) -> Any:
        """Return a value as SQLite stores it in a column; raise if it has another type."""
        self.name(column)
        kind = self.types[column]
        convert, requirement = _CONVERSIONS[kind]
        converted = convert(value)
        if converted is None:
            name = f"value of {column!r} in where"
            _validation.raise_invalid(name, _OWNER, requirement, repr(value))
        return converted


def _to_number(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return value if is_integer and -(1 << 63) <= value < 1 << 63 else None


def _to_boolean(value: Any) -> Any:
    return int(value) if value in (True, False) and not isinstance(value, str) else None


def _to_text(value: Any) -> Any:
    return value if isinstance(value, str) and "\0" not in value and _is_unicode(value) else None


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _to_time(value: Any) -> Any:
    try:
        moment = datetime.fromisoformat(value if isinstance(value, str) else value.isoformat())
    except (AttributeError, ValueError):
        return None
    return format_time(moment)


def format_time(moment: datetime) -> str:
    """Return a time as text of one form, so that texts compare as times do."""
    zoned = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return zoned.isoformat(timespec="microseconds")


_CONVERSIONS: dict[type, tuple[Callable[[Any], Any], str]] = {
    bool: (_to_boolean, "true or false"),
    int: (_to_number, "a number of at most 64 bits"),
    float: (_to_number, "a number of at most 64 bits"),
    str: (_to_text, "text in single quotes"),
    datetime: (_to_time, "a time such as '2024-01-31' or '2024-01-31T12:00:00+00:00'"),
}


def join_conditions(word: str, parts: list[SqlCondition]) -> SqlCondition:
    """Return several conditions as one."""
    if len(parts) == 1:
        return parts[0]
    sql = word.join(f"({part.sql})" for part in parts)
    return SqlCondition(sql, [value for part in parts for value in part.values])
