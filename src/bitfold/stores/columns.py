"""The user's own columns: what they are called, and what they may hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import numpy as np

from bitfold import _validation

ID, CODE, VECTOR = "id", "code", "vector"
"""What a store calls its own columns."""

TYPES: tuple[type, ...] = (bool, int, float, str, datetime)

_LONGEST_NAME = 63
"""Bytes of a name: Postgres cuts off what is beyond."""


def check_types(columns: Mapping[str, type] | None, owner: str) -> dict[str, type]:
    """Return the columns a store is to have, checked: names, and one of the types."""
    chosen = dict(columns or {})
    for name, kind in chosen.items():
        check_name(name, owner)
        if kind not in TYPES:
            listed = ", ".join(t.__name__ for t in TYPES)
            _validation.raise_invalid(
                f"column {name!r}", owner, f"one of the types {listed}", repr(kind)
            )
    return chosen


def check_name(name: Any, owner: str) -> None:
    """Raise unless every engine can have a column of this name beside our own."""
    reserved = (ID, CODE, VECTOR)
    fits = isinstance(name, str) and name.isprintable() and name.strip() and not {*".%"} & {*name}
    if not fits or len(name.encode()) > _LONGEST_NAME or name.lower() in reserved or name[0] == "_":
        demand = (
            f"printable text of at most {_LONGEST_NAME} bytes without a dot or %, "
            f"not {', '.join(reserved)} nor beginning with _"
        )
        _validation.raise_invalid("a column's name", owner, demand, repr(name))


def values(
    given: Mapping[str, Any] | None, types: Mapping[str, type], count: int, owner: str
) -> dict[str, list[Any]]:
    """Return a list of values for each column; None stands for one that is missing.

    Parameters
    ----------
    given
        Values by name; columns left out are missing throughout.
    types
        The store's columns.
    count
        How many values each must have.
    owner
        Name of the store, for errors.
    """
    given = given or {}
    unknown = sorted(set(given) - set(types))
    if unknown:
        demand = f"among {', '.join(map(repr, types)) or 'none: the store has no columns'}"
        _validation.raise_invalid("columns", owner, demand, repr(unknown[0]))
    return {
        name: _values(given[name], name, kind, count, owner) if name in given else [None] * count
        for name, kind in types.items()
    }


def _values(given: Any, name: str, kind: type, count: int, owner: str) -> list[Any]:
    listed = given.tolist() if isinstance(given, np.ndarray) else list(given)
    if len(listed) != count:
        demand = f"one value for each of the {count} codes"
        _validation.raise_invalid(f"column {name!r}", owner, demand, len(listed))
    return [_value(value, name, kind, owner) for value in listed]


def _value(value: Any, name: str, kind: type, owner: str) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None:
        return None
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind and not (kind is datetime and isinstance(value, datetime)):
        _validation.raise_invalid(
            f"column {name!r}", owner, f"of type {kind.__name__}", repr(value)
        )
    _FITS.get(kind, _anything)(value, name, owner)
    return value


def _anything(value: Any, name: str, owner: str) -> None:
    pass


def _int_fits(value: int, name: str, owner: str) -> None:
    if not -(1 << 63) <= value < 1 << 63:
        _validation.raise_invalid(f"column {name!r}", owner, "integers of at most 64 bits", value)


def _str_fits(value: str, name: str, owner: str) -> None:
    try:
        sound = b"\0" not in value.encode()
    except UnicodeEncodeError:
        sound = False
    if not sound:
        _validation.raise_invalid(
            f"column {name!r}", owner, "text without NUL or lone surrogates", "such"
        )


def _time_fits(value: datetime, name: str, owner: str) -> None:
    if value.tzinfo is None:
        _validation.raise_invalid(f"column {name!r}", owner, "times with a time zone", repr(value))


_FITS: dict[type, Callable[[Any, str, str], None]] = {
    int: _int_fits,
    str: _str_fits,
    datetime: _time_fits,
}
