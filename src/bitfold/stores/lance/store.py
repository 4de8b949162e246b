"""The store in a LanceDB table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import Float32Array, Ids, UInt8Array
from bitfold.codes import Codes
from bitfold.errors import StoreError
from bitfold.search import Batch, Hits, RadiusHits, check_ids, group_radius_hits
from bitfold.stores.conditions import Condition
from bitfold.stores.lance.conditions import to_expression
from bitfold.stores.lance.connection import LanceDatabase, connect, translate_errors
from bitfold.stores.lance.record_batches import check_new_ids, open_reader
from bitfold.stores.lance.schema import read_schema, to_arrow_schema, to_matrix
from bitfold.stores.lance.table import LanceTable
from bitfold.stores.loading import BatchLoader
from bitfold.stores.locking import synchronized
from bitfold.stores.schema import ColumnNames
from bitfold.stores.streamed_search import search_batches, search_batches_within
from bitfold.stores.table_store import TableStore

_OWNER = "LanceStore"


class LanceStore(TableStore):
    """A LanceDB table, in a folder or an object store.

    The database is a path, or an address such as ``s3://bucket/path`` with ``storage_options`` in
    ``connect_options``. Codes are fixed-size lists of uint8, vectors fixed-size lists of float32.

    Exact search streams the codes through bitfold's own kernels, all queries at once, in bounded
    memory; ``exact=False`` uses the index that :meth:`build_index` makes. Every change is one
    version of the table, so that readers see all of it or nothing. One process at a time may write.
    LanceDB stores no checksums: damage on the disk may go unnoticed.

    Attributes
    ----------
    n_bits
        Length of the codes.
    n_features
        Width of the vectors; None if the table has no vectors.
    n_probes
        Number of lists of the index that ``exact=False`` searches: more lists find more neighbors
        and take longer. None leaves the choice to LanceDB.

    Examples
    --------
    >>> store = LanceStore.create("lancedb", "digits", n_bits=3, columns={"label": int})
    >>> codes = Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> store.add(codes, columns={"label": [1, 7, 1]})
    >>> store.search(codes[1:2], k=2, where=[("label", "=", 1)]).ids.tolist()
    [[0, 2]]
    """

    n_probes: int | None = None

    def __init__(self, base: LanceDatabase, table: str, names: ColumnNames) -> None:
        self._table = LanceTable(partial(base.open_table, table), names.id)
        super().__init__(read_schema(self._table.engine.schema, names))
        # LanceDB lets readers and a writer work at the same time, on different versions. It even
        # reads the batches of a load in a thread of its own.
        self._read_lock = nullcontext()
        self._model_digest = self._table.model_digest()

    @classmethod
    def _create(
        cls, database: Any, options: dict[str, Any], table: str, loader: BatchLoader, replace: bool
    ) -> Self:
        base = connect(database, options)
        exists, subject = base.find_table(table) is not None, base.describe(table)
        if exists and not replace:
            raise FileExistsError(f"{subject} already exists; open it, or pass replace=True.")
        schema, names = to_arrow_schema(loader.schema), loader.schema.names
        batches = check_new_ids(loader.read())
        mode = "overwrite" if exists else "create"
        with open_reader(batches, schema, names) as reader, translate_errors(subject):
            base.connection.create_table(table, reader, schema=schema, mode=mode)
        store = cls(base, table, names)
        store._table.store_metadata(loader.next_id, loader.model_digest)
        store._model_digest = loader.model_digest
        return store

    @classmethod
    def _open(cls, database: Any, options: dict[str, Any], table: str, names: ColumnNames) -> Self:
        return cls(connect(database, options, must_exist=True), table, names)

    def _load(self, loader: BatchLoader) -> None:
        table, next_id = self._table, self._table.next_id()
        batches = loader.read(next_id, table.model_digest())
        batches = check_new_ids(batches, next_id, table.find_ids)
        reading = open_reader(batches, table.engine.schema, self._schema.names)
        with reading as reader, table.translate_errors():
            table.engine.add(reader)
        table.store_metadata(loader.next_id, loader.model_digest)
        self._model_digest = loader.model_digest

    @synchronized
    def remove(self, ids: ArrayLike) -> None:
        unique = np.unique(check_ids(ids, _OWNER))
        if not len(unique):
            return
        self._check_present(unique, np.isin(unique, self._table.find_ids(unique)))
        with self._table.keep_next_id():
            self._table.engine.delete(self._table.has_id(unique))

    def codes(self, ids: ArrayLike) -> Codes:
        column = self._schema.names.code
        packed = to_matrix(self._fetch(ids, [column])[column]).astype(np.uint8, copy=False)
        return Codes(packed, self.n_bits, self._model_digest)

    def vectors(self, ids: ArrayLike) -> Float32Array:
        self._check_has_vectors()
        column = self._schema.names.vector
        return to_matrix(self._fetch(ids, [column])[column]).astype(np.float32, copy=False)

    def columns(self, ids: ArrayLike) -> dict[str, list[Any]]:
        names = list(self._schema.column_types)
        rows = self._fetch(ids, names)
        return {name: rows[name].to_pylist() for name in names}

    def batches(self) -> Iterator[Batch]:
        return self._read_batches(None)

    @synchronized
    def build_index(self, n_lists: int | None = None) -> None:
        """Build an IVF index on the codes, for ``exact=False``, and an index on the ids.

        Codes added later are found as well; building again includes them in the index.

        Parameters
        ----------
        n_lists
            Number of lists that the codes are divided into; None takes the square root of the
            number of codes.

        Raises
        ------
        StoreError
            If the store is empty.
        ParameterError
            If ``n_lists`` is not between 1 and the number of codes.
        """
        from lancedb.index import BTree, IvfFlat

        n_codes, names = len(self), self._schema.names
        if not n_codes:
            raise StoreError("Cannot build an index on an empty store.")
        n_lists = max(1, math.isqrt(n_codes)) if n_lists is None else n_lists
        _validation.check_integer(n_lists, "n_lists", "build_index", low=1, high=n_codes)
        with self._table.keep_next_id():
            ivf = IvfFlat(distance_type="hamming", num_partitions=n_lists)
            self._table.engine.create_index(names.code, config=ivf)
            self._table.engine.create_index(names.id, config=BTree())

    def __len__(self) -> int:
        with self._table.translate_errors():
            return int(self._table.engine.count_rows())

    def __repr__(self) -> str:
        return f"LanceStore({len(self)} x {self.n_bits} bits, {self._table.engine.name!r})"

    def _search_exact(self, codes: Codes, k: int, conditions: Any) -> Hits:
        return search_batches(self._read_batches(conditions), codes, k)

    def _search_within(self, codes: Codes, radius: int, conditions: Any) -> RadiusHits:
        return search_batches_within(self._read_batches(conditions), codes, radius)

    def _probe_index(self, codes: Codes, k: int, conditions: Any) -> RadiusHits:
        if self.n_probes is not None:
            _validation.check_integer(self.n_probes, "n_probes", _OWNER, low=1)
        with self._table.translate_errors():
            rows = [self._probe_one(code, k, conditions) for code in codes.packed]
        queries = np.repeat(np.arange(len(codes)), list(map(len, rows)))
        ids = [table[self._schema.names.id].to_numpy() for table in rows]
        distances = [table["_distance"].to_numpy() for table in rows]
        all_ids = np.concatenate([np.empty(0, np.int64), *ids])
        all_distances = np.concatenate([np.empty(0, np.float32), *distances])
        return group_radius_hits(queries, all_ids, all_distances, len(codes))

    def _probe_one(self, code: UInt8Array, k: int, conditions: Any) -> Any:
        names = self._schema.names
        query = self._table.engine.search(code, vector_column_name=names.code)
        query = query.distance_type("hamming")
        if self.n_probes is not None:
            query = query.nprobes(self.n_probes)
        if conditions is not None:
            query = query.where(conditions, prefilter=True)
        return query.limit(k).select([names.id, "_distance"]).to_arrow()

    def _compile_conditions(self, groups: list[list[Condition]]) -> Any:
        return to_expression(groups)

    def _find_meeting(self, ids: Ids, conditions: Any) -> Ids:
        return self._table.find_ids(ids, conditions)

    def _snapshot(self) -> AbstractContextManager[None]:
        return self._table.snapshot()

    def _read_batches(self, conditions: Any) -> Iterator[Batch]:
        """Return the ids and codes that meet conditions, of the version that is current now."""
        names, digest = self._schema.names, self._model_digest

        def to_batch(table: Any) -> Batch:
            # Another program may leave out codes; such rows are ignored.
            table = table.drop_null()
            packed = to_matrix(table[names.code])
            return Batch(table[names.id].to_numpy(), Codes(packed, self.n_bits, digest))

        return map(to_batch, self._table.read([names.id, names.code], conditions))

    def _fetch(self, ids: ArrayLike, columns: list[str]) -> Any:
        """Return the rows of some ids, in the order of the ids."""
        unique, rows = np.unique(check_ids(ids, _OWNER), return_inverse=True)
        found = self._table.fetch(unique, [self._schema.names.id, *columns])
        present = found[self._schema.names.id].to_numpy()
        self._check_present(unique, np.isin(unique, present))
        return found.take(np.argsort(present)[rows])
