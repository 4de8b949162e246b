"""Exact ranking of a segment: the k nearest items of each query, ties by id."""

from __future__ import annotations

from typing import Any

import numpy as np

from bitfold._progress import track
from bitfold._threads import count_threads, map_blocks
from bitfold.search.ids import MAX_ID
from bitfold.search.merge import merge_hits
from bitfold.search.queries import Queries
from bitfold.search.results import Hits
from bitfold.search.segment import Segment

_MAX_K_BY_INSERTION = 50
"""Largest k for which insertion into a sorted list is faster than counting distances."""

_MAX_K_PER_THREAD = 1 << 16
"""Maximum number of results of the queries that a thread ranks together: the buffers of a thread
have a few times as many entries."""

_MIN_WORDS_FOR_THREADS = 1 << 18
"""Number of words to scan from which the work is split over threads."""


def rank_segment(segment: Segment, queries: Queries, k: int) -> Hits:
    """Return the k nearest live items of each query; k is at most their number."""
    few_queries = len(queries) < 2 * count_threads()
    if few_queries and segment.words.size >= _MIN_WORDS_FOR_THREADS:
        found = _split_codes(segment, queries, k)
    else:
        found = _split_queries(segment, queries, k)
    return found._replace(ids=segment.ids_of(found.ids))


def _choose_kernel(queries: Queries, k: int) -> Any:
    """Return the kernel that is faster for k results."""
    return queries.rank_by_insertion if k <= _MAX_K_BY_INSERTION else queries.rank_by_counting


def _split_queries(segment: Segment, queries: Queries, k: int) -> Hits:
    """Rank with the queries split over the threads; the ids are item numbers."""
    shape = (len(queries), k)
    items, distances = np.empty(shape, np.int64), np.empty(shape, queries.too_far.dtype)
    n_tied = np.zeros(len(queries), np.int64)

    def rank(part: slice) -> None:
        out = (distances[part], items[part], n_tied[part])
        codes = (segment.words, 0, segment.n_distinct, *segment.postings)
        kernel(*queries.part(part), *codes, *out)

    kernel = _choose_kernel(queries, k)
    step = int(np.clip(len(queries) // (2 * count_threads()), 1, 64))
    step = min(step, max(1, _MAX_K_PER_THREAD // k))
    parts = [slice(i, i + step) for i in range(0, len(queries), step)]
    n_words = segment.words.size * len(queries)
    is_short = n_words < _MIN_WORDS_FOR_THREADS
    ranked = map(rank, parts) if is_short else track(map_blocks(rank, parts), "search", len(parts))
    for _ in ranked:
        pass
    return Hits(items, distances, n_tied)


def _split_codes(segment: Segment, queries: Queries, k: int) -> Hits:
    """Rank with the codes split over the threads, and merge; the ids are item numbers."""
    edges = np.linspace(0, segment.n_distinct, count_threads() + 1).astype(int)
    shape, arrays = (len(queries), k), queries.part(slice(None))
    kernel = _choose_kernel(queries, k)

    def rank(part: int) -> Hits:
        # A part with fewer than k items leaves the rest of its rows farther than any code.
        items, distances = np.full(shape, MAX_ID), np.full(shape, queries.too_far)
        n_tied = np.zeros(len(queries), np.int64)
        codes = (segment.words, edges[part], edges[part + 1], *segment.postings)
        kernel(*arrays, *codes, distances, items, n_tied)
        return Hits(items, distances, n_tied)

    return merge_hits(list(map_blocks(rank, range(count_threads()))), k)
