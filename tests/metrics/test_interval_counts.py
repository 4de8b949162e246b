"""Counts by interval of distance, compared with one histogram per query."""

from __future__ import annotations

import numpy as np

from bitfold._progress import ignore_step
from bitfold.metrics import Relevance
from bitfold.metrics.interval_counts import N_BINS, count_by_interval, items_per_block


def test_counts_do_not_depend_on_the_blocks() -> None:
    rng = np.random.default_rng(0)
    intervals = (rng.random((40, 300)) * 1.5 * N_BINS).astype(np.float32)
    labels = rng.integers(0, 3, 300)
    relevance = Relevance.from_labels(labels[:40], labels)
    bins = np.minimum(intervals, N_BINS - 1).astype(int)  # the last one has all that are farther
    for step in (1, 7, 300):
        blocks = (intervals[:, i : i + step] for i in range(0, 300, step))
        found, relevant = count_by_interval(blocks, relevance, (40, 300), ignore_step)
        for q in range(40):
            is_relevant = labels == labels[q]
            assert np.array_equal(found[q], np.bincount(bins[q], minlength=N_BINS))
            expected = np.bincount(bins[q, is_relevant], minlength=N_BINS)
            assert np.array_equal(relevant[q], expected)


def test_blocks_are_bounded() -> None:
    assert items_per_block(1000, 64) * 1000 * 4 <= 32 << 20
    assert items_per_block(10, 1 << 30) == 1
