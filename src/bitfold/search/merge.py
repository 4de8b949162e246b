"""Merge the hits of several parts of a database."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bitfold._types import AnyArray, Ids, SignedIntArray
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
    The k nearest items of each query, ties by id.

    Examples
    --------
    >>> near = Hits(np.array([[4, 2]]), np.array([[1, 3]]))
    >>> far = Hits(np.array([[3, 0]]), np.array([[1, 9]]))
    >>> merge_hits([near, far], k=3)
    Hits(ids=array([[3, 4, 2]]), distances=array([[1, 1, 3]]))
    """
    if len(parts) == 1:
        return Hits(parts[0].ids[:, :k], parts[0].distances[:, :k])
    ids = np.concatenate([part.ids for part in parts], axis=1)
    distances = np.concatenate([part.distances for part in parts], axis=1)
    return Hits(*sort_rows(ids, distances, k))


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
