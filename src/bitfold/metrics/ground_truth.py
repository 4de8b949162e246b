"""Exact nearest neighbors by Euclidean distance or cosine: the ground truth of a search."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._kernels.rescoring import measure_rows
from bitfold._progress import show_progress
from bitfold._threads import map_blocks
from bitfold._types import (
    AnyArray,
    Float32Array,
    Float64Array,
    Int64Array,
    ProgressCallback,
    SignedIntArray,
)
from bitfold.metrics.vector_blocks import METRICS, VectorBlocks

_QUERIES_PER_BLOCK = 256
"""Number of queries per matrix product; larger products are not faster."""

_BLOCK_BYTES = 32 << 20
"""Maximum size of a block of rows, and of its distances to a block of queries, in float32."""


def closest_neighbors(
    database: Any,
    queries: Any,
    *,
    share: float = 0.02,
    k: int | None = None,
    rows: ArrayLike | None = None,
    metric: str = "l2",
    progress: ProgressCallback | None = None,
) -> SignedIntArray:
    """Find the rows of the database closest to each query, nearest first, ties by id.

    The answer is exact. Distances in float32 only exclude rows that are too far even if the
    rounding error is as large as it can be. The others are measured in float64, as sums of squared
    differences of the given values: integers without rounding, and equal rows always tie. Rows
    are read in blocks, twice per 256 queries, so memory stays bounded.

    Parameters
    ----------
    database, queries
        Vectors, one per row; arrays or memory maps.
    share
        Number of rows to find, as a share of the database.
    k
        Number of rows to find; overrides ``share``.
    rows
        Ascending numbers of the rows that are searched; None searches all. The result is that of
        ``database[rows]``, without the copy.
    metric
        "l2", or "cosine", which compares rows scaled to unit length as ``normalize=True`` does.
    progress
        Called with (stage, done, total), counting queries.

    Returns
    -------
    Ids, one row per query; int32, or int64 if the database is too large for that. They are
    positions in ``rows`` if that is given.

    Raises
    ------
    ParameterError
        If the widths differ, or ``share``, ``k``, ``rows`` or ``metric`` is not allowed.
    DataError
        If a value is not finite, or too large for distances in float32.

    Examples
    --------
    >>> closest_neighbors([[0.0], [5.0], [1.0], [9.0]], [[0.2]], k=2)
    array([[0, 2]], dtype=int32)
    """
    X, Q = open_pair(database, queries, "closest_neighbors", metric, rows)
    k = _count_neighbors(len(X), share, k)
    found = np.empty((len(Q), k), np.int32 if len(X) <= np.iinfo(np.int32).max else np.int64)
    with show_progress(progress) as report:
        for start, centered in Q.blocks(_QUERIES_PER_BLOCK):
            stop = start + len(centered)
            values = Q.values(start, stop).astype(np.float64)
            found[start:stop] = _find(X, centered, values, k)
            report("exact neighbors", stop, len(Q))
    return found


def open_pair(
    database: Any, queries: Any, owner: str, metric: str, rows: ArrayLike | None
) -> tuple[VectorBlocks, VectorBlocks]:
    """Open the database and the queries relative to the same center."""
    _validation.check_choice(metric, "metric", owner, METRICS)
    X = VectorBlocks.open(database, "the database", metric, rows)
    Q = VectorBlocks.open(queries, "the queries", metric, None)
    if X.n_features != Q.n_features:
        requirement = f"of {X.n_features} features, like the database"
        _validation.raise_invalid("queries", owner, requirement, Q.n_features)
    return X, Q.with_center(X.source.center)


def _count_neighbors(n_rows: int, share: float, k: int | None) -> int:
    """Return the number of rows to find."""
    owner = "closest_neighbors"
    if k is not None:
        return _validation.check_integer(k, "k", owner, low=1, high=n_rows, why=f"n_rows={n_rows}")
    if _validation.check_positive(share, "share", owner) > 1:
        _validation.raise_invalid("share", owner, "at most 1", share)
    return max(1, round(share * n_rows))


class _Candidates(NamedTuple):
    """Rows that may be among the k nearest of a query, ascending, and their float32 scores.

    ``limit`` is an upper bound on the k-th smallest distance, on the scale of the scores.
    """

    ids: Int64Array
    scores: Float32Array
    limit: float


def _find(X: VectorBlocks, centered: Float32Array, queries: Float64Array, k: int) -> Int64Array:
    """Return the ids of the k closest rows of a block of queries.

    The rows are read twice: first to list the candidates of every query, then to measure them.
    """
    step = max(1, _BLOCK_BYTES // (4 * max(len(queries), X.n_features)))
    candidates = _list_candidates(X, centered, k, step)
    sq_distances = [np.empty(len(ids)) for ids in candidates]
    for first in range(0, len(X), step):
        stop = min(first + step, len(X))
        measure = partial(_measure, X.values(first, stop), first)
        deque(map_blocks(measure, zip(queries, candidates, sq_distances, strict=True)), 0)
    # Stable, and candidates are in the order of their ids: ties go by id.
    orders = (np.argsort(values, kind="stable")[:k] for values in sq_distances)
    return np.stack([ids[order] for ids, order in zip(candidates, orders, strict=True)])


def _list_candidates(
    X: VectorBlocks, centered: Float32Array, k: int, step: int
) -> list[Int64Array]:
    """Return the rows that may be among the k nearest, one ascending array per query."""
    none = _Candidates(np.empty(0, np.int64), np.empty(0, np.float32), np.inf)
    candidates, error = [none] * len(centered), np.zeros(len(centered))
    queries = -2 * centered
    for first, block in X.blocks(step):
        sq_lengths = np.einsum("ij,ij->i", block, block)
        scores = queries @ block.T
        scores += sq_lengths
        error = np.maximum(error, _bound_errors(centered, float(sq_lengths.max())))
        add = partial(_add_candidates, first, k)
        candidates = list(map_blocks(add, zip(scores, error, candidates, strict=True)))
    kept = (_drop_far(found, k, e) for found, e in zip(candidates, error, strict=True))
    return [found.ids for found in kept]


def _add_candidates(
    first: int, k: int, job: tuple[Float32Array, float, _Candidates]
) -> _Candidates:
    """Add rows of a block to the candidates of a query, and drop some if there are many.

    The job consists of the scores, their largest error, and the candidates so far.
    """
    scores, error, (ids, known, limit) = job
    chosen = np.flatnonzero(scores <= limit + error)
    found = _Candidates(
        np.concatenate([ids, first + chosen]), np.concatenate([known, scores[chosen]]), limit
    )
    return found if len(found.ids) < 2 * k else _drop_far(found, k, error)


def _drop_far(found: _Candidates, k: int, error: float) -> _Candidates:
    """Drop candidates that are too far even if the rounding error is as large as it can be."""
    limit = float(np.partition(found.scores, k - 1)[k - 1]) + error
    is_near = found.scores <= limit + error
    return _Candidates(found.ids[is_near], found.scores[is_near], limit)


def _measure(
    values: AnyArray, first: int, job: tuple[Float64Array, Int64Array, Float64Array]
) -> None:
    """Measure the exact squared distances of a query to its candidates in a block of rows.

    The job consists of the query, its candidates, and the array of their distances.
    """
    query, ids, out = job
    start, stop = np.searchsorted(ids, (first, first + len(values)))
    measure_rows(values, ids[start:stop] - first, query, out[start:stop])


def _bound_errors(queries: Float32Array, longest: float) -> Float64Array:
    """Return the largest possible error of |b|² - 2 x·b in float32, per query.

    ``longest`` is the largest |b|².

    Sums of d products in float32 have a relative error of at most d 2⁻²⁴ (Higham, Sec. 3.1), so
    the error is at most d 2⁻²⁴ (|x| + |b|)². The 8 covers the rounding of the vectors and of the
    terms; the factor 2 is a margin.
    """
    sq_lengths: Float64Array = np.einsum("ij,ij->i", queries, queries, dtype=np.float64)
    errors: Float64Array = (
        2 * 2.0**-24 * (queries.shape[1] + 8) * (np.sqrt(sq_lengths) + np.sqrt(longest)) ** 2
    )
    return errors
