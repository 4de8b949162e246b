"""Keys sort by distance, then item, and can be unpacked."""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._kernels.keys import distance_of, item_of, pack_key, unpack_keys


@njit
def pack_all(distances: np.ndarray, items: np.ndarray) -> np.ndarray:
    keys = np.empty(len(items), np.uint64)
    for i in range(len(items)):
        keys[i] = pack_key(distances[i], items[i])
    return keys


def test_keys_sort_by_distance_then_item() -> None:
    rng = np.random.default_rng(0)
    distances = rng.integers(0, 1025, 500)
    items = np.concatenate([rng.integers(0, 1 << 31, 498), [0, (1 << 48) - 1]])
    keys = pack_all(distances, items)
    np.testing.assert_array_equal(np.argsort(keys, kind="stable"), np.lexsort((items, distances)))
    for found, expected in zip(unpack_keys(keys), (distances, items), strict=True):
        np.testing.assert_array_equal(found, expected)
    key = pack_key(3, 5)
    assert (int(distance_of(key)), int(item_of(key))) == (3, 5)
