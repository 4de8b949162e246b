"""Counting items by intervals of a real distance, block by block."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bitfold._threads import map_blocks
from bitfold._types import Float32Array, StepCallback
from bitfold.metrics.histograms import DistanceHistograms
from bitfold.metrics.relevance import QueryGroup, Relevance

N_BINS = 4096
"""Intervals of distance per query."""

_BLOCK_BYTES = 32 << 20
"""Maximum size of the distances that are computed together, in float32."""

_QUERIES_PER_GROUP = 16
"""Number of queries that a thread counts together."""


def items_per_block(n_queries: int, width: int) -> int:
    """Return the number of items of ``width`` floats that are compared with all queries at once."""
    return max(1, _BLOCK_BYTES // (4 * max(n_queries, width)))


def count_by_interval(
    blocks: Iterable[Float32Array],
    relevance: Relevance,
    shape: tuple[int, int],
    on_step: StepCallback,
) -> DistanceHistograms:
    """Count items and relevant items in each interval of distance.

    Each block has one row per query and one column per item, and holds distances in units of an
    interval. Distances beyond the last interval are counted in it. ``shape`` is the number of
    queries and of items.
    """
    n_queries, n_items = shape
    histograms = DistanceHistograms(*np.zeros((2, n_queries, N_BINS), np.int64))
    groups = list(relevance.groups(_QUERIES_PER_GROUP))
    done = 0
    for intervals in blocks:
        _count_block(histograms, intervals, groups, done)
        done += intervals.shape[1]
        on_step(done, n_items)
    return histograms


def _count_block(
    histograms: DistanceHistograms, intervals: Float32Array, groups: list[QueryGroup], first: int
) -> None:
    """Add a block of items to the histograms; ``first`` is the number of its first item."""

    def count(group: QueryGroup) -> None:
        start, stop = np.searchsorted(group.items, (first, first + intervals.shape[1]))
        relevant = group.items[start:stop] - first
        for q in group.queries:
            bins = np.minimum(intervals[q], N_BINS - 1).astype(np.intp)
            histograms.found[q] += np.bincount(bins, minlength=N_BINS)
            histograms.relevant[q] += np.bincount(bins[relevant], minlength=N_BINS)

    for _ in map_blocks(count, groups):
        pass
