"""A snapshot: everything that a reader of a collection needs, as one object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bitfold._threads import lazy_property
from bitfold._types import AnyArray, BoolArray, Float32Array, Int64Array, ProgressCallback
from bitfold.codes import Codes
from bitfold.collection.appender import RowsAppender
from bitfold.collection.columns import ColumnValues
from bitfold.collection.database import Database
from bitfold.collection.fitting import choose_candidates_by_order, needs_codes
from bitfold.collection.folder import name_file
from bitfold.collection.id_map import IdMap, ItemIds
from bitfold.collection.items import ItemsTable
from bitfold.collection.kept_vectors import EncodedRows, KeptVectors, dtype_of, prepare_vectors
from bitfold.collection.rescoring import rescore
from bitfold.collection.row_file import map_rows
from bitfold.collection.state import CollectionState
from bitfold.errors import DataError, FormatError
from bitfold.hashers import Hasher, load
from bitfold.search import HammingIndex

_MAX_KEPT_ANSWERS, _MAX_KEPT_ROWS = 8, 1 << 20
"""Number of conditions whose rows are kept, and of rows of each: at most 64 MB."""

_ROWS_PER_BATCH = 1 << 13
"""Number of rows that are copied together."""


class Snapshot:
    """The content of a collection between two changes; never modified, only replaced.

    A thread that holds one sees the same items until it is done, whatever others change.

    Parameters
    ----------
    path
        The folder.
    database
        The database in it.
    state
        The state that the snapshot shows.
    index
        The codes, with rows as ids; None before the hasher is fitted.
    hasher
        The fitted hasher, if it is already in memory.
    """

    def __init__(
        self,
        path: Path,
        database: Database,
        state: CollectionState,
        index: HammingIndex | None,
        hasher: Hasher | None = None,
    ) -> None:
        self.path = path
        self.state = state
        self.index = index
        self.items = ItemsTable(database, state)
        self.vectors = map_vectors(path, state)
        self.ids = IdMap(self.items, map_ids(path, state), self.is_live)
        self._found: dict[str, Int64Array] = {}
        if hasher is not None:
            vars(self)["hasher"] = hasher

    @lazy_property
    def hasher(self) -> Hasher | None:
        """The fitted hasher, read on first use; None before there is one."""
        if self.state.model is None:
            return None
        try:
            hasher = load(self.path / self.state.model)
        except FileNotFoundError:
            raise FormatError(f"{self.path} is damaged: {self.state.model} is missing.") from None
        fits = self.index is not None and hasher.n_bits_ == self.index.n_bits
        if not fits or hasher.n_features_in_ != self.state.n_features:
            raise FormatError(f"{self.path} is damaged: its hasher does not fit its codes.")
        return hasher

    @lazy_property
    def query_hasher(self) -> Hasher | None:
        """The hasher that embeds queries; None before it is fitted."""
        if self.hasher is None or self.vectors is None:
            return self.hasher
        return choose_candidates_by_order(self.hasher)

    @property
    def loaded_hasher(self) -> Hasher | None:
        """The fitted hasher if it is already in memory."""
        hasher: Hasher | None = vars(self).get("hasher")
        return hasher

    @lazy_property
    def live_rows(self) -> Int64Array:
        """The rows that are not removed, ascending."""
        if self.state.n_items == self.state.n_rows:
            return np.arange(self.state.n_rows)
        if self.index is not None:
            nothing = np.empty(0, np.int64)
            return np.sort(np.concatenate([nothing, *(b.ids for b in self.index.batches())]))
        return np.setdiff1d(np.arange(self.state.n_rows), self.state.removed, assume_unique=True)

    def is_live(self, rows: Int64Array) -> BoolArray:
        """Return which rows are not removed."""
        if self.index is not None:
            return self.index.contains(rows)
        return ~np.isin(rows, np.array(self.state.removed, np.int64))

    def find_rows(self, where: Any) -> Int64Array:
        """Return the rows that meet a condition, ascending; the last few answers are kept."""
        rows = self._found.get(where) if isinstance(where, str) else None
        if rows is None:
            rows = self.items.find(where)
            if isinstance(where, str) and len(rows) <= _MAX_KEPT_ROWS:
                kept = list(self._found.items())[1 - _MAX_KEPT_ANSWERS :]
                self._found = {**dict(kept), where: rows}
        return rows

    def search(
        self, queries: AnyArray, k: int, rows: Int64Array | None, n_candidates: int
    ) -> tuple[Int64Array, Float32Array]:
        """Return the k nearest rows of each query and their distances, ties by row.

        ``rows`` restricts the search to these; None searches all items.
        """
        n_searched = self.state.n_items if rows is None else len(rows)
        if not n_searched or not len(queries):
            shape = (len(queries), min(k, n_searched))
            return np.empty(shape, np.int64), np.empty(shape, np.float32)
        n_candidates = max(k, n_candidates)
        if self.vectors is not None and (n_searched <= n_candidates or not needs_codes(n_searched)):
            candidates = self.live_rows if rows is None else rows
        elif self.vectors is not None:
            candidates, _ = self._search_codes(queries, n_candidates, rows)
        else:
            return self._search_codes(queries, k, rows)
        prepared = prepare_vectors(queries, self.state.metric)
        return rescore(self.vectors, candidates, prepared, self.state.metric, k)

    def read_rows(self, rows: Int64Array) -> tuple[EncodedRows | None, ItemIds, ColumnValues]:
        """Return the vectors of rows as they are stored, their ids and metadata."""
        encoded = None
        if self.vectors is not None:
            scales = self.vectors.scales
            encoded = EncodedRows(
                self.vectors.values[rows], scales[rows] if len(scales) else scales
            )
        ids = self.ids.to_ids(rows)
        listed = ids.tolist() if self.state.id_kind == "str" else ids
        return encoded, listed, self.items.read(rows, list(self.state.columns))

    def copy_rows(self, appender: RowsAppender, report: ProgressCallback) -> None:
        """Append all live rows, in their order."""
        rows = self.live_rows
        for start in range(0, len(rows), _ROWS_PER_BATCH):
            appender.append(*self.read_rows(rows[start : start + _ROWS_PER_BATCH]))
            report("compact", appender.state.n_rows, len(rows))

    def _search_codes(
        self, queries: AnyArray, k: int, rows: Int64Array | None
    ) -> tuple[Int64Array, Float32Array]:
        hasher = self.query_hasher
        if hasher is None or self.index is None:
            raise DataError("The collection has neither codes nor vectors.")
        embedding = hasher.embed(queries)
        # The bits are the signs of the embedding; encoding would compute it a second time.
        packed = np.packbits(embedding > 0, axis=1)
        codes = Codes(packed, hasher.n_bits_, hasher.model_digest)
        hits = self.index.search(codes, k, query_embedding=embedding, among=rows)
        return hits.ids, hits.distances


class LiveVectors:
    """The kept vectors of the rows that are not removed, as a matrix that is read in slices.

    Parameters
    ----------
    vectors
        The kept vectors.
    rows
        The rows that are not removed, ascending.
    """

    def __init__(self, vectors: KeptVectors, rows: Int64Array) -> None:
        self.shape = (len(rows), int(vectors.values.shape[1]))
        self.dtype = np.dtype(np.float32)
        self._vectors = vectors
        self._rows = rows

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: Any) -> Float32Array:
        rows = self._rows[part]
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
            return self._vectors.decode(slice(int(rows[0]), int(rows[-1]) + 1))
        return self._vectors.decode(rows)


def map_vectors(path: Path, state: CollectionState) -> KeptVectors | None:
    """Return the vectors of a state, memory-mapped; None if none are stored."""
    if state.stored is None or state.n_features is None:
        return None
    values = map_rows(
        path / name_file("vectors", state), dtype_of(state.stored), state.n_rows, state.n_features
    )
    n_scales = state.n_rows if state.stored == "int8" else 0
    scales = map_rows(path / name_file("scales", state), np.float32, n_scales, 1)
    return KeptVectors(state.stored, values, scales.reshape(-1))


def map_ids(path: Path, state: CollectionState) -> Int64Array:
    """Return the explicit integer ids of a state, memory-mapped."""
    n_ids = state.n_rows - state.n_implicit if state.id_kind == "int" else 0
    return map_rows(path / name_file("ids", state), np.int64, n_ids, 1).reshape(-1)
