"""Postgres with pgvector: codes as ``bit(n)``, ranked by ``<~>``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import Float32Array, ProgressCallback
from bitfold.codes import Codes, count_bytes
from bitfold.search import Hits, RadiusHits
from bitfold.search import ids as numbers
from bitfold.stores import columns as names
from bitfold.stores.columns import CODE, ID, VECTOR
from bitfold.stores.contract import (
    Batch,
    Store,
    check_bits,
    check_codes,
    check_vectors,
    flat,
    raise_invalid,
)
from bitfold.stores.filters import Condition
from bitfold.stores.postgres import copy
from bitfold.stores.postgres.connect import Place, clear, connect
from bitfold.stores.postgres.statements import Table, condition, distinct_ids, texts
from bitfold.stores.postgres.table import Layout, check_table, definitions, make

_BATCH_ROWS = 1 << 16
_QUERIES_AT_ONCE = 256
_MOST_EF = 1000
"""What pgvector allows as ``hnsw.ef_search``."""

_MOST_FEATURES = 16_000
"""What pgvector allows as the width of a vector."""


class PgvectorStore(Store):
    """A table in Postgres with the extension pgvector.

    Codes are a column ``bit(n)``, and search is SQL: exact by a scan, ties by id, or with
    ``exact=False`` by the HNSW index that :meth:`build_index` makes. A load is one COPY in one
    transaction; :meth:`transaction` makes one of several calls. Names and values never become
    text of a statement by themselves. One store at a time uses a connection; threads have one
    each.

    Attributes
    ----------
    ef_search
        Codes that ``exact=False`` keeps in view in the index, 1 to 1000: more find more and take
        longer. None is twice as many as asked for, at least 40.
    """

    ef_search: int | None = None

    def __init__(self, place: Place, table: str, own: tuple[str, str, str]) -> None:
        self._id, self._code, self._vector = own
        self._table = Table(place, table, self._id, self._code)
        try:
            self._layout = Layout.of(self._table.catalog(), *own)
        except BaseException:
            self.close()
            raise
        self.n_bits, self.n_features = self._layout.n_bits, self._layout.n_features

    @classmethod
    def create(
        cls,
        url: Any,
        table: str,
        n_bits: int,
        *,
        n_features: int | None = None,
        columns: Mapping[str, type] | None = None,
        batches: Iterable[Batch] = (),
        replace: bool = False,
        progress: ProgressCallback | None = None,
    ) -> Self:
        """Make a table, empty or filled, in one transaction; and the extension if it is missing.

        Parameters
        ----------
        url
            Such as ``postgresql://user@host/database``, or a connection of psycopg: calls are
            then part of its transaction, if one is open, and otherwise one each.
        table
            Its name, or ``schema.name``.
        n_bits
            Length of the codes.
        n_features
            Width of the originals, to keep them for re-ranking.
        columns
            The user's columns and their types: bool, int, float, str or datetime.
        batches
            What to fill it with.
        replace
            Whether a table of that name may be replaced.
        progress
            Called with (stage, done, total) after each batch.
        """
        check_bits(n_bits, "PgvectorStore")
        if n_features is not None:
            _validation.check_integer(
                n_features, "n_features", cls.__name__, low=1, high=_MOST_FEATURES
            )
        types = names.check_types(columns, "PgvectorStore")
        check_table(table)
        place = connect(url)
        try:
            with clear(f"table {table!r} in {place.name}"), place.connection.transaction():
                make(place, table, definitions(n_bits, n_features, types), replace)
                store = cls(place, table, (ID, CODE, VECTOR))
                store.load(batches, progress)
        except BaseException:
            place.leave()
            raise
        return store

    @classmethod
    def open(
        cls,
        url: Any,
        table: str,
        *,
        id_column: str = ID,
        code_column: str = CODE,
        vector_column: str = VECTOR,
    ) -> Self:
        """Open a table: one made by :meth:`create`, or any that has ids and codes.

        Parameters
        ----------
        url
            Such as ``postgresql://user@host/database``, or a connection of psycopg.
        table
            Its name, or ``schema.name``.
        id_column
            The column of type bigint that tells rows apart.
        code_column
            The column of codes, of type bit(n).
        vector_column
            The column of originals, of pgvector's type vector(n), if there is one.
        """
        check_table(table)
        return cls(connect(url), table, (id_column, code_column, vector_column))

    def transaction(self) -> AbstractContextManager[Any]:
        """Make one change of all calls in a ``with`` block; an error in it undoes them."""
        transaction: AbstractContextManager[Any] = self._table.place.connection.transaction()
        return transaction

    def load(self, batches: Iterable[Batch], progress: ProgressCallback | None = None) -> None:
        """Add batch after batch by one COPY in one transaction.

        Parameters
        ----------
        batches
            Read once, one in memory at a time.
        progress
            Called with (stage, done, total) after each.
        """
        statement = self._table.sql(
            "COPY {table} ({columns}) FROM STDIN (FORMAT binary)", columns=self._layout.loaded
        )
        with self._table.working() as cursor:
            # Others may read meanwhile; who would add waits, so that ids follow each other.
            cursor.execute(self._table.sql("LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE"))
            numbering = numbers.Numbering("PgvectorStore", self._table.next_id(cursor))
            with distinct_ids(), cursor.copy(statement) as copy:
                copy.write(copy.HEADER)
                done = 0
                for batch in batches:
                    copy.write(self._encode(batch, numbering))
                    done += len(batch.codes)
                    if progress:
                        progress("loading", done, 0)
                copy.write(copy.TRAILER)
            self._table.keep(cursor, numbering.next_id)

    def delete(self, ids: ArrayLike) -> None:
        """Delete codes by id, in one transaction.

        Parameters
        ----------
        ids
            Ids of codes in the store; an unknown one is an error, and nothing is deleted.
        """
        gone = np.unique(numbers.integers(ids, "PgvectorStore"))
        statement = self._table.sql(
            "DELETE FROM {table} WHERE {id} = ANY(%s) AND {code} IS NOT NULL RETURNING {id}"
        )
        with self._table.working() as cursor:
            cursor.execute(statement, [gone.tolist()])
            found = np.array(cursor.fetchall(), np.int64).reshape(-1)
            self._known(gone, np.isin(gone, found))

    def count(self) -> int:
        """How many codes there are."""
        with self._table.working() as cursor:
            return int(
                cursor.execute(self._table.sql("SELECT count({code}) FROM {table}")).fetchone()[0]
            )

    def codes(self, ids: ArrayLike) -> Codes:
        """Return the codes of some ids, in their order.

        Parameters
        ----------
        ids
            Ids of codes in the store.
        """
        fields = self._fetch(ids, [self._code])
        # In binary a bit(n) begins with n as int32.
        packed = np.frombuffer(b"".join(field[4:] for (field,) in fields), np.uint8)
        return Codes(packed.reshape(-1, count_bytes(self.n_bits)), self.n_bits)

    def vectors(self, ids: ArrayLike) -> Float32Array:
        """Return the originals of some ids, in their order.

        Parameters
        ----------
        ids
            Ids of codes in the store.
        """
        width = self._check_originals(self.n_features)
        fields = [field for (field,) in self._fetch(ids, [self._vector])]
        if None in fields:
            raise_invalid(self, "vectors", "there for every id asked for", "NULL")
        return copy.decode_vectors(fields, width)

    def columns(self, ids: ArrayLike) -> dict[str, list[Any]]:
        """Return the user's columns of some ids, in their order.

        Parameters
        ----------
        ids
            Ids of codes in the store.
        """
        rows = self._fetch(ids, list(self._layout.types))
        return {name: [row[i] for row in rows] for i, name in enumerate(self._layout.types)}

    def batches(self) -> Iterator[Batch]:
        """Read all codes with their ids, a batch at a time, by one COPY."""
        statement = self._table.sql(
            "COPY (SELECT {id}, {code} FROM {table} WHERE {code} IS NOT NULL) "
            "TO STDOUT (FORMAT binary)"
        )
        with self._table.working() as cursor, cursor.copy(statement) as copy:
            for ids, packed in copy.decode(copy, self.n_bits, _BATCH_ROWS):
                yield Batch(Codes(packed, self.n_bits), ids)

    def build_index(self, m: int = 16, ef_construction: int = 64) -> None:
        """Index the codes by HNSW, for ``exact=False``; later codes enter it as they come.

        Parameters
        ----------
        m
            Links of a code in each layer, 2 to 100.
        ef_construction
            Codes looked at when one is linked, at least 2 m and at most 1000.
        """
        _validation.check_integer(m, "m", "build_index", low=2, high=100)
        _validation.check_integer(
            ef_construction, "ef_construction", "build_index", low=2 * m, high=1000
        )
        statement = self._table.sql(
            "CREATE INDEX ON {table} USING hnsw ({code} bit_hamming_ops) "
            "WITH (m = {m}, ef_construction = {ef})",
            m=m,
            ef=ef_construction,
        )
        with self._table.working() as cursor:
            cursor.execute(statement)

    def close(self) -> None:
        """Close the connection, if the store made it."""
        self._table.place.leave()

    def __repr__(self) -> str:
        return f"PgvectorStore({self.count()} x {self.n_bits} bits, {self._table.name!r})"

    def _exact(self, codes: Codes, k: int, where: Any) -> Hits:
        # As an integer the distance is an expression that no index knows: all rows are looked at.
        nearest = (
            "SELECT {id}, ({code} <~> q.code)::int AS distance FROM {table} WHERE {where} "
            "ORDER BY ({code} <~> q.code)::int, {id} LIMIT {k}"
        )
        near = self._ask(nearest, codes, where, k=k)
        width = len(near.ids) // max(len(codes), 1)
        return Hits(near.ids.reshape(len(codes), width), near.distances.reshape(len(codes), width))

    def _probe(self, codes: Codes, k: int, where: Any) -> RadiusHits:
        nearest = (
            "SELECT {id}, ({code} <~> q.code)::int AS distance FROM {table} WHERE {where} "
            "ORDER BY {code} <~> q.code LIMIT {k}"
        )
        with self._table.working() as cursor:
            set_local = "SELECT set_config(%s, %s, true)"
            ef = min(max(2 * k, 40), _MOST_EF) if self.ef_search is None else self.ef_search
            _validation.check_integer(ef, "ef_search", "PgvectorStore", low=1, high=_MOST_EF)
            cursor.execute(set_local, ["hnsw.ef_search", str(ef)])
            # Goes on until there are k, also where k is more or conditions leave out many.
            cursor.execute(set_local, ["hnsw.iterative_scan", "strict_order"])
            return self._ask(nearest, codes, where, k=k)

    def _within(self, codes: Codes, radius: int, where: Any) -> RadiusHits:
        inside = (
            "SELECT {id}, ({code} <~> q.code)::int AS distance FROM {table} WHERE {where} "
            "AND ({code} <~> q.code)::int <= {radius}"
        )
        return self._ask(inside, codes, where, radius=radius)

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        from psycopg.pq import TransactionStatus

        outermost = self._table.place.connection.info.transaction_status == TransactionStatus.IDLE
        with self._table.working() as cursor:
            # Within a transaction of the user's, its isolation is the user's choice.
            if outermost:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield

    def _ask(self, inner: str, codes: Codes, where: Any, **numbers_in: int) -> RadiusHits:
        """Run a statement for each query code, many in one trip, and lay the answers out."""
        from psycopg import sql

        # In a table of the user's own a code may be missing: such rows do not count.
        conditions, values = where or (sql.SQL("true"), [])
        kept = sql.SQL("{} IS NOT NULL AND {}").format(sql.Identifier(self._code), conditions)
        statement = self._table.sql(
            "SELECT q.number - 1, t.* FROM unnest(%s::text[]::bit({n_bits})[]) "
            f"WITH ORDINALITY AS q (code, number) CROSS JOIN LATERAL ({inner}) AS t",
            where=kept,
            n_bits=self.n_bits,
            **numbers_in,
        )
        found = []
        with self._table.working() as cursor:
            for start in range(0, len(codes), _QUERIES_AT_ONCE):
                bits = texts(codes[start : start + _QUERIES_AT_ONCE])
                cursor.execute(statement, [bits, *values])
                while rows := cursor.fetchmany(_BATCH_ROWS):
                    found.append(np.array(rows, np.int64) + np.array([start, 0, 0]))
        answers = np.concatenate([np.empty((0, 3), np.int64), *found])
        return flat(answers[:, 0], answers[:, 1], answers[:, 2], len(codes))

    def _filter(self, groups: list[list[Condition]]) -> Any:
        from psycopg import sql

        values: list[Any] = []
        alternatives = []
        for group in groups:
            for column, *_ in group:
                self._check_column(column, [self._id, *self._layout.types])
            parts = [condition(*each) for each in group]
            alternatives.append(sql.SQL(" AND ").join(part for part, _ in parts))
            values += [value for _, value in parts]
        either = sql.SQL(" OR ").join(sql.SQL("({})").format(one) for one in alternatives)
        return sql.SQL("({})").format(either), values

    def _fetch(self, ids: ArrayLike, wanted: list[str]) -> list[tuple[Any, ...]]:
        """The values of some columns of some ids, in their order; bits and vectors as bytes."""
        asked = numbers.integers(ids, "PgvectorStore")
        statement = self._table.sql(
            "SELECT {columns} FROM {table} WHERE {id} = ANY(%s) AND {code} IS NOT NULL",
            columns=[self._id, *wanted],
        )
        with self._table.working(binary=True) as cursor:
            cursor.execute(statement, [np.unique(asked).tolist()])
            rows = {row[0]: row[1:] for row in cursor.fetchall()}
        self._known(asked, np.array([number in rows for number in asked.tolist()], bool))
        return [rows[number] for number in asked.tolist()]

    def _encode(self, batch: Batch, numbering: numbers.Numbering) -> bytes:
        """Return a batch as COPY takes it, checked and numbered."""
        check_codes(batch.codes, self.n_bits, "PgvectorStore")
        ids = numbering.assign(batch.ids, len(batch.codes))
        vectors = check_vectors(batch.vectors, len(ids), self.n_features, "PgvectorStore")
        types = self._layout.fillable
        values = names.values(batch.columns, types, len(ids), "PgvectorStore")
        return copy.encode(ids, batch.codes.packed, self.n_bits, vectors, values, types)
