"""Merge the hits of several parts of a database."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bitfold._kernels import merging
from bitfold._types import AnyArray, Ids, Int64Array, SignedIntArray
from bitfold.search.results import Hits, RadiusHits


def merge_hits(parts: Sequence[Hits], k: int) -> Hits:
    """Merge the nearest items of several parts into the k nearest of all.

    Parameters
    ----------
    parts
        Hits of the same queries in parts that share no ids; at least one.
    k
        Number of items per query. All are returned if there are fewer.

    Returns
    -------
    The k nearest items of each query, ties by id. ``n_tied`` is None if a part does not have it.

    Examples
    --------
    >>> near = Hits(np.array([[4, 2]]), np.array([[1, 3]]), n_tied=np.array([5]))
    >>> far = Hits(np.array([[3, 0]]), np.array([[1, 9]]), n_tied=np.array([1]))
    >>> hits = merge_hits([near, far], k=3)
    >>> hits.ids.tolist(), hits.distances.tolist(), hits.n_tied.tolist()
    ([[3, 4, 2]], [[1, 1, 3]], [5])
    """
    ids, distances = parts[0].ids[:, :k], parts[0].distances[:, :k]
    for part in parts[1:]:
        ids, distances = _merge_rows(ids, distances, part, k)
    return Hits(ids, distances, _add_ties(parts, distances[:, -1:]))


def _merge_rows(ids: Ids, distances: AnyArray, part: Hits, k: int) -> tuple[Ids, AnyArray]:
    """Return the k nearest of sorted rows and of another part."""
    shape = len(ids), min(k, ids.shape[1] + part.ids.shape[1])
    dtype = np.result_type(distances, part.distances)
    merged = np.empty(shape, np.int64), np.empty(shape, dtype)
    rows = map(np.ascontiguousarray, (ids, distances, part.ids, part.distances))
    merging.merge_rows(*rows, *merged)
    return merged


def _add_ties(parts: Sequence[Hits], last: AnyArray) -> Int64Array | None:
    """Return the number of items at the last distance of each query; None if a part lacks it."""
    total = np.zeros(len(last), np.int64)
    for part in parts:
        if part.n_tied is None:
            return None
        # A part that ends at another distance has all its items at the last distance in the row.
        counts = np.count_nonzero(part.distances == last, axis=1)
        ends_there = (part.distances[:, -1:] == last).any(axis=1)
        total += np.where(ends_there, part.n_tied, counts)
    return total


def sort_rows(ids: Ids, distances: AnyArray, k: int) -> tuple[Ids, AnyArray]:
    """Sort each row by distance, ties by id; return the first k columns of both arrays."""
    order = np.lexsort((ids, distances), axis=1)[:, :k]
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(distances, order, axis=1)


def merge_radius_hits(parts: Sequence[RadiusHits], n_queries: int) -> RadiusHits:
    """Merge the items that several parts found within a radius.

    Parameters
    ----------
    parts
        Hits of the same queries in parts that share no ids; may be empty.
    n_queries
        Number of queries.

    Returns
    -------
    The items of each query in all parts, sorted by distance, ties by id.

    Examples
    --------
    >>> near = RadiusHits(np.array([0, 1]), np.array([4]), np.array([1]))
    >>> far = RadiusHits(np.array([0, 1]), np.array([3]), np.array([1]))
    >>> merge_radius_hits([near, far], n_queries=1).ids.tolist()
    [3, 4]
    """
    if len(parts) == 1:
        return parts[0]
    queries = [np.repeat(np.arange(n_queries), np.diff(part.offsets)) for part in parts]
    return group_radius_hits(
        np.concatenate([np.empty(0, np.int64), *queries]),
        np.concatenate([np.empty(0, np.int64), *(part.ids for part in parts)]),
        np.concatenate([np.empty(0, np.int32), *(part.distances for part in parts)]),
        n_queries,
    )


def group_radius_hits(
    queries: SignedIntArray, ids: Ids, distances: AnyArray, n_queries: int
) -> RadiusHits:
    """Group items by query.

    Parameters
    ----------
    queries
        Number of the query of each item, in any order.
    ids
        Ids of the items.
    distances
        Their distances.
    n_queries
        Number of queries.

    Returns
    -------
    The items of each query, sorted by distance, ties by id.

    Examples
    --------
    >>> hits = group_radius_hits(
    ...     np.array([1, 0, 1]), np.array([5, 6, 7]), np.array([2, 0, 1]), n_queries=2
    ... )
    >>> hits.offsets.tolist(), hits.ids.tolist()
    ([0, 1, 3], [6, 7, 5])
    """
    order = np.lexsort((ids, distances, queries))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(queries, minlength=n_queries))])
    return RadiusHits(
        offsets.astype(np.int64),
        ids[order].astype(np.int64, copy=False),
        distances[order].astype(np.int32, copy=False),
    )
