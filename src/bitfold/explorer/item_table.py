"""Metadata of the items in SQLite: values by row, conditions on columns, and text search."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from bitfold._types import Int64Array
from bitfold.collection.items import ItemsTable, decode_value, quote_name
from bitfold.errors import ParameterError
from bitfold.explorer.item_ids import RowIds, is_storable

MAX_SCAN_SECONDS = 5.0
"""Time after which a text search stops, and its result is incomplete."""

_STEPS_PER_CHECK = 100_000
"""Instructions of SQLite between two looks at the clock."""

_MAX_CACHED_FILTERS = 16

TYPE_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    datetime: "time",
}


class Selected(NamedTuple):
    """Rows that meet a filter, ascending; ``is_complete`` is false if the scan was stopped."""

    rows: Int64Array
    is_complete: bool


class ItemTable:
    """Ids and metadata of the items by row.

    Parameters
    ----------
    ids
        Ids of the rows.
    table
        The table of metadata; None without any.
    stored_rows
        Row of each item in the table, ascending; None if the numbers are the same.
    folder
        A temporary folder that contains the table, which lives as long as this object.
    """

    def __init__(
        self,
        ids: RowIds,
        table: ItemsTable | None = None,
        stored_rows: Int64Array | None = None,
        folder: object = None,
    ) -> None:
        self.ids = ids
        self.table = table
        self._stored = stored_rows
        self._folder = folder
        self.select = lru_cache(_MAX_CACHED_FILTERS)(self._select)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def columns(self) -> Mapping[str, type]:
        """Types of the columns by name."""
        return {} if self.table is None else self.table.state.columns

    def check_column(self, name: str) -> type:
        """Return the type of a column; raise if it is unknown."""
        if name not in self.columns:
            known = ", ".join(map(repr, self.columns)) or "none, because there are no metadata"
            raise ParameterError("column", "the request", f"among {known}", repr(name[:60]))
        return self.columns[name]

    def values(self, rows: Int64Array, columns: Sequence[str] | None = None) -> dict[str, Any]:
        """Return the values of some rows, one list per column; all columns by default."""
        names = list(self.columns) if columns is None else list(columns)
        if self.table is None or not names:
            return {}
        return self.table.read(self._to_stored(rows), names)

    def column(self, name: str) -> list[Any]:
        """Return all values of one column, by row; None marks a missing value."""
        kind = self.check_column(name)
        assert self.table is not None  # it has the column
        sql = f"SELECT _row, {quote_name(name)} FROM {self.table.name} WHERE _row < ?"
        with self.table.database.reading() as connection:
            pairs = connection.execute(f"{sql} ORDER BY _row", [self.table.state.n_rows]).fetchall()
        values = _decode([value for _, value in pairs], kind)
        rows, at = self._to_rows(np.fromiter((row for row, _ in pairs), np.int64, len(pairs)))
        if len(rows) == len(self) == len(values):
            return values
        found: list[Any] = [None] * len(self)
        for row, place in zip(rows.tolist(), at.tolist(), strict=True):
            found[row] = values[place]
        return found

    def aggregate(self, select: str, rest: str = "") -> list[tuple[Any, ...]]:
        """Return what a SELECT of the items returns; its parts never come from a request."""
        assert self.table is not None  # it has the columns in the parts
        state = self.table.state
        visible = f"_row < {state.n_rows} AND (_removed IS NULL OR _removed > {state.generation})"
        sql = f"SELECT {select} FROM (SELECT * FROM {self.table.name} WHERE {visible}) {rest}"
        with self.table.database.reading() as connection:
            return connection.execute(sql).fetchall()

    def _select(self, where: str | None, find: str | None) -> Selected | None:
        """Return the rows that meet a condition and contain a text; None if all do."""
        parts = []
        if where and where.strip():
            parts.append(Selected(self._find_condition(where), True))
        if find and find.strip():
            parts.append(self._find_text(find.strip()))
        if not parts:
            return None
        rows = parts[0].rows
        for other in parts[1:]:
            rows = np.intersect1d(rows, other.rows, assume_unique=True)
        return Selected(rows, all(part.is_complete for part in parts))

    def _find_condition(self, where: str) -> Int64Array:
        if self.table is None or not self.columns:
            requirement = "empty, because there are no metadata"
            raise ParameterError("where", "the request", requirement, repr(where[:60]))
        return self._to_rows(self.table.find(where))[0]

    def _find_text(self, text: str) -> Selected:
        if not is_storable(text):
            return Selected(np.empty(0, np.int64), True)
        if self.table is None:
            return Selected(self._find_in_names(text), True)
        names = [quote_name(name) for name, kind in self.columns.items() if kind is str]
        escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        test = " OR ".join(
            f"{name} LIKE ?1 ESCAPE '\\'" for name in ["coalesce(_id, _row)", *names]
        )
        sql = f"SELECT _row FROM {self.table.name} WHERE _row < ?2 AND ({test}) ORDER BY _row"
        values = [f"%{escaped}%", self.table.state.n_rows]
        with self.table.database.reading() as connection:
            found, is_complete = _scan(connection, sql, values)
        return Selected(self._to_rows(found)[0], is_complete)

    def _find_in_names(self, text: str) -> Int64Array:
        names = self.ids.names(np.arange(len(self)))
        return np.array([row for row, name in enumerate(names) if text in name], np.int64)

    def _to_stored(self, rows: Int64Array) -> Int64Array:
        return rows if self._stored is None else self._stored[rows]

    def _to_rows(self, stored: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the rows of items in the table, and where they are among ``stored``."""
        if self._stored is None:
            return stored, np.arange(len(stored))
        at = np.searchsorted(self._stored, stored)
        kept = np.flatnonzero(self._stored[np.minimum(at, len(self._stored) - 1)] == stored)
        return at[kept], kept


def _decode(values: list[Any], kind: type) -> list[Any]:
    """Return stored values as objects of the type of their column; None marks a missing value."""
    if kind in (str, int, float) and set(map(type, values)) <= {kind, type(None)}:
        return values
    return [None if value is None else decode_value(value, kind) for value in values]


def _scan(connection: sqlite3.Connection, sql: str, values: list[Any]) -> tuple[Int64Array, bool]:
    """Return the first column of a query, and whether it ended in time."""
    deadline = time.monotonic() + MAX_SCAN_SECONDS
    found: list[int] = []
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_PER_CHECK)
    is_complete = False
    try:
        with suppress(sqlite3.OperationalError):  # interrupted by the handler
            found.extend(row for (row,) in connection.execute(sql, values))
            is_complete = True
    finally:
        connection.set_progress_handler(None, 0)
    return np.array(found, np.int64), is_complete
