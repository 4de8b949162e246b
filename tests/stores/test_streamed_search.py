"""Search over batches equals search in one index."""

from __future__ import annotations

import numpy as np

import bitfold as bf
from bitfold.stores import Batch
from bitfold.stores.streamed_search import search_batches, search_batches_within

RNG = np.random.default_rng(0)
CODES = bf.Codes(RNG.integers(0, 4, (300, 1), np.uint8), 8)
IDS = RNG.permutation(300)
BATCHES = [Batch(IDS[i : i + 70], CODES[i : i + 70]) for i in range(0, 300, 70)]


def test_results_match_one_index() -> None:
    index = bf.HammingIndex(8)
    index.add(CODES, ids=IDS)
    for k in (1, 40, 300, 1000):
        found, expected = search_batches(BATCHES, CODES[:5], k), index.search(CODES[:5], k)
        assert np.array_equal(found.ids, expected.ids)
        assert np.array_equal(found.distances, expected.distances)
        assert found.n_tied is not None and expected.n_tied is not None
        assert np.array_equal(found.n_tied, expected.n_tied)
    near, inside = search_batches_within(BATCHES, CODES[:5], 1), index.within(CODES[:5], 1)
    assert np.array_equal(near.offsets, inside.offsets)
    assert np.array_equal(near.ids, inside.ids)


def test_no_batches_and_empty_batches() -> None:
    for batches in ([], [Batch(IDS[:0], CODES[:0])]):
        assert search_batches(batches, CODES[:2], 3).ids.shape == (2, 0)
        assert search_batches_within(batches, CODES[:2], 3).offsets.tolist() == [0, 0, 0]
