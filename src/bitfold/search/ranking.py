"""Exact ranking of a segment: the k nearest items of each query, ties by item."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bitfold._kernels import ranking
from bitfold._threads import map_blocks, n_threads
from bitfold._types import Int32Array, Int64Array, Words
from bitfold.search.segment import Segment

_INSERT_AT_MOST = 256
"""The largest k for which insertion into a sorted list is cheaper than sorting a radius."""

_SPLIT_FROM = 1 << 18
"""Words from which on the codes of a segment are shared out over the cores for one query."""


class Nearest(NamedTuple):
    """Distances and items, (q, k), sorted by both."""

    distances: Int32Array
    items: Int64Array


def nearest(segment: Segment, queries: Words, k: int) -> Nearest:
    """Rank the live items of a segment; k is at most their number."""
    if k > _INSERT_AT_MOST:
        return _by_queries(segment, queries, k)
    if len(queries) < 2 * n_threads() and segment.words.size >= _SPLIT_FROM:
        return _by_codes(segment, queries, k)
    return _by_queries(segment, queries, k)


def _by_queries(segment: Segment, queries: Words, k: int) -> Nearest:
    """Share the queries out over the cores."""
    found = _room(len(queries), k)
    postings = (segment.starts, segment.members, segment.deleted)

    def rank(part: slice) -> None:
        out = (found.distances[part], found.items[part])
        if k > _INSERT_AT_MOST:
            ranking.nearest_many(queries[part], segment.words, *postings, *out)
        else:
            last = segment.n_distinct
            ranking.nearest(queries[part], segment.words, 0, last, *postings, *out)

    step = int(np.clip(len(queries) // (4 * n_threads()), 1, 64))
    parts = [slice(i, i + step) for i in range(0, len(queries), step)]
    work = segment.words.size * len(queries)
    for _ in map(rank, parts) if work < _SPLIT_FROM else map_blocks(rank, parts):
        pass
    return found


def _by_codes(segment: Segment, queries: Words, k: int) -> Nearest:
    """Share the codes out over the cores, for few queries, and merge."""
    edges = np.linspace(0, segment.n_distinct, n_threads() + 1).astype(int)
    # Where a share has fewer than k items, the rest keeps a distance beyond all others.
    beyond = 64 * len(segment.words) + 1

    def rank(share: int) -> Nearest:
        found = _room(len(queries), k)
        found.distances[:], found.items[:] = beyond, np.iinfo(np.int64).max
        ranking.nearest(
            queries,
            segment.words,
            edges[share],
            edges[share + 1],
            segment.starts,
            segment.members,
            segment.deleted,
            *found,
        )
        return found

    return merge(list(map_blocks(rank, range(n_threads()))), k)


def merge(parts: list[Nearest], k: int) -> Nearest:
    """Merge sorted lists into the k first of all, by distance and then item (or id)."""
    if len(parts) == 1:
        return parts[0]
    distances = np.concatenate([part.distances for part in parts], axis=1)
    items = np.concatenate([part.items for part in parts], axis=1)
    order = np.lexsort((items, distances), axis=1)[:, :k]
    return Nearest(
        np.take_along_axis(distances, order, axis=1), np.take_along_axis(items, order, axis=1)
    )


def _room(n_queries: int, k: int) -> Nearest:
    return Nearest(np.empty((n_queries, k), np.int32), np.empty((n_queries, k), np.int64))
