"""A LanceDB table: reads in batches, snapshots, and metadata about ids and model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from bitfold._types import Ids
from bitfold.stores.lance.connection import translate_errors

_NEXT_ID, _VERSION, _DIGEST = b"bitfold.next_id", b"bitfold.next_id_at", b"bitfold.model_digest"
"""Metadata of the id column: the next id, the table version it is valid for, and the model."""

_BATCH_ROWS = 1 << 18
_MAX_IDS_PER_FILTER = 1 << 14


class LanceTable:
    """A table whose rows have ids.

    Parameters
    ----------
    open_engine
        Opens the table of LanceDB.
    id_column
        The column of the ids.
    """

    def __init__(self, open_engine: Callable[[], Any], id_column: str) -> None:
        self._open = open_engine
        self._engine = open_engine()
        self._snapshots = threading.local()
        self._id = id_column

    @property
    def engine(self) -> Any:
        """The table of LanceDB, of one version while this thread is in a snapshot."""
        snapshot = getattr(self._snapshots, "engine", None)
        return self._engine if snapshot is None else snapshot

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read one version in this thread, even if others write a new one."""
        # A table of its own, because all threads share the version of the other.
        with self.translate_errors():
            engine = self._open()
            engine.checkout(engine.version)
        self._snapshots.engine = engine
        try:
            yield
        finally:
            self._snapshots.engine = None

    def read(self, columns: list[str], condition: Any = None) -> Iterator[Any]:
        """Return the rows that meet a condition, in tables of bounded size.

        The rows are those of the current version, whatever is written before they are read.
        """
        query = self.engine.search().select(columns)
        if condition is not None:
            query = query.where(condition)
        with self.translate_errors():
            return self._join_batches(query.to_batches(_BATCH_ROWS))

    def _join_batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        with self.translate_errors():
            # LanceDB returns smaller batches than requested.
            pending: list[Any] = []
            for batch in batches:
                pending.append(batch)
                if sum(map(len, pending)) >= _BATCH_ROWS:
                    yield pa.Table.from_batches(pending)
                    pending = []
            if pending:
                yield pa.Table.from_batches(pending)

    def fetch(self, ids: Ids, columns: list[str], condition: Any = None) -> Any:
        """Return the rows of those ids that are present and meet a condition, in any order."""
        import pyarrow as pa

        step = _MAX_IDS_PER_FILTER
        has_ids = [self.has_id(ids[start : start + step]) for start in range(0, len(ids), step)]
        filters = has_ids if condition is None else [has_id & condition for has_id in has_ids]
        tables = [table for each in filters for table in self.read(columns, each)]
        if tables:
            return pa.concat_tables(tables)
        with self.translate_errors():
            return pa.schema([self.engine.schema.field(name) for name in columns]).empty_table()

    def has_id(self, ids: Ids) -> Any:
        """Return the condition that a row has one of some ids."""
        from lancedb.expr import col

        return col(self._id).isin(ids.tolist())

    def find_ids(self, ids: Ids, condition: Any = None) -> Ids:
        """Return those of some ids that are present and meet a condition."""
        return np.asarray(self.fetch(ids, [self._id], condition)[self._id].to_numpy(), np.int64)

    def next_id(self) -> int:
        """Return the id after the largest that was ever used.

        It is stored with the id column. If the table was changed since, by another program or by
        a load that was killed before it could store the id, all ids are read.
        """
        metadata = self._metadata()
        stored = metadata.get(_NEXT_ID, b"0")
        next_id = int(stored) if stored.isdigit() else 0
        with self.translate_errors():
            if metadata.get(_VERSION) == b"%d" % self.engine.version:
                return next_id
        tables = filter(len, self.read([self._id]))
        return max([next_id, *(int(table[self._id].to_numpy().max()) + 1 for table in tables)])

    def model_digest(self) -> str | None:
        """Return the digest of the model whose codes are in the table, if it is known."""
        return self._metadata().get(_DIGEST, b"").decode(errors="replace") or None

    def store_metadata(self, next_id: int, model_digest: str | None) -> None:
        """Store the next id for the version that this creates, and the digest of the model."""
        with self.translate_errors():
            version = self.engine.version + 1
            metadata = {_NEXT_ID.decode(): str(next_id), _VERSION.decode(): str(version)}
            if model_digest is not None:
                metadata[_DIGEST.decode()] = model_digest
            self.engine.update_field_metadata({"path": self._id, "metadata": metadata})

    @contextmanager
    def keep_next_id(self) -> Iterator[None]:
        """Change the table without adding rows: the stored next id stays valid."""
        next_id, digest = self.next_id(), self.model_digest()
        with self.translate_errors():
            yield
        self.store_metadata(next_id, digest)

    def _metadata(self) -> dict[bytes, bytes]:
        with self.translate_errors():
            return self.engine.schema.field(self._id).metadata or {}

    def translate_errors(self) -> AbstractContextManager[None]:
        """Raise the errors of LanceDB as errors about this table."""
        return translate_errors(f"Table {self.engine.name!r}")
