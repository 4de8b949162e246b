"""Metadata from several places in one table: a collection, files, labels and texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np

from bitfold._types import Int64Array, StepCallback
from bitfold.collection.columns import ColumnValues, MetadataSource, TableSource
from bitfold.collection.database import Database
from bitfold.collection.items import ItemsTable, encode_values, quote_name
from bitfold.collection.metadata_files import FileSource, open_metadata_file
from bitfold.collection.snapshot import Snapshot
from bitfold.collection.state import CollectionState
from bitfold.errors import DataError
from bitfold.explorer.item_ids import RowIds
from bitfold.explorer.item_table import ItemTable

_ROWS_PER_BATCH = 1 << 13

ID_COLUMN = "id"
"""Column of a metadata file by which its rows are assigned to items."""


class SnapshotColumns:
    """The metadata of a collection as a source, item by item in the order of rows."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.types: Mapping[str, type] = dict(snapshot.state.columns)
        self._snapshot = snapshot
        self._start = 0

    def read(self, n_rows: int) -> ColumnValues:
        """Return the values of the next rows; fewer at the end."""
        rows = self._snapshot.live_rows[self._start : self._start + n_rows]
        self._start += n_rows
        return self._snapshot.items.read(rows, list(self.types))


class AlignedColumns(NamedTuple):
    """Columns with one value per row of a file, and the file rows of the items, ascending."""

    name: str
    source: MetadataSource
    file_rows: Int64Array

    def blocks(self, step: int) -> Iterator[ColumnValues]:
        """Yield the values of the items, ``step`` items at a time."""
        n_read = 0
        for first in range(0, len(self.file_rows), step):
            wanted = self.file_rows[first : first + step]
            stop = int(wanted[-1]) + 1
            values = self.source.read(stop - n_read)
            n_found = max(map(len, values.values()), default=0)
            if n_read + n_found < stop:
                raise DataError(
                    f"{self.name} has {n_read + n_found} rows, but the items need {stop}: row i "
                    f"belongs to id i of an index, or to item i of a collection."
                )
            at = (wanted - n_read).tolist()
            yield {name: [column[i] for i in at] for name, column in values.items()}
            n_read = stop


