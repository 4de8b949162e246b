"""Rows that are being added: to the files of vectors and ids and to the table, but not yet valid.

Nothing here changes what readers see. A commit of the state that :meth:`RowsAppender.finish`
returns makes the rows valid; without it, the next writer overwrites them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from bitfold._types import AnyArray, Int64Array
from bitfold.collection.columns import ColumnValues
from bitfold.collection.database import Database
from bitfold.collection.folder import name_file
from bitfold.collection.id_map import IdMap, ItemIds
from bitfold.collection.items import ItemsTable
from bitfold.collection.kept_vectors import EncodedRows
from bitfold.collection.row_file import RowAppender
from bitfold.collection.state import CollectionState
from bitfold.io import file_system
from bitfold.search import raise_duplicate_ids

_SUM_MASK = (1 << 64) - 1


class RowsAppender:
    """Adds rows after those of a state.

    Parameters
    ----------
    path
        The folder.
    database
        The database in it.
    state
        The state before; a first row needs a new epoch, whose table is created here.
    known
        The ids of the state, which new ones must differ from; None if there are none.
    """

    def __init__(
        self, path: Path, database: Database, state: CollectionState, known: IdMap | None = None
    ) -> None:
        self.state = state
        self._path = path
        self._database = database
        self._known = known
        self._first_row = state.n_rows
        self._files: dict[str, RowAppender] = {}
        if not state.n_rows:
            ItemsTable(database, state).create()

    def append(self, encoded: EncodedRows | None, ids: ItemIds, values: ColumnValues) -> None:
        """Write a batch of rows."""
        n_rows, state = len(ids), self.state
        self._check_new(ids)
        is_implicit = self._continues_implicit(ids)
        checksum = state.items_checksum
        if state.columns or not is_implicit:
            explicit = [None] * n_rows if is_implicit else list(_to_list(ids))
            with self._database.writing() as connection:
                table = ItemsTable(self._database, state)
                checksum += table.insert(connection, state.n_rows, explicit, values)
        if encoded is not None:
            self._write("vectors", encoded.values)
            if len(encoded.scales):
                self._write("scales", encoded.scales)
        if not is_implicit and not isinstance(ids, list):
            self._write("ids", ids)
        self.state = replace(
            state,
            n_rows=state.n_rows + n_rows,
            n_items=state.n_items + n_rows,
            n_implicit=state.n_implicit + (n_rows if is_implicit else 0),
            items_checksum=checksum & _SUM_MASK,
        )

    def finish(self) -> CollectionState:
        """Return the state with all rows, which are on the disk then."""
        for file in self._files.values():
            file.sync()
        if self._files:
            file_system.sync_directory(self._path)
        checksums = {kind: file.checksum for kind, file in self._files.items()}
        self.state = replace(self.state, checksums={**self.state.checksums, **checksums})
        return self.state

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        for file in self._files.values():
            file.close()

    def _continues_implicit(self, ids: ItemIds) -> bool:
        """Return whether the ids are the row numbers, as all earlier ids are."""
        start, state = self.state.n_rows, self.state
        if isinstance(ids, list) or state.n_implicit != start:
            return False
        return bool(np.array_equal(ids, np.arange(start, start + len(ids))))

    def _check_new(self, ids: ItemIds) -> None:
        """Raise if an id is already there, also in an earlier batch of the same change."""
        duplicates: list[Any] = []
        if not isinstance(ids, list):
            # The first rows of this change may be implicit too.
            start, stop = self._first_row, self.state.n_implicit
            duplicates += ids[(ids >= start) & (ids < stop)].tolist()
        if self._known is not None:
            listed = _to_list(ids)
            rows = self._known.find(ids)
            duplicates += [listed[at] for at in np.flatnonzero(rows >= 0)]
        if self._first_row < self.state.n_rows and self.state.n_implicit < self.state.n_rows:
            table = ItemsTable(self._database, self.state)
            duplicates += list(table.find_ids(_to_list(ids), new=True))
        if duplicates:
            raise_duplicate_ids(sorted(set(duplicates)), "Collection")

    def _write(self, kind: str, rows: AnyArray | Int64Array) -> None:
        if kind not in self._files:
            offset = self._first_row
            if kind == "ids":
                offset = max(0, self._first_row - self.state.n_implicit)
            n_bytes = offset * rows.itemsize * (rows.shape[1] if rows.ndim == 2 else 1)
            checksum = self.state.checksums.get(kind, 0)
            path = self._path / name_file(kind, self.state)
            self._files[kind] = RowAppender(path, n_bytes, checksum)
        self._files[kind].append(rows)


def _to_list(ids: ItemIds) -> list[Any]:
    return ids if isinstance(ids, list) else ids.tolist()
