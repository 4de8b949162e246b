"""Vectors of the items: exact distances, and the nearest items by them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._threads import map_blocks
from bitfold._types import AnyArray, Float32Array, Float64Array, Int64Array
from bitfold.collection.kept_vectors import KeptVectors, prepare_vectors
from bitfold.collection.snapshot import LiveVectors, Snapshot

METRICS = {"l2": "euclidean", "euclidean": "euclidean", "cosine": "cosine"}

_VALUES_PER_BLOCK = 1 << 21
"""Numbers of vectors that one thread compares at a time."""

_MAX_CACHED_ANSWERS = 128
"""Maximum number of cached exact searches; each costs a scan of all vectors."""


class ExactHits(NamedTuple):
    """The nearest rows by exact distance, nearest first, ties by row."""

    rows: Int64Array
    distances: Float32Array


@dataclass(frozen=True, eq=False)
class ItemVectors:
    """One vector per item.

    Parameters
    ----------
    matrix
        Array, memory map, or vectors of a collection.
    metric
        "euclidean" or "cosine".
    kept
        The same vectors as a collection keeps them, whose distances a kernel measures.
    stored_rows
        Row of each item in the matrix, ascending; None if the numbers are the same.
    """

    matrix: Any
    metric: str
    kept: KeptVectors | None = None
    stored_rows: Int64Array | None = None

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot) -> ItemVectors | None:
        """Return the vectors of a collection; None if it keeps none."""
        if snapshot.vectors is None:
            return None
        live = snapshot.live_rows
        stored = None if len(live) == snapshot.state.n_rows else live
        matrix = LiveVectors(snapshot.vectors, np.arange(snapshot.state.n_rows))
        return cls(matrix, snapshot.state.metric, snapshot.vectors, stored)

    @classmethod
    def from_array(cls, array: AnyArray, metric: str, file_rows: Int64Array) -> ItemVectors:
        """Return the rows of an array that belong to items."""
        if len(array) <= int(file_rows.max(initial=-1)):
            requirement = f"one per id of the items, which go up to {file_rows.max()}"
            _validation.raise_invalid("vectors", "the items", requirement, f"{len(array)} rows")
        is_same = np.array_equal(file_rows, np.arange(len(file_rows)))
        format_name = {"f4": "float32", "f2": "float16"}.get(array.dtype.str[1:])
        is_native = array.dtype.isnative and array.flags.c_contiguous
        kept = None
        if format_name and is_native:
            kept = KeptVectors(format_name, array, np.empty(0, np.float32))
        return cls(array, METRICS[metric], kept, None if is_same else file_rows)

    @property
    def width(self) -> int:
        """Number of features."""
        return int(self.matrix.shape[1])

    def take(self, rows: Int64Array) -> Float32Array:
        """Return the vectors of some rows."""
        stored = rows if self.stored_rows is None else self.stored_rows[rows]
        vectors = np.asarray(self.matrix[stored], np.float32)
        _validation.check_finite(vectors, "the items", name="vectors")
        return vectors

    def measure(self, vector: AnyArray, rows: Int64Array) -> Float32Array:
        """Return the exact distances of some rows to a vector."""
        if len(vector) != self.width:
            requirement = f"{self.width} numbers"
            _validation.raise_invalid("vector", "the query", requirement, len(vector))
        query = prepare_vectors(np.asarray(vector, np.float32)[None], self.metric)
        stored = rows if self.stored_rows is None else self.stored_rows[rows]
        out = np.empty(len(rows), np.float32)
        step = max(1, _VALUES_PER_BLOCK // self.width)

        def work(first: int) -> None:
            part = slice(first, first + step)
            self._measure_block(query, np.ascontiguousarray(stored[part]), out[part])

        starts = range(0, len(rows), step)
        for _ in map(work, starts) if len(starts) < 2 else map_blocks(work, starts):
            pass
        return out

    def nearest(
        self, vector: Float64Array, k: int, rows: Int64Array | None, exclude: int | None = None
    ) -> ExactHits:
        """Return the k nearest items except ``exclude``, among some rows or all."""
        if rows is None:
            found: ExactHits = self._cached(vector.tobytes(), k, exclude)
            return found
        return self._find(vector, k, rows, exclude)

    @cached_property
    def _cached(self) -> Any:
        return lru_cache(_MAX_CACHED_ANSWERS)(
            lambda content, k, exclude: self._find(
                np.frombuffer(content), k, np.arange(self.n_rows), exclude
            )
        )

    @property
    def n_rows(self) -> int:
        """Number of items."""
        return len(self.matrix) if self.stored_rows is None else len(self.stored_rows)

    def _find(
        self, vector: Float64Array, k: int, rows: Int64Array, exclude: int | None
    ) -> ExactHits:
        if exclude is not None:
            rows = rows[rows != exclude]
        distances = self.measure(vector, rows)
        return ExactHits(*take_nearest(rows, distances, k))

    def _measure_block(self, query: Float32Array, stored: Int64Array, out: Float32Array) -> None:
        if self.kept is not None:
            self.kept.measure(stored[None], query, self.metric, out[None])
            return
        block = np.asarray(self.matrix[stored], np.float32)
        if self.metric == "cosine":
            lengths = np.linalg.norm(block, axis=1)
            cosine = block @ query[0] / np.where(lengths > 0, lengths, 1)
            out[:] = np.maximum(0, 1 - np.where(lengths > 0, cosine, 0))
        else:
            out[:] = np.linalg.norm(block - query[0], axis=1)


def take_nearest(
    rows: Int64Array, distances: Float32Array, k: int
) -> tuple[Int64Array, Float32Array]:
    """Return the k rows of the smallest distances, ties by row; the rows are ascending."""
    k = min(k, len(rows))
    if not k:
        return rows[:0], distances[:0]
    limit = np.partition(distances, k - 1)[k - 1]
    candidates = np.flatnonzero(distances <= limit)
    order = candidates[np.argsort(distances[candidates], kind="stable")[:k]]
    return rows[order], distances[order]
