"""Columns that users add to a store: names, types and values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np

from bitfold import _validation

ID_COLUMN, CODE_COLUMN, VECTOR_COLUMN = "id", "code", "vector"
"""Names of the columns that every store has."""

COLUMN_TYPES: tuple[type, ...] = (bool, int, float, str, datetime)

_MAX_NAME_BYTES = 63
"""Postgres truncates longer names."""


def check_column_types(columns: Mapping[str, type] | None, owner: str) -> dict[str, type]:
    """Return the columns of a new store; raise for a name or type that an engine cannot have."""
    types = dict(columns or {})
    for name, kind in types.items():
        _check_name(name, owner)
        if kind not in COLUMN_TYPES:
            requirement = f"one of the types {', '.join(t.__name__ for t in COLUMN_TYPES)}"
            _validation.raise_invalid(f"column {name!r}", owner, requirement, repr(kind))
    return types


def _check_name(name: Any, owner: str) -> None:
    reserved = (ID_COLUMN, CODE_COLUMN, VECTOR_COLUMN)
    is_plain = isinstance(name, str) and bool(name.strip()) and name.isprintable()
    if (
        not is_plain
        or {*".%"} & {*name}
        or len(name.encode()) > _MAX_NAME_BYTES
        or name.lower() in reserved
        or name.startswith("_")
    ):
        requirement = (
            f"printable text of at most {_MAX_NAME_BYTES} bytes without a dot or %, "
            f"different from {', '.join(reserved)} and without a leading underscore"
        )
        _validation.raise_invalid("column name", owner, requirement, repr(name))


def check_column_values(
    columns: Mapping[str, Any] | None, types: Mapping[str, type], n_rows: int, owner: str
) -> dict[str, list[Any]]:
    """Return ``n_rows`` values for every column of a store; None marks a missing value."""
    columns = columns or {}
    unknown = sorted(set(columns) - set(types))
    if unknown:
        listed = ", ".join(map(repr, types))
        requirement = f"among {listed}" if types else "None, because the store has no columns"
        _validation.raise_invalid("columns", owner, requirement, repr(unknown[0]))
    missing = [None] * n_rows
    return {
        name: _check_values(columns.get(name, missing), name, kind, n_rows, owner)
        for name, kind in types.items()
    }


def _check_values(values: Any, name: str, kind: type, n_rows: int, owner: str) -> list[Any]:
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if len(listed) != n_rows:
        requirement = f"one value for each of the {n_rows} codes"
        _validation.raise_invalid(f"column {name!r}", owner, requirement, len(listed))
    return [_check_value(value, name, kind, owner) for value in listed]


def _check_value(value: Any, name: str, kind: type, owner: str) -> Any:
    """Return one value as a Python object of type ``kind``, or None."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None:
        return None
    if kind is float and type(value) is int:
        return float(value)
    requirement = _find_unmet_requirement(value, kind)
    if requirement is not None:
        _validation.raise_invalid(f"column {name!r}", owner, requirement, ascii(value))
    return value


def _find_unmet_requirement(value: Any, kind: type) -> str | None:
    """Return the requirement that a value does not meet; None if the column can hold it."""
    has_type = type(value) is kind or (kind is datetime and isinstance(value, datetime))
    if not has_type:
        return f"of type {kind.__name__}"
    if kind is int and not -(1 << 63) <= value < 1 << 63:
        return "integers of at most 64 bits"
    if kind is str and not _is_storable_text(value):
        return "text without NUL or lone surrogates"
    if kind is datetime and value.tzinfo is None:
        return "times with a time zone"
    return None


def _is_storable_text(value: str) -> bool:
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False
