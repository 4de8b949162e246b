"""Exact ranking of a segment: the k nearest items of each query, ties by id."""

from __future__ import annotations

import numpy as np

from bitfold._kernels import ranking
from bitfold._threads import count_threads, map_blocks
from bitfold._types import Int32Array, Int64Array, Words
from bitfold.search.ids import MAX_ID
from bitfold.search.merge import sort_rows
from bitfold.search.results import Hits
from bitfold.search.segment import Segment

_MAX_K_BY_INSERTION = 256
"""Largest k for which insertion into a sorted list is faster than sorting a radius."""

_MIN_WORDS_FOR_THREADS = 1 << 18
"""Number of words to scan from which the work is split over threads."""


def rank_segment(segment: Segment, queries: Words, k: int) -> Hits:
    """Return the k nearest live items of each query; k is at most their number."""
    few_queries = len(queries) < 2 * count_threads()
    if few_queries and k <= _MAX_K_BY_INSERTION and segment.words.size >= _MIN_WORDS_FOR_THREADS:
        items, distances = _split_codes(segment, queries, k)
    else:
        items, distances = _split_queries(segment, queries, k)
    return Hits(segment.ids_of(items), distances)


def _split_queries(segment: Segment, queries: Words, k: int) -> tuple[Int64Array, Int32Array]:
    """Rank with the queries split over the threads."""
    shape = (len(queries), k)
    items, distances = np.empty(shape, np.int64), np.empty(shape, np.int32)

    def rank(part: slice) -> None:
        out = (distances[part], items[part])
        if k > _MAX_K_BY_INSERTION:
            ranking.rank_by_sorting(queries[part], segment.words, *segment.postings, *out)
        else:
            last = segment.n_distinct
            ranking.rank_by_insertion(
                queries[part], segment.words, 0, last, *segment.postings, *out
            )

    step = int(np.clip(len(queries) // (4 * count_threads()), 1, 64))
    parts = [slice(i, i + step) for i in range(0, len(queries), step)]
    n_words = segment.words.size * len(queries)
    for _ in map(rank, parts) if n_words < _MIN_WORDS_FOR_THREADS else map_blocks(rank, parts):
        pass
    return items, distances


def _split_codes(segment: Segment, queries: Words, k: int) -> tuple[Int64Array, Int32Array]:
    """Rank with the codes split over the threads, and merge."""
    edges = np.linspace(0, segment.n_distinct, count_threads() + 1).astype(int)
    shape = (len(queries), k)
    # A part with fewer than k items leaves the rest of its rows farther than any code.
    too_far = 64 * len(segment.words) + 1

    def rank(part: int) -> tuple[Int64Array, Int32Array]:
        items, distances = np.full(shape, MAX_ID), np.full(shape, too_far, np.int32)
        codes = (segment.words, edges[part], edges[part + 1], *segment.postings)
        ranking.rank_by_insertion(queries, *codes, distances, items)
        return items, distances

    parts = map_blocks(rank, range(count_threads()))
    items, distances = (np.concatenate(column, axis=1) for column in zip(*parts, strict=True))
    return sort_rows(items, distances, k)
