"""Exact nearest neighbors by Euclidean distance or cosine: the ground truth of a search."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._threads import map_blocks
from bitfold._types import (
    AnyArray,
    Float32Array,
    Float64Array,
    Int64Array,
    IntpArray,
    SignedIntArray,
)
from bitfold.io.rows import Rows, scale_to_unit_length

_QUERIES_PER_BLOCK = 256
"""Number of queries per matrix product; larger products are not faster."""

_BLOCK_BYTES = 32 << 20
"""Maximum size of a block of rows, and of its distances to a block of queries, in float32."""

_MEASURED_BYTES = 512 << 10
"""Maximum size of the differences that are squared together."""


def closest_neighbors(
    database: Any,
    queries: Any,
    *,
    share: float = 0.02,
    k: int | None = None,
    normalize: bool = False,
) -> SignedIntArray:
    """Find the rows of the database closest to each query in ℓ2, nearest first, ties by id.

    The answer is exact. Distances in float32 only exclude rows that are too far even if the
    rounding error is as large as it can be. The others are measured in float64, as sums of squared
    differences of the given values: integers without rounding, and equal rows always tie. Rows
    are read in blocks, so memory stays bounded.

    Parameters
    ----------
    database, queries
        Vectors, one per row; arrays or memory maps.
    share
        Number of rows to find, as a share of the database.
    k
        Number of rows to find; overrides ``share``.
    normalize
        Whether to scale all rows to unit length first, which orders them by cosine.

    Returns
    -------
    Ids, one row per query; int32, or int64 if the database is too large for that.

    Raises
    ------
    ParameterError
        If the widths differ, ``share`` or ``k`` is out of range, or ``normalize`` is not True or
        False.
    DataError
        If a value is not finite, or too large for distances in float32.

    Examples
    --------
    >>> closest_neighbors([[0.0], [5.0], [1.0], [9.0]], [[0.2]], k=2)
    array([[0, 2]], dtype=int32)
    """
    X = _validation.check_matrix(database, "the database")
    Q = _validation.check_matrix(queries, "the queries")
    if X.shape[1] != Q.shape[1]:
        requirement = f"of {X.shape[1]} features, like the database"
        _validation.raise_invalid("queries", "closest_neighbors", requirement, Q.shape[1])
    k = _count_neighbors(len(X), share, k)
    rows = Rows.centered(X, "the database", normalize=normalize)
    centered = Rows(Q, rows.center, "the queries", normalize)
    found = np.empty((len(Q), k), np.int32 if len(X) <= np.iinfo(np.int32).max else np.int64)
    for start in range(0, len(Q), _QUERIES_PER_BLOCK):
        stop = min(start + _QUERIES_PER_BLOCK, len(Q))
        block = centered.block(start, stop)
        _validation.check_distances_fit(block, "the queries", first_row=start)
        values = _read_values(centered, start, stop).astype(np.float64)
        found[start:stop] = _find(rows, block, values, k)
    return found


def _count_neighbors(n_rows: int, share: float, k: int | None) -> int:
    """Return the number of rows to find."""
    owner = "closest_neighbors"
    if k is not None:
        return _validation.check_integer(k, "k", owner, low=1, high=n_rows, why=f"n_rows={n_rows}")
    if _validation.check_positive(share, "share", owner) > 1:
        _validation.raise_invalid("share", owner, "at most 1", share)
    return max(1, round(share * n_rows))


class _Nearest(NamedTuple):
    """The nearest rows of a query so far, nearest first, ties by id."""

    sq_distances: Float64Array
    ids: Int64Array


def _find(rows: Rows, centered: Float32Array, queries: Float64Array, k: int) -> Int64Array:
    """Return the ids of the k closest rows of a block of queries."""
    import faiss  # takes long to import

    nearest = [_Nearest(np.full(k, np.inf), np.full(k, -1))] * len(queries)
    step = max(1, _BLOCK_BYTES // (4 * max(len(queries), rows.n_features)))
    for first in range(0, len(rows), step):
        # Copied before the block is converted, because that releases the pages of a memory map.
        values = _read_values(rows, first, first + step)
        block = rows.block(first, first + len(values))
        scores = faiss.pairwise_distances(centered, block)
        improve = partial(_improve, values, first)
        jobs = zip(queries, scores, _bound_errors(centered, block), nearest, strict=True)
        nearest = list(map_blocks(improve, jobs))
    return np.stack([found.ids for found in nearest])


def _read_values(rows: Rows, start: int, stop: int) -> AnyArray:
    """Return a copy of rows as they are compared: the given values, or scaled to unit length."""
    stored = rows.matrix[start:stop]
    if rows.normalize:
        return scale_to_unit_length(stored, rows.owner)
    return np.array(stored, np.float32 if np.can_cast(stored.dtype, np.float32) else float)


def _improve(
    values: AnyArray, first: int, job: tuple[Float64Array, Float32Array, float, _Nearest]
) -> _Nearest:
    """Merge a block of rows into the nearest rows of a query.

    The job consists of the query, its squared distances in float32, the largest error of these,
    and its nearest rows so far.
    """
    query, scores, error, nearest = job
    k = len(nearest.ids)
    limit = nearest.sq_distances[-1]
    if np.isinf(limit) and k < len(scores):
        limit = np.partition(scores, k - 1)[k - 1] + error
    chosen = np.flatnonzero(scores <= limit + error)
    sq_distances = np.concatenate([nearest.sq_distances, *_measure(query, values, chosen)])
    # Stable, and rows come in the order of their ids: ties go by id.
    order = np.argsort(sq_distances, kind="stable")[:k]
    return _Nearest(sq_distances[order], np.concatenate([nearest.ids, first + chosen])[order])


def _measure(query: Float64Array, values: AnyArray, chosen: IntpArray) -> Iterator[Float64Array]:
    """Yield the exact squared distances of a query to chosen rows, some at a time."""
    step = max(1, _MEASURED_BYTES // (8 * len(query)))
    for start in range(0, len(chosen), step):
        difference = values[chosen[start : start + step]] - query
        yield np.einsum("ij,ij->i", difference, difference)


def _bound_errors(queries: Float32Array, rows: Float32Array) -> Float64Array:
    """Return the largest possible error of float32 squared distances, per query.

    Sums of d products in float32 have a relative error of at most d 2⁻²⁴ (Higham, Sec. 3.1), so
    |x|² + |b|² - 2 x·b has one of at most d 2⁻²⁴ (|x| + |b|)². The 8 covers the rounding of the
    vectors and of the three terms; the factor 2 is a margin.
    """
    sq_lengths: Float64Array = np.einsum("ij,ij->i", queries, queries, dtype=np.float64)
    longest = np.sqrt(float(np.einsum("ij,ij->i", rows, rows).max()))
    errors: Float64Array = (
        2 * 2.0**-24 * (queries.shape[1] + 8) * (np.sqrt(sq_lengths) + longest) ** 2
    )
    return errors
