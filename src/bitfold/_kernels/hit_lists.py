"""Lists of hits: from near codes to the sorted keys of their items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from bitfold._kernels.keys import item_of
from bitfold._kernels.postings import IS_SHARED, CodeItems
from bitfold._kernels.prefetching import prefetch
from bitfold._types import BoolArray, Int64Array, UInt32Array, UInt64Array

_MAX_INSERTED = 64
"""Lists up to this length are sorted by insertion."""

_DIGIT_BITS = 10

_AHEAD = 64
"""Number of codes whose items are loaded ahead, because each is a cache miss."""

_ONE = np.uint64(1)
_DISTANCE_MASK = ~np.uint64((1 << 48) - 1)


@njit(nogil=True, cache=True)
def reserve(keys: UInt64Array, n_keys: Any) -> UInt64Array:
    """Return an array with space for ``n_keys`` that begins with the given keys."""
    if n_keys <= keys.shape[0]:
        return keys
    larger = np.empty(max(n_keys, 2 * keys.shape[0]), np.uint64)
    larger[: keys.shape[0]] = keys
    return larger


@njit(nogil=True, cache=True)
def append_items(
    codes: UInt64Array,
    table: CodeItems,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    keys: UInt64Array,
    filled: int,
) -> tuple[UInt64Array, int]:
    """Append the keys of the live items of some codes, given as keys.

    Return the array, which is larger if there was no space, and the new number of keys. The loops
    call no function, which would take longer than the work itself.
    """
    n, n_keys = codes.shape[0], np.int64(filled)
    firsts, shared = table
    if not starts.shape[0]:
        keys = reserve(keys, n_keys + n)
        for i in range(n):
            keys[filled] = codes[i]
            filled += not deleted.shape[0] or not deleted[item_of(codes[i])]
        return keys, filled
    if firsts.shape[0]:
        keys = reserve(keys, n_keys + n + shared.shape[0])
        for i in range(n):
            prefetch(firsts, np.int64(item_of(codes[min(i + _AHEAD, n - 1)])))
            first, distance = np.uint64(firsts[item_of(codes[i])]), codes[i] & _DISTANCE_MASK
            if first < IS_SHARED:
                keys[filled] = distance | first
                filled += not deleted.shape[0] or not deleted[first]
                continue
            place = first - np.uint64(IS_SHARED)
            # There is space for all items, unless the tables come from a forged file.
            n_shared = min(np.int64(shared[place]), keys.shape[0] - filled - (n - i))
            for e in range(place + _ONE, place + _ONE + np.uint64(max(n_shared, 0))):
                item = np.uint64(shared[e])
                keys[filled] = distance | item
                filled += not deleted.shape[0] or not deleted[item]
        return keys, filled
    for i in range(n):
        code, ahead = item_of(codes[i]), np.int64(item_of(codes[min(i + _AHEAD, n - 1)]))
        prefetch(starts, ahead)
        prefetch(members, np.int64(starts[code]))
        n_keys += np.int64(starts[code + _ONE]) - np.int64(starts[code])
    keys = reserve(keys, n_keys)
    for i in range(n):
        code, distance = item_of(codes[i]), codes[i] & _DISTANCE_MASK
        for e in range(np.uint64(starts[code]), np.uint64(starts[code + _ONE])):
            item = np.uint64(members[e])
            keys[filled] = distance | item
            filled += not deleted.shape[0] or not deleted[item]
    return keys, filled


@njit(nogil=True, cache=True)
def _sort_by_insertion(keys: UInt64Array) -> None:
    for i in range(1, keys.shape[0]):
        key = keys[i]
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key


@njit(nogil=True, cache=True)
def _sort_by_digit(keys: UInt64Array, out: UInt64Array, shift: int, counts: Int64Array) -> None:
    """Sort by the bits from ``shift``, as many as count up to the length of ``counts``; stable."""
    mask = np.uint64(counts.shape[0] - 1)
    counts[:] = 0
    for i in range(keys.shape[0]):
        counts[(keys[i] >> np.uint64(shift)) & mask] += 1
    total = 0
    for digit in range(counts.shape[0]):
        n = counts[digit]
        counts[digit] = total
        total += n
    for i in range(keys.shape[0]):
        digit = (keys[i] >> np.uint64(shift)) & mask
        out[np.uint64(counts[digit])] = keys[i]
        counts[digit] += 1


@njit(nogil=True, cache=True)
def _is_ascending(keys: UInt64Array) -> bool:
    """Return whether the items are ascending."""
    i = 1
    while i < keys.shape[0] and item_of(keys[i - 1]) <= item_of(keys[i]):
        i += 1
    return i >= keys.shape[0]


@njit(nogil=True, cache=True)
def sort_keys(keys: UInt64Array, n_items: int, radius: int) -> None:
    """Sort keys by distance, then item: by insertion if there are few, else digit by digit.

    Items are below ``n_items``, and distances at most ``radius``. A scan finds items of distinct
    codes in ascending order; these are only sorted by distance.
    """
    if keys.shape[0] <= _MAX_INSERTED:
        _sort_by_insertion(keys)
        return
    source, target = keys, np.empty(keys.shape[0], np.uint64)
    if not _is_ascending(keys):
        counts = np.empty(1 << _DIGIT_BITS, np.int64)
        shift = 0
        while n_items >> shift:
            _sort_by_digit(source, target, shift, counts)
            source, target = target, source
            shift += _DIGIT_BITS
    n_bins = 1
    while n_bins <= radius:
        n_bins *= 2
    _sort_by_digit(source, target, 48, np.empty(n_bins, np.int64))
    keys[:] = target
