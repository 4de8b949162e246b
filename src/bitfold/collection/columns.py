"""Metadata as users pass it: tables of any kind become lists of Python values, column by column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any, NamedTuple, Protocol

import numpy as np

from bitfold import _validation
from bitfold.errors import DataError, ParameterTypeError
from bitfold.stores.columns import check_column_types, check_column_values

_OWNER = "Collection"

_MISSING_TYPES = ("NAType", "NaTType")
"""Names of the types of pandas's missing values, which is not imported here."""

ColumnValues = dict[str, list[Any]]
"""One list of values per column; None marks a missing value."""


class MetadataSource(Protocol):
    """Metadata that are read forward, some rows at a time."""

    @property
    def types(self) -> Mapping[str, type]:
        """Types of the columns by name."""

    def read(self, n_rows: int) -> ColumnValues:
        """Return the values of the next rows; fewer at the end."""


class TableSource:
    """Metadata in memory.

    Parameters
    ----------
    columns
        Values by column, all of one length.
    """

    def __init__(self, columns: ColumnValues) -> None:
        self.types = {name: infer_type(values, name) for name, values in columns.items()}
        self._columns = columns
        self._start = 0

    def read(self, n_rows: int) -> ColumnValues:
        """Return the values of the next rows; fewer at the end."""
        part = slice(self._start, self._start + n_rows)
        self._start += n_rows
        return {name: values[part] for name, values in self._columns.items()}


class MetadataReader(NamedTuple):
    """Reads the metadata of one batch after another, as values of the columns of a collection.

    Parameters
    ----------
    source
        The metadata of the rows that are added; None has none.
    types
        Types of the columns of the collection.
    """

    source: MetadataSource | None
    types: Mapping[str, type]

    def read(self, n_rows: int) -> ColumnValues:
        """Return checked values of the next rows for every column."""
        values = {} if self.source is None else self.source.read(n_rows)
        return check_column_values(values, self.types, n_rows, _OWNER)

    def check_end(self, n_rows: int) -> None:
        """Raise if there are more metadata than rows."""
        left = {} if self.source is None else self.source.read(1)
        if any(left.values()):
            raise DataError(f"metadata of Collection have more rows than X, which has {n_rows}.")


def open_metadata(metadata: Any) -> MetadataSource | None:
    """Return metadata as a source: a table, a mapping of columns, or a list of records."""
    if metadata is None or (hasattr(metadata, "types") and hasattr(metadata, "read")):
        source: MetadataSource | None = metadata
        return source
    columns = _to_columns(metadata)
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        requirement = "columns of one length"
        _validation.raise_invalid("metadata", _OWNER, requirement, lengths)
    check_column_types(dict.fromkeys(columns, str), _OWNER)
    return TableSource(columns)


def declare_columns(metadata: Any) -> dict[str, type]:
    """Return the columns of a collection from metadata, or from a mapping of names to types."""
    if isinstance(metadata, Mapping) and all(isinstance(v, type) for v in metadata.values()):
        types = dict(metadata)
    else:
        source = open_metadata(metadata)
        types = {} if source is None else dict(source.types)
    checked = check_column_types(types, _OWNER)
    lowered = [name.lower() for name in checked]
    for name in checked:
        if lowered.count(name.lower()) > 1:
            requirement = "different from all others, also in lower case"
            _validation.raise_invalid("column name", _OWNER, requirement, repr(name))
    return checked


def is_declaration(metadata: Any) -> bool:
    """Return whether metadata are names and types, without values."""
    if metadata is None:
        return True
    return isinstance(metadata, Mapping) and all(isinstance(v, type) for v in metadata.values())


def _to_columns(metadata: Any) -> ColumnValues:
    if hasattr(metadata, "column_names") and hasattr(metadata, "column"):  # Arrow
        return {name: to_values(metadata.column(name)) for name in metadata.column_names}
    if hasattr(metadata, "columns") and hasattr(metadata, "iloc"):  # pandas
        return {name: to_values(metadata[name]) for name in metadata.columns}
    if hasattr(metadata, "columns") and hasattr(metadata, "get_column"):  # Polars
        return {name: to_values(metadata.get_column(name)) for name in metadata.columns}
    if isinstance(metadata, Mapping):
        return {name: to_values(values) for name, values in metadata.items()}
    if isinstance(metadata, Sequence) and all(isinstance(each, Mapping) for each in metadata):
        names = dict.fromkeys(name for record in metadata for name in record)
        return {name: to_values([record.get(name) for record in metadata]) for name in names}
    requirement = "a DataFrame, an Arrow table, a mapping of columns or a list of dictionaries"
    raise ParameterTypeError("metadata", _OWNER, requirement, type(metadata).__name__)


def to_values(values: Any) -> list[Any]:
    """Return the values of a column as Python objects; None marks a missing value."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise ParameterTypeError("metadata", _OWNER, "lists of values", type(values).__name__)
    if hasattr(values, "to_pylist"):
        listed = values.to_pylist()
    elif isinstance(values, np.ndarray):
        is_time = values.dtype.kind == "M"
        listed = (values.astype("datetime64[us]") if is_time else values).tolist()
    else:
        listed = list(values)
    return [_to_value(value) for value in listed]


def _to_value(value: Any) -> Any:
    """Return a plain Python object; times become times with a time zone."""
    if value is None or type(value) in (bool, int, str):
        return value
    value = value.item() if isinstance(value, np.generic) else value
    if type(value).__name__ in _MISSING_TYPES or (isinstance(value, float) and math.isnan(value)):
        return None
    if hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime(warn=False)
    if isinstance(value, date):
        moment = value if isinstance(value, datetime) else datetime.combine(value, time())
        # numpy's times have no zone and mean UTC; so do others without one.
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return value


def infer_type(values: list[Any], name: str) -> type:
    """Return the type of a column: that of its values, float for mixed numbers, str for none."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return float
    if len(kinds) > 1:
        found = " and ".join(sorted(kind.__name__ for kind in kinds))
        _validation.raise_invalid(f"column {name!r}", _OWNER, "of one type", found)
    return next(iter(kinds), str)
