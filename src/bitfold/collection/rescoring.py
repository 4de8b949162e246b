"""Exact distances: order candidates, or all rows if there are few, by their kept vectors."""

from __future__ import annotations

import numpy as np

from bitfold._kernels.rescoring import select_nearest
from bitfold._threads import count_threads, map_blocks
from bitfold._types import Float32Array, Int64Array
from bitfold.collection.kept_vectors import KeptVectors

_MAX_K_BY_INSERTION = 256
"""Largest k for which insertion into a sorted list is faster than sorting all candidates."""

_DISTANCES_PER_BLOCK = 1 << 16
"""Number of distances that one thread computes at a time."""

_MIN_VALUES_FOR_THREADS = 1 << 18
"""Minimum number of values to read for which the work is split over threads."""


def rescore(
    vectors: KeptVectors, rows: Int64Array, queries: Float32Array, metric: str, k: int
) -> tuple[Int64Array, Float32Array]:
    """Return the k nearest candidates of each query and their distances, ties by row.

    Parameters
    ----------
    vectors
        The kept vectors.
    rows
        Rows of the candidates: one list per query, or one list for all of them.
    queries
        Vectors of the queries, as :func:`prepare_vectors` returns them.
    metric
        "euclidean" or "cosine".
    k
        Number of rows per query; all are returned if there are fewer.

    Returns
    -------
    Rows and distances of shape (queries, k).
    """
    n_candidates = rows.shape[-1]
    k = min(k, n_candidates)
    nearest = np.empty((len(queries), k), np.int64)
    distances = np.empty((len(queries), k), np.float32)

    def work(part: slice) -> None:
        shape = (len(queries[part]), n_candidates)
        candidates = rows[part] if rows.ndim == 2 else np.tile(rows, (shape[0], 1))
        measured = np.empty(shape, np.float32)
        vectors.measure(np.ascontiguousarray(candidates), queries[part], metric, measured)
        _select(candidates, measured, nearest[part], distances[part])

    step = max(1, _DISTANCES_PER_BLOCK // max(n_candidates, 1))
    step = min(step, -(-len(queries) // count_threads())) or 1
    parts = [slice(i, i + step) for i in range(0, len(queries), step)]
    n_values = len(queries) * n_candidates * vectors.values.shape[1]
    for _ in map(work, parts) if n_values < _MIN_VALUES_FOR_THREADS else map_blocks(work, parts):
        pass
    return nearest, distances


def _select(
    rows: Int64Array, measured: Float32Array, nearest: Int64Array, distances: Float32Array
) -> None:
    """Write the nearest candidates of each query, ties by row."""
    k = nearest.shape[1]
    if k <= _MAX_K_BY_INSERTION:
        select_nearest(np.ascontiguousarray(rows), measured, nearest, distances)
        return
    order = np.lexsort((rows, measured), axis=1)[:, :k]
    nearest[:] = np.take_along_axis(rows, order, axis=1)
    distances[:] = np.take_along_axis(measured, order, axis=1)
