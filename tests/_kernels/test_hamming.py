"""Distances counted by kernels against those counted by numpy."""

from __future__ import annotations

import numpy as np
import pytest

from bitfold._kernels.hamming import count

N_PAIRED = 40_000
"""Number of codes in several tiles, the last of which is short; they are counted in pairs."""


@pytest.mark.parametrize("n_codes", [0, 1, 1000, N_PAIRED])
@pytest.mark.parametrize("n_words", [1, 2, 3])
@pytest.mark.parametrize("n_queries", [1, 2, 5])
def test_counts_equal_those_of_numpy(n_codes: int, n_words: int, n_queries: int) -> None:
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**64, (n_words, n_codes), np.uint64)
    queries = rng.integers(0, 2**64, (n_queries, n_words), np.uint64)
    counts = np.zeros((n_queries, 64 * n_words + 1), np.int64)
    count(queries, words, counts)
    for query, counted in zip(queries, counts, strict=True):
        distances = np.bitwise_count(words ^ query[:, None]).sum(axis=0, dtype=np.int64)
        expected = np.bincount(distances, minlength=len(counted))
        np.testing.assert_array_equal(counted, expected)


@pytest.mark.parametrize("n_words", [1, 2])
def test_the_smallest_and_the_largest_distance_are_counted(n_words: int) -> None:
    words = np.zeros((n_words, N_PAIRED), np.uint64)
    queries = np.array([[0] * n_words, [2**64 - 1] * n_words], np.uint64)
    counts = np.zeros((2, 64 * n_words + 1), np.int64)
    count(queries, words, counts)
    assert counts[0, 0] == counts[1, -1] == counts.sum() / 2 == N_PAIRED
