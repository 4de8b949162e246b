"""The table of items: ids and metadata, one row per item that has any.

Rows are only added, and removed ones keep the generation of their removal, so that a reader of an
older generation still finds them. A new epoch has a new table.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._types import Int64Array
from bitfold.collection.columns import ColumnValues
from bitfold.collection.conditions import ConditionCompiler, format_time
from bitfold.collection.database import MAX_PARAMETERS, Database
from bitfold.collection.state import CollectionState
from bitfold.collection.where import compile_where
from bitfold.errors import FormatError

_SQL_TYPES = {bool: "INTEGER", int: "INTEGER", float: "REAL", str: "TEXT", datetime: "TEXT"}
_VALUE_TYPES = {bool: int, int: int, float: float, str: str, datetime: str}

_SUM_MASK = (1 << 64) - 1


class ItemsTable(NamedTuple):
    """The table of one epoch, as one state sees it.

    Parameters
    ----------
    database
        The database.
    state
        Rows that it does not contain are invisible.
    """

    database: Database
    state: CollectionState

    @property
    def name(self) -> str:
        """Name of the table."""
        return f"items_{self.state.epoch}"

    @property
    def definitions(self) -> dict[str, str]:
        """The SQL that creates the table and the index of its ids, by name."""
        id_type = "TEXT" if self.state.id_kind == "str" else "INTEGER"
        columns = "".join(
            f", {quote_name(name)} {_SQL_TYPES[kind]}" for name, kind in self.state.columns.items()
        )
        table = f"_row INTEGER PRIMARY KEY, _id {id_type}, _removed INTEGER{columns}"
        return {
            self.name: f"CREATE TABLE {self.name} ({table})",
            f"{self.name}_id": (
                f"CREATE INDEX {self.name}_id ON {self.name} (_id) WHERE _id IS NOT NULL"
            ),
        }

    def create(self) -> None:
        """Create the table, in place of one that an interrupted writer left."""
        with self.database.writing() as connection:
            connection.execute(f"DROP TABLE IF EXISTS {self.name}")
            for sql in self.definitions.values():
                connection.execute(sql)

    def insert(
        self,
        connection: sqlite3.Connection,
        first_row: int,
        ids: Sequence[Any],
        values: ColumnValues,
    ) -> int:
        """Add rows; return the sum of their checksums."""
        columns = [encode_values(values[name], kind) for name, kind in self.state.columns.items()]
        rows = list(zip(range(first_row, first_row + len(ids)), ids, *columns, strict=True))
        names = ", ".join(["_row", "_id", *map(quote_name, self.state.columns)])
        marks = ", ".join("?" * (2 + len(columns)))
        connection.executemany(f"INSERT INTO {self.name} ({names}) VALUES ({marks})", rows)
        return sum(map(_compute_checksum, rows)) & _SUM_MASK

    def remove(self, rows: Int64Array, connection: sqlite3.Connection, generation: int) -> None:
        """Mark rows as removed, as of a generation."""
        sql = f"UPDATE {self.name} SET _removed = ? WHERE _row = ?"
        connection.executemany(sql, ((generation, row) for row in rows.tolist()))

    def truncate(self) -> None:
        """Remove rows that an interrupted writer left beyond the state, and other tables."""
        with self.database.writing() as connection:
            if self.name in _list_tables(connection):
                connection.execute(f"DELETE FROM {self.name} WHERE _row >= ?", [self.state.n_rows])
            self.drop_others(connection)

    def drop_others(self, connection: sqlite3.Connection, generation: int = 0) -> None:
        """Drop the tables of other epochs."""
        for name in _list_tables(connection):
            if name not in ("state", self.name):
                connection.execute(f"DROP TABLE {quote_name(name)}")

    def find(self, where: Any) -> Int64Array:
        """Return the rows that meet a condition, ascending."""
        if not self.state.columns:
            requirement = "None, because the collection has no metadata"
            _validation.raise_invalid("where", "search", requirement, repr(where))
        condition = compile_where(where, self._compiler())
        if not self.state.n_rows:
            return np.empty(0, np.int64)
        with self.database.reading() as connection:
            limit = connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER) - 2
            if len(condition.values) > limit:
                requirement = f"conditions with at most {limit} values"
                _validation.raise_invalid("where", "search", requirement, len(condition.values))
            sql = f"SELECT _row FROM {self.name} WHERE {_VISIBLE} AND ({condition.sql})"
            found = connection.execute(f"{sql} ORDER BY _row", [*self._bounds, *condition.values])
            return np.fromiter((row for (row,) in found), np.int64)

    def find_ids(self, ids: Sequence[Any], *, new: bool = False) -> dict[Any, int]:
        """Return the rows of explicit ids that are present; ``new`` includes uncommitted rows."""
        visible = "_removed IS NULL" if new else _VISIBLE
        bounds = [] if new else self._bounds
        found: dict[Any, int] = {}
        with self.database.reading() as connection:
            for part in split(ids):
                marks = ", ".join("?" * len(part))
                sql = f"SELECT _id, _row FROM {self.name} WHERE _id IN ({marks}) AND {visible}"
                found |= dict(connection.execute(sql, [*part, *bounds]).fetchall())
        return found

    def read(self, rows: Int64Array, columns: Sequence[str]) -> ColumnValues:
        """Return the values of some rows in their order; None for rows without any."""
        unique, positions = np.unique(rows, return_inverse=True)
        found = self._select(unique, ", ".join(map(quote_name, columns)))
        nothing = (None,) * len(columns)
        listed = [found.get(row, nothing) for row in unique.tolist()]
        ordered = [listed[at] for at in positions.ravel().tolist()]
        return {
            name: self._decode((row[number] for row in ordered), self.state.columns[name])
            for number, name in enumerate(columns)
        }

    def read_ids(self, rows: Int64Array) -> list[Any]:
        """Return the explicit ids of some rows, in their order."""
        unique, positions = np.unique(rows, return_inverse=True)
        found = self._select(unique, "_id")
        ids = [found.get(row, (None,))[0] for row in unique.tolist()]
        kind = str if self.state.id_kind == "str" else int
        if not all(type(item) is kind for item in ids):
            raise FormatError(f"{self.database.path} is damaged: ids are missing.")
        return [ids[at] for at in positions.ravel().tolist()]

    def verify(self) -> int:
        """Check all rows; return their number."""
        total, count = 0, 0
        names = ", ".join(["_row", "_id", *map(quote_name, self.state.columns)])
        with self.database.reading() as connection:
            sql = f"SELECT {names} FROM {self.name} WHERE _row < ?"
            for row in connection.execute(sql, [self.state.n_rows]):
                total, count = total + _compute_checksum(row), count + 1
        if total & _SUM_MASK != self.state.items_checksum:
            raise FormatError(f"{self.database.path} is damaged: metadata do not match a checksum.")
        return count

    @property
    def _bounds(self) -> list[int]:
        return [self.state.n_rows, self.state.generation]

    def _select(self, rows: Int64Array, columns: str) -> dict[int, tuple[Any, ...]]:
        """Return some columns of rows by row; the rows are ascending."""
        if not columns:
            return {}
        found: dict[int, tuple[Any, ...]] = {}
        with self.database.reading() as connection:
            for part in _split_rows(rows):
                if part[-1] - part[0] == len(part) - 1:
                    where, values = "_row BETWEEN ? AND ?", [part[0], part[-1]]
                else:
                    where, values = f"_row IN ({', '.join('?' * len(part))})", part
                sql = f"SELECT _row, {columns} FROM {self.name} WHERE {where}"
                found |= {row: tuple(rest) for row, *rest in connection.execute(sql, values)}
        return found

    def _decode(self, values: Iterable[Any], kind: type) -> list[Any]:
        try:
            return [None if value is None else decode_value(value, kind) for value in values]
        except (TypeError, ValueError):
            raise FormatError(
                f"{self.database.path} is damaged: a value has another type than its column."
            ) from None

    def _compiler(self) -> ConditionCompiler:
        is_text = self.state.id_kind == "str"
        names = {"id": "_id" if is_text else "coalesce(_id, _row)"}
        names |= {name: quote_name(name) for name in self.state.columns}
        return ConditionCompiler({"id": str if is_text else int, **self.state.columns}, names)


_VISIBLE = "_row < ? AND (_removed IS NULL OR _removed > ?)"


def _list_tables(connection: sqlite3.Connection) -> list[str]:
    sql = "SELECT name FROM sqlite_master WHERE type = 'table'"
    return [name for (name,) in connection.execute(sql).fetchall()]


def quote_name(name: str) -> str:
    """Return a name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def encode_values(values: list[Any], kind: type) -> list[Any]:
    """Return values as SQLite stores them."""
    if kind is bool:
        return [None if value is None else int(value) for value in values]
    if kind is datetime:
        return [None if value is None else format_time(value) for value in values]
    return values


def decode_value(value: Any, kind: type) -> Any:
    """Return a stored value as an object of its column's type; raise if its type is another."""
    if type(value) is not _VALUE_TYPES[kind]:
        raise ValueError("type")
    if kind is datetime:
        return datetime.fromisoformat(str(value))
    return bool(value) if kind is bool else value


def split(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield parts that fit into one statement."""
    return (values[i : i + MAX_PARAMETERS] for i in range(0, len(values), MAX_PARAMETERS))


def _split_rows(rows: Int64Array) -> Iterator[list[int]]:
    """Yield ascending rows: all at once if they are consecutive, or in parts for one statement."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return iter([rows.tolist()])
    return (list(part) for part in split(rows.tolist()))


def _compute_checksum(row: Sequence[Any]) -> int:
    return zlib.crc32(json.dumps(row, default=repr).encode())
