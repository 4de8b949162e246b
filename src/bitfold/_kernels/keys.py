"""Sort keys: a distance and an item in one 64-bit integer, ordered by distance, then item."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.extending import register_jitable

from bitfold._types import Int32Array, Int64Array, UInt64Array

_ITEM_BITS = np.uint64(48)
_ITEM_MASK = np.uint64((1 << 48) - 1)


@register_jitable
def pack_key(distance: int, item: int) -> Any:
    """Return the key of a distance and an item."""
    return (np.uint64(distance) << _ITEM_BITS) | np.uint64(item)


@register_jitable
def distance_of(key: Any) -> Any:
    """Return the distance in a key, or in each key of an array."""
    return key >> _ITEM_BITS


@register_jitable
def item_of(key: Any) -> Any:
    """Return the item in a key, or in each key of an array."""
    return key & _ITEM_MASK


@njit(nogil=True, cache=True)
def write_keys(
    keys: UInt64Array, ids: Int64Array, shift: int, distances: Int32Array, out: Int64Array
) -> None:
    """Write the distances and ids of keys; without ``ids``, these are items plus ``shift``."""
    for i in range(keys.shape[0]):
        item = item_of(keys[i])
        distances[i] = distance_of(keys[i])
        out[i] = ids[item] if ids.shape[0] else np.int64(item) + shift


def unpack_keys(keys: UInt64Array) -> tuple[Int32Array, Int64Array]:
    """Return the distances and the items of keys."""
    distances, items = np.empty(len(keys), np.int32), np.empty(len(keys), np.int64)
    write_keys(keys, np.empty(0, np.int64), 0, distances, items)
    return distances, items
