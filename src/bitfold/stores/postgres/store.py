"""The store in a Postgres table with the extension pgvector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import Float32Array, Ids
from bitfold.codes import Codes, count_bytes
from bitfold.errors import StoreError
from bitfold.search import Batch, Hits, RadiusHits, check_ids
from bitfold.stores.conditions import Condition
from bitfold.stores.loading import BatchLoader
from bitfold.stores.locking import synchronized, synchronized_read
from bitfold.stores.postgres import copy_format, search
from bitfold.stores.postgres.connection import PostgresDatabase, connect, translate_errors
from bitfold.stores.postgres.schema import check_table_name, create_table, read_schema
from bitfold.stores.postgres.table import PostgresTable, translate_duplicates
from bitfold.stores.schema import ColumnNames
from bitfold.stores.table_store import TableStore

_OWNER = "PgvectorStore"

_BATCH_ROWS = 1 << 16
_CHUNK_BYTES = 1 << 20
_MAX_SPOOLED_BYTES = 64 << 20
"""A larger table is copied to a temporary file while it is read."""

_MAX_EF_SEARCH = 1000
"""Limit of pgvector's setting ``hnsw.ef_search``."""


class PgvectorStore(TableStore):
    """A table in Postgres with the extension pgvector.

    The database is a URL such as ``postgresql://user@host/database``, or a psycopg connection. With
    a connection, calls are part of its open transaction, if there is one. The table name may be
    ``schema.name``.

    Codes are a column ``bit(n)``, vectors a column ``vector(n)``, and search is SQL: exact by a
    scan, or with ``exact=False`` by the HNSW index that :meth:`build_index` makes. A load is one
    COPY in one transaction; :meth:`transaction` combines several calls. Names and values are always
    quoted. A connection serves one store at a time. Threads that share a store take turns; with
    one connection per thread they do not wait for each other.

    Attributes
    ----------
    n_bits
        Length of the codes.
    n_features
        Width of the vectors; None if the table has no vectors.
    ef_search
        Number of codes that ``exact=False`` keeps as candidates, 1 to 1000: more candidates find
        more neighbors and take longer. None is 2 k, at least 40.

    Examples
    --------
    >>> url = "postgresql://localhost/shop"
    >>> store = PgvectorStore.create(url, "items", n_bits=3)  # doctest: +SKIP
    >>> store.add(Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 0]]))  # doctest: +SKIP
    >>> store.search(Codes.from_bits([[0, 0, 1]]), k=2).ids.tolist()  # doctest: +SKIP
    [[0, 2]]
    """

    ef_search: int | None = None
    _MAX_FEATURES = 16_000

    def __init__(self, database: PostgresDatabase, table: str, names: ColumnNames) -> None:
        self._table = PostgresTable(database, table, names)
        try:
            super().__init__(read_schema(self._table.read_catalog(), names))
            with self._table.cursor() as cursor:
                self._model_digest = self._table.model_digest(cursor)
        except BaseException:
            database.close()
            raise

    @classmethod
    def _create(
        cls, database: Any, options: dict[str, Any], table: str, loader: BatchLoader, replace: bool
    ) -> Self:
        check_table_name(table)
        base = connect(database, options)
        try:
            with translate_errors(base.describe(table)), base.connection.transaction():
                create_table(base, table, loader.schema, replace)
                store = cls(base, table, loader.schema.names)
                store._load(loader)
        except BaseException:
            base.close()
            raise
        return store

    @classmethod
    def _open(cls, database: Any, options: dict[str, Any], table: str, names: ColumnNames) -> Self:
        check_table_name(table)
        return cls(connect(database, options), table, names)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Combine all calls in a ``with`` block to one change; an error undoes them.

        Calls of other threads wait until the block ends.

        Yields
        ------
        Any
            The transaction of psycopg.
        """
        with self._lock, self._table.database.connection.transaction() as transaction:
            yield transaction

    def _load(self, loader: BatchLoader) -> None:
        table, types, names = self._table, self._schema.writable_types, self._schema.names
        vector = [] if self.n_features is None else [names.vector]
        copy_statement = table.sql(
            "COPY {table} ({columns}) FROM STDIN (FORMAT binary)",
            columns=[names.id, names.code, *vector, *types],
        )
        with table.cursor() as cursor:
            # Block other writers so that ids stay consecutive; readers are unaffected.
            cursor.execute(table.sql("LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE"))
            batches = loader.read(table.next_id(cursor), table.model_digest(cursor))
            with translate_duplicates(), cursor.copy(copy_statement) as copy:
                copy.write(copy_format.HEADER)
                for batch in batches:
                    copy.write(copy_format.encode_batch(batch, types))
                copy.write(copy_format.TRAILER)
            table.store_next_id(cursor, loader.next_id)
            table.store_model_digest(cursor, loader.model_digest)
        self._model_digest = loader.model_digest

    @synchronized
    def remove(self, ids: ArrayLike) -> None:
        unique = np.unique(check_ids(ids, _OWNER))
        statement = self._table.sql(
            "DELETE FROM {table} WHERE {id} = ANY(%s) AND {code} IS NOT NULL RETURNING {id}"
        )
        with self._table.cursor() as cursor:
            cursor.execute(statement, [unique.tolist()])
            removed = np.array(cursor.fetchall(), np.int64).reshape(-1)
            self._check_present(unique, np.isin(unique, removed))

    @synchronized_read
    def codes(self, ids: ArrayLike) -> Codes:
        fields = self._fetch(ids, [self._schema.names.code])
        # The binary form of bit(n) starts with n as int32.
        packed = np.frombuffer(b"".join(field[4:] for (field,) in fields), np.uint8)
        return Codes(packed.reshape(-1, count_bytes(self.n_bits)), self.n_bits, self._model_digest)

    @synchronized_read
    def vectors(self, ids: ArrayLike) -> Float32Array:
        n_features = self._check_has_vectors()
        fields = [field for (field,) in self._fetch(ids, [self._schema.names.vector])]
        if None in fields:
            raise StoreError(f"{self._table.describe()} has rows without a vector among these ids.")
        return copy_format.decode_vectors(fields, n_features)

    @synchronized_read
    def columns(self, ids: ArrayLike) -> dict[str, list[Any]]:
        names = list(self._schema.column_types)
        rows = self._fetch(ids, names)
        return {name: [row[i] for row in rows] for i, name in enumerate(names)}

    def batches(self) -> Iterator[Batch]:
        statement = self._table.sql(
            "COPY (SELECT {id}, {code} FROM {table} WHERE {code} IS NOT NULL) "
            "TO STDOUT (FORMAT binary)"
        )
        with SpooledTemporaryFile(_MAX_SPOOLED_BYTES) as spool:
            with self._lock, self._table.cursor() as cursor, cursor.copy(statement) as copy:
                digest = self._model_digest
                for data in copy:
                    spool.write(data)
            spool.seek(0)
            chunks = iter(partial(spool.read, _CHUNK_BYTES), b"")
            for ids, packed in copy_format.decode_codes(chunks, self.n_bits, _BATCH_ROWS):
                yield Batch(ids, Codes(packed, self.n_bits, digest))

    @synchronized
    def build_index(self, m: int = 16, ef_construction: int = 64) -> None:
        """Build an HNSW index on the codes, for ``exact=False``; it includes codes added later.

        Parameters
        ----------
        m
            Number of links per code and layer, 2 to 100.
        ef_construction
            Number of candidates when a code is linked, at least 2 m and at most 1000.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        StoreError
            If Postgres rejects the request.
        """
        owner = "build_index"
        _validation.check_integer(m, "m", owner, low=2, high=100)
        _validation.check_integer(ef_construction, "ef_construction", owner, low=2 * m, high=1000)
        statement = self._table.sql(
            "CREATE INDEX ON {table} USING hnsw ({code} bit_hamming_ops) "
            "WITH (m = {m}, ef_construction = {ef})",
            m=m,
            ef=ef_construction,
        )
        with self._table.cursor() as cursor:
            cursor.execute(statement)

    @synchronized
    def close(self) -> None:
        """Close the connection, unless it was passed by the user."""
        self._table.database.close()

    @synchronized_read
    def __len__(self) -> int:
        statement = self._table.sql("SELECT count({code}) FROM {table}")
        with self._table.cursor() as cursor:
            return int(cursor.execute(statement).fetchone()[0])

    def __repr__(self) -> str:
        return f"PgvectorStore({len(self)} x {self.n_bits} bits, {self._table.name!r})"

    def _search_exact(self, codes: Codes, k: int, conditions: Any) -> Hits:
        if not len(codes):
            shape = 0, min(k, len(self))
            return Hits(np.empty(shape, np.int64), np.empty(shape, np.int32))
        return search.find_nearest(self._table, codes, k, conditions)

    def _search_within(self, codes: Codes, radius: int, conditions: Any) -> RadiusHits:
        return search.find_within(self._table, codes, radius, conditions)

    def _probe_index(self, codes: Codes, k: int, conditions: Any) -> RadiusHits:
        ef = min(max(2 * k, 40), _MAX_EF_SEARCH) if self.ef_search is None else self.ef_search
        _validation.check_integer(ef, "ef_search", _OWNER, low=1, high=_MAX_EF_SEARCH)
        return search.probe_index(self._table, codes, k, conditions, ef)

    def _compile_conditions(self, groups: list[list[Condition]]) -> Any:
        return search.compile_conditions(groups)

    def _find_meeting(self, ids: Ids, conditions: Any) -> Ids:
        return search.find_meeting(self._table, ids, conditions)

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        from psycopg.pq import TransactionStatus

        status = self._table.database.connection.info.transaction_status
        with self._table.cursor() as cursor:
            # In a transaction of the user, the isolation level is the user's choice.
            if status == TransactionStatus.IDLE:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield

    def _fetch(self, ids: ArrayLike, columns: list[str]) -> list[tuple[Any, ...]]:
        """Return columns of some ids, in the order of the ids; bits and vectors as bytes."""
        checked = check_ids(ids, _OWNER)
        statement = self._table.sql(
            "SELECT {columns} FROM {table} WHERE {id} = ANY(%s) AND {code} IS NOT NULL",
            columns=[self._schema.names.id, *columns],
        )
        with self._table.cursor(binary=True) as cursor:
            cursor.execute(statement, [np.unique(checked).tolist()])
            rows = {row[0]: row[1:] for row in cursor.fetchall()}
        self._check_present(checked, np.array([i in rows for i in checked.tolist()], bool))
        return [rows[i] for i in checked.tolist()]