@dataclass
class MetadataPlan:
    """What the table of the items is made of.

    Parameters
    ----------
    ids
        Ids of the items.
    file_rows
        The row of each item in files without ids.
    snapshot
        A collection whose columns are used, too.
    """

    ids: RowIds
    file_rows: Int64Array
    snapshot: Snapshot | None = None
    aligned: list[AlignedColumns] = field(default_factory=list)
    joined: FileSource | None = None

    def add_file(self, path: Path) -> None:
        """Add the columns of a file: by its column ``id`` if it has one, otherwise by order."""
        source = open_metadata_file(path)
        if ID_COLUMN in source.types:
            self.joined = source
        else:
            self.aligned.append(AlignedColumns(str(path), source, self.file_rows))

    def add_column(self, name: str, values: list[Any], origin: str) -> None:
        """Add one column with a value per file row."""
        self.aligned.append(AlignedColumns(origin, TableSource({name: values}), self.file_rows))

    def build(self, on_step: StepCallback) -> ItemTable:
        """Return the table: that of the collection if nothing was added to it."""
        if not self.aligned and self.joined is None:
            if self.snapshot is None:
                return ItemTable(self.ids)
            has_table = bool(self.snapshot.state.columns) or self.snapshot.state.id_kind == "str"
            table = self.snapshot.items if has_table else None
            return ItemTable(self.ids, table, _live_rows(self.snapshot))
        return self._copy(on_step)

    def _copy(self, on_step: StepCallback) -> ItemTable:
        sources = list(self.aligned)
        if self.snapshot is not None and self.snapshot.state.columns:
            everything = np.arange(len(self.ids))
            kept = AlignedColumns("the collection", SnapshotColumns(self.snapshot), everything)
            sources.insert(0, kept)
        types = {name: kind for each in sources for name, kind in each.source.types.items()}
        added = {} if self.joined is None else dict(self.joined.types)
        added.pop(ID_COLUMN, None)
        folder = TemporaryFolder()
        table = _create_table(folder, {**types, **added}, len(self.ids), self._has_text_ids)
        with table.database.writing() as connection:
            self._insert(connection, table, sources, on_step)
            if self.joined is not None:
                self._update(connection, table, self.joined, added)
        return ItemTable(self.ids, table, folder=folder)

    @property
    def _has_text_ids(self) -> bool:
        return self.snapshot is not None and self.snapshot.state.id_kind == "str"

    def _stored_ids(self, rows: Int64Array) -> list[Any]:
        names = self.ids.names(rows)
        return names if self._has_text_ids else [int(name) for name in names]

    def _insert(
        self,
        connection: sqlite3.Connection,
        table: ItemsTable,
        sources: list[AlignedColumns],
        on_step: StepCallback,
    ) -> None:
        n = len(self.ids)
        blocks = [each.blocks(_ROWS_PER_BATCH) for each in sources]
        for first in range(0, n, _ROWS_PER_BATCH):
            rows = np.arange(first, min(first + _ROWS_PER_BATCH, n))
            values: ColumnValues = {}
            for each in blocks:
                values |= next(each)
            names = ", ".join(["_row", "_id", *map(quote_name, values)])
            encoded = [encode_values(values[name], table.state.columns[name]) for name in values]
            marks = ", ".join("?" * (2 + len(values)))
            connection.executemany(
                f"INSERT INTO {table.name} ({names}) VALUES ({marks})",
                zip(rows.tolist(), self._stored_ids(rows), *encoded, strict=True),
            )
            on_step(int(rows[-1]) + 1, n)

    def _update(
        self,
        connection: sqlite3.Connection,
        table: ItemsTable,
        source: FileSource,
        types: Mapping[str, type],
    ) -> None:
        """Write the columns of a file to the items with its ids; other ids are ignored."""
        settings = ", ".join(f"{quote_name(name)} = ?" for name in types)
        if not settings:
            return
        n_known = 0
        while (values := source.read(_ROWS_PER_BATCH)) and values[ID_COLUMN]:
            rows = [
                None if item is None else self.ids.find(str(item)) for item in values[ID_COLUMN]
            ]
            encoded = [encode_values(values[name], kind) for name, kind in types.items()]
            known = [each for each in zip(*encoded, rows, strict=True) if each[-1] is not None]
            n_known += len(known)
            connection.executemany(f"UPDATE {table.name} SET {settings} WHERE _row = ?", known)
        if not n_known:
            raise DataError("No id in the metadata file is the id of an item.")


class TemporaryFolder:
    """A folder with a database, removed with this object or at the end of the process."""

    def __init__(self) -> None:
        path = Path(mkdtemp(prefix="bitfold-explorer-"))
        self.database = Database(path)
        finalize(self, _remove, self.database, path)


def _remove(database: Database, path: Path) -> None:
    database.close()
    rmtree(path, ignore_errors=True)


def _create_table(
    folder: TemporaryFolder, columns: dict[str, type], n_rows: int, has_text_ids: bool
) -> ItemsTable:
    """Create an empty table."""
    state = CollectionState(
        metric="euclidean",
        keep_vectors=False,
        columns=columns,
        n_features=1,
        generation=1,
        n_rows=n_rows,
        n_items=n_rows,
        id_kind="str" if has_text_ids else "int",
    )
    folder.database.create()
    table = ItemsTable(folder.database, state)
    table.create()
    return table


def _live_rows(snapshot: Snapshot) -> Int64Array | None:
    """Return the rows of the items in the table; None if none was removed."""
    is_complete = snapshot.state.n_items == snapshot.state.n_rows
    return None if is_complete else snapshot.live_rows
