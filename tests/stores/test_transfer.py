"""Copies between indexes and stores."""

from __future__ import annotations

import numpy as np
import pytest

import bitfold as bf
from bitfold.errors import DataError
from bitfold.stores import FaissStore, LanceStore, iter_batches, to_index

CODES = bf.Codes(np.random.default_rng(0).integers(0, 256, (50, 2), np.uint8), 16)


def make_index() -> bf.HammingIndex:
    index = bf.HammingIndex(16)
    index.add(CODES)
    index.remove([3, 30])
    return index


def test_index_to_store_and_back() -> None:
    index, store = make_index(), FaissStore.create(16)
    store.add_batches(iter_batches(index))
    steps: list[tuple[str, int, int]] = []
    copy = to_index(store, lambda *step: steps.append(step))
    found, expected = copy.search(CODES, 48), index.search(CODES, 48)
    assert np.array_equal(found.ids, expected.ids)
    assert np.array_equal(found.distances, expected.distances)
    assert steps == [("reading", 48, 48)]


def test_vectors_are_copied(tmp_path: object) -> None:
    X = np.random.default_rng(1).standard_normal((50, 3)).astype(np.float32)
    store = LanceStore.create(
        f"{tmp_path}/db", "t", 16, n_features=3, batches=iter_batches(make_index(), X)
    )
    assert np.array_equal(store.vectors([7, 49]), X[[7, 49]])


def test_vectors_need_a_row_for_every_id() -> None:
    with pytest.raises(DataError, match="id 40 is outside the 40 rows"):
        list(iter_batches(make_index(), np.zeros((40, 3))))
