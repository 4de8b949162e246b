"""LanceDB: codes, ids, originals and the user's columns in one table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import reduce
from itertools import chain
from operator import and_, or_
from os import fspath
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import AnyArray, Float32Array, Ids, PathLike, ProgressCallback, UInt8Array
from bitfold.codes import Codes
from bitfold.errors import MissingStoreError
from bitfold.search import Hits, RadiusHits
from bitfold.search import ids as numbers
from bitfold.stores import arrow, scan
from bitfold.stores import columns as names
from bitfold.stores.columns import CODE, ID, VECTOR
from bitfold.stores.contract import Batch, Store, check_bits, flat, raise_invalid
from bitfold.stores.filters import Condition
from bitfold.stores.lance.connect import (
    clear,
    connect,
    lancedb_module,
    nothing,
    opened_table,
    shown,
    written,
)
from bitfold.stores.lance.rows import Layout, Rows
from bitfold.stores.lance.table import Table, condition


class LanceStore(Store):
    """A LanceDB table, in a directory or an object store.

    Exact search streams the codes through bitfold's own kernels, all queries at once, in bounded
    memory; ``exact=False`` asks the index that :meth:`build_index` makes. Every change is one
    version of the table, so that readers see all of it or none; one process at a time may write.

    Attributes
    ----------
    n_probes
        Lists of the index that ``exact=False`` looks into: more find more and take longer. None
        is LanceDB's choice.

    Examples
    --------
    >>> store = LanceStore.create("lancedb", "digits", n_bits=3, columns={"label": int})
    >>> codes = Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> store.add(codes, columns={"label": [1, 7, 1]})
    >>> store.search(codes[1:2], k=2, where=[("label", "=", 1)]).ids.tolist()
    [[0, 2]]
    """

    n_probes: int | None = None

    def __init__(self, table: Any, id_column: str, code_column: str, vector_column: str) -> None:
        self._layout = Layout.of(table.schema, id_column, code_column, vector_column)
        self._table = Table(table, id_column)
        self.n_bits = self._layout.n_bits
        self._id, self._code = id_column, code_column

    @classmethod
    def create(
        cls,
        uri: PathLike,
        table: str,
        n_bits: int,
        *,
        n_features: int | None = None,
        columns: Mapping[str, type] | None = None,
        batches: Iterable[Batch] = (),
        replace: bool = False,
        progress: ProgressCallback | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> Self:
        """Make a table, empty or filled, as one version.

        Parameters
        ----------
        uri
            A directory, or an address such as ``s3://bucket/path``.
        table
            Its name.
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
        storage_options
            What LanceDB is told about an object store.
        """
        check_bits(n_bits, "LanceStore")
        if n_features is not None:
            _validation.check_integer(n_features, "n_features", "LanceStore", low=1)
        lancedb_module()
        schema = arrow.schema_of(n_bits, n_features, names.check_types(columns, "LanceStore"))
        base = connect(uri, storage_options)
        what = f"table {table!r} in {shown(uri)}"
        exists = opened_table(base, table, what) is not None
        if exists and not replace:
            raise FileExistsError(f"{what} exists already; open it, or create with replace=True.")
        numbering = numbers.Numbering("LanceStore", 0)
        rows = Rows(Layout.of(schema, ID, CODE, VECTOR), numbering, nothing, batches, progress)
        mode = "overwrite" if exists else "create"
        with written(rows, schema, rows) as reader, clear(what):
            made = base.create_table(table, reader, schema=schema, mode=mode)
        store = cls(made, ID, CODE, VECTOR)
        store._table.keep(numbering.next_id)
        return store

    @classmethod
    def open(
        cls,
        uri: PathLike,
        table: str,
        *,
        id_column: str = ID,
        code_column: str = CODE,
        vector_column: str = VECTOR,
        storage_options: Mapping[str, str] | None = None,
    ) -> Self:
        """Open a table: one made by :meth:`create`, or any that has ids and packed codes.

        Parameters
        ----------
        uri
            A directory, or an address such as ``s3://bucket/path``.
        table
            Its name.
        id_column
            The column of 64-bit integers that tells rows apart.
        code_column
            The column of codes, fixed-size lists of uint8.
        vector_column
            The column of originals, fixed-size lists of float32, if there is one.
        storage_options
            What LanceDB is told about an object store.
        """
        if "://" not in fspath(uri) and not Path(uri).is_dir():
            raise MissingStoreError(f"{shown(uri)} does not exist.")
        base = connect(uri, storage_options)
        what = f"table {table!r} in {shown(uri)}"
        opened = opened_table(base, table, what)
        if opened is None:
            raise MissingStoreError(f"{what} does not exist.")
        return cls(opened, id_column, code_column, vector_column)

    def load(self, batches: Iterable[Batch], progress: ProgressCallback | None = None) -> None:
        """Add batch after batch as one version of the table.

        Parameters
        ----------
        batches
            Read once, one in memory at a time.
        progress
            Called with (stage, done, total) after each.
        """
        numbering = numbers.Numbering("LanceStore", self._table.next_id())
        rows = Rows(self._layout, numbering, self._table.present, batches, progress)
        first = next(rows, None)
        if first is None:
            return
        table = self._table
        with written(chain([first], rows), self._layout.schema, rows) as reader, table.working():
            table.engine.add(reader)
        table.keep(numbering.next_id)

    def delete(self, ids: ArrayLike) -> None:
        """Delete codes by id, as one version of the table.

        Parameters
        ----------
        ids
            Ids of codes in the store; an unknown one is an error, and nothing is deleted.
        """
        gone = np.unique(numbers.integers(ids, "LanceStore"))
        if not len(gone):
            return
        self._known(gone, np.isin(gone, self._table.present(gone)))
        next_id = self._table.next_id()
        with self._table.working():
            self._table.engine.delete(self._table.is_in(gone))
        self._table.keep(next_id)

    def count(self) -> int:
        """How many codes there are."""
        with self._table.working():
            return int(self._table.engine.count_rows())

    def codes(self, ids: ArrayLike) -> Codes:
        """Return the codes of some ids, in their order.

        Parameters
        ----------
        ids
            Ids of codes in the store.
        """
        return Codes(self._values(ids, self._code, np.dtype(np.uint8)), self.n_bits)

    def vectors(self, ids: ArrayLike) -> Float32Array:
        """Return the originals of some ids, in their order.

        Parameters
        ----------
        ids
            Ids of codes in the store.
        """
        self._check_originals(self._layout.n_features)
        return self._values(ids, self._layout.vector, np.dtype(np.float32))

    def columns(self, ids: ArrayLike) -> dict[str, list[Any]]:
        """Return the user's columns of some ids, in their order.

        Parameters
        ----------
        ids
            Ids of codes in the store.
        """
        wanted = numbers.integers(ids, "LanceStore")
        found = self._fetch(wanted, list(self._layout.types))
        return {name: found[name].to_pylist() for name in self._layout.types}

    def batches(self) -> Iterator[Batch]:
        """Read all codes with their ids, a batch at a time."""
        for codes, ids in self._parts(None):
            yield Batch(codes, ids)

    def build_index(self, n_lists: int | None = None) -> None:
        """Index the codes (IVF by Hamming distance) and the ids, for ``exact=False``.

        Codes added later are found too; building again takes them in.

        Parameters
        ----------
        n_lists
            Lists the codes are shared out over; None takes the square root of their number.
        """
        from lancedb.index import BTree, IvfFlat

        count = self.count()
        if not count:
            raise_invalid(self, "the store to index", "with codes in it", "an empty one")
        lists = max(1, math.isqrt(count)) if n_lists is None else n_lists
        _validation.check_integer(lists, "n_lists", "build_index", low=1, high=count)
        next_id = self._table.next_id()
        with self._table.working():
            made = IvfFlat(distance_type="hamming", num_partitions=lists)
            self._table.engine.create_index(self._code, config=made)
            self._table.engine.create_index(self._id, config=BTree())
        self._table.keep(next_id)

    def __repr__(self) -> str:
        return f"LanceStore({self.count()} x {self.n_bits} bits, {self._table.engine.name!r})"

    def _exact(self, codes: Codes, k: int, where: Any) -> Hits:
        return scan.nearest(self._parts(where), codes, k)

    def _within(self, codes: Codes, radius: int, where: Any) -> RadiusHits:
        return scan.within(self._parts(where), codes, radius)

    def _probe(self, codes: Codes, k: int, where: Any) -> RadiusHits:
        import pyarrow as pa

        if self.n_probes is not None:
            _validation.check_integer(self.n_probes, "n_probes", "LanceStore", low=1)
        with self._table.working():
            found = [self._ask(code, k, where) for code in codes.packed]
        if not found:
            return RadiusHits(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0, np.int32))
        query = np.repeat(np.arange(len(codes)), list(map(len, found)))
        rows = pa.concat_tables(found)
        return flat(query, rows[self._id].to_numpy(), rows["_distance"].to_numpy(), len(codes))

    def _ask(self, code: UInt8Array, k: int, where: Any) -> Any:
        """Ask LanceDB for the k nearest of one code."""
        asked = self._table.engine.search(code, vector_column_name=self._code)
        asked = asked.distance_type("hamming")
        if self.n_probes is not None:
            asked = asked.nprobes(self.n_probes)
        if where is not None:
            asked = asked.where(where, prefilter=True)
        return asked.limit(k).select([self._id, "_distance"]).to_arrow()

    def _filter(self, groups: list[list[Condition]]) -> Any:
        alternatives = [reduce(and_, [self._condition(*c) for c in group]) for group in groups]
        return reduce(or_, alternatives)

    def _condition(self, column: str, operator: str, value: Any) -> Any:
        self._check_column(column, [self._id, *self._layout.types])
        return condition(column, operator, value)

    def _snapshot(self) -> AbstractContextManager[None]:
        return self._table.snapshot()

    def _parts(self, where: Any) -> Iterator[scan.Part]:
        """All codes with their ids that meet conditions, in batches worth an index."""
        for table in self._table.read([self._id, self._code], where):
            # In a table of the user's own a code may be missing: such rows do not count.
            table = table.drop_null()
            yield Codes(arrow.matrix(table[self._code]), self.n_bits), table[self._id].to_numpy()

    def _fetch(self, ids: Ids, wanted: list[str]) -> Any:
        """The rows of some ids, in their order."""
        needed, place = np.unique(ids, return_inverse=True)
        found = self._table.found(needed, [self._id, *wanted])
        known = found[self._id].to_numpy()
        self._known(needed, np.isin(needed, known))
        return found.take(np.argsort(known)[place])

    def _values(self, ids: ArrayLike, column: str, dtype: np.dtype[Any]) -> AnyArray:
        wanted = numbers.integers(ids, "LanceStore")
        return arrow.matrix(self._fetch(wanted, [column])[column]).astype(dtype, copy=False)
