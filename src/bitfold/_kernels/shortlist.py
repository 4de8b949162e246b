"""Approximate nearest base points, for large base sets.

The base points are divided into lists around centers. A row scores only the members of the lists
whose centers are closest to it, and only along a few directions; the members with the best scores
are measured exactly. All sums have a fixed order, so that the result is a function of the row
alone, as in ``nearest``. It may miss some of the nearest base points.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from bitfold._kernels.fixed_order import N_COLUMNS, dot, lane_scores, sq_distance
from bitfold._kernels.hamming import lowest_bit
from bitfold._kernels.induction import MAX_SQ_LENGTH, sq_distance_in_double
from bitfold._kernels.sorted_list import insert
from bitfold._types import BoolArray, Float32Array, Float64Array, Int32Array, Int64Array

LANES = N_COLUMNS
"""Number of members per block, which are scored together."""


_ONE = np.uint64(1)

_NO_MEMBER = np.iinfo(np.int64).max
"""Fills short lists: it is above all keys, and its member is -1."""


@njit(nogil=True, cache=True)
def _swap_order(bits: Any) -> Any:
    """Turn the bits of a float into an integer of the same order, or back."""
    return np.int64(bits) ^ (np.int64(0x7FFFFFFF) if bits < 0 else np.int64(0))


@njit(nogil=True, cache=True)
def _insert_key(keys: Int64Array, key: int) -> None:
    """Insert into a sorted list and drop its last entry; without a branch that depends on it."""
    position = np.uint64(keys.shape[0] - 1)
    while position > 0:
        before = keys[position - _ONE]
        keys[position] = min(keys[position], max(before, key))
        position -= _ONE
    keys[position] = min(keys[position], key)


@njit(nogil=True, cache=True)
def _score_members(
    projected: Float32Array,
    closest: Int32Array,
    chosen: BoolArray,
    members: Float32Array,
    sq_norms: Float32Array,
    order: Int32Array,
    starts: Int64Array,
    kept: Int64Array,
) -> None:
    """Fill the short list of each row with the best-scored members of its chosen lists.

    Scores are |b|² minus twice the inner product along the directions. The closest list comes
    first, so that few later members are inserted. Then each list is scored for all rows that chose
    it, while it is in the cache. The entries are keys, the score above the number of the member:
    moving one number takes half as long as moving two.
    """
    n, last = kept.shape[0], kept.shape[1] - 1
    kept[:] = _NO_MEMBER
    limits = np.full(n, np.inf, np.float32)
    scores = np.empty(LANES, np.float32)
    bits, limit_bits = scores.view(np.int32), limits.view(np.int32)
    for part in range(-1, len(starts) - 1):
        for i in range(n):
            own = closest[i] if part < 0 else part
            if part >= 0 and (part == closest[i] or not chosen[i, part]):
                continue
            for b in range(starts[own], starts[own + 1]):
                better = lane_scores(projected[i], members[b], sq_norms[b], limits[i], scores)
                if not better:
                    continue
                keys = kept[i]
                while better:
                    t = lowest_bit(better)
                    better &= better - _ONE
                    key = _swap_order(bits[t]) << 32 | np.int64(order[b, t])
                    if key < keys[last]:
                        _insert_key(keys, key)
                if keys[last] < _NO_MEMBER:
                    limit_bits[i] = _swap_order(keys[last] >> 32)


@njit(nogil=True, cache=True)
def _choose_lists(
    scores: Float32Array,
    sq_norms: Float32Array,
    reach: float,
    closest: Int32Array,
    chosen: BoolArray,
) -> None:
    """Choose the lists within ``reach`` of the closest; overwrite the products in ``scores``."""
    for i in range(len(scores)):
        row = scores[i]
        lowest = np.float32(np.inf)
        for j in range(len(row)):
            row[j] = sq_norms[j] - np.float32(2) * row[j]
            lowest = row[j] if row[j] < lowest else lowest
        limit = lowest + np.float32(reach)
        for j in range(len(row)):
            chosen[i, j] = row[j] <= limit
        closest[i] = np.argmin(row)


@njit(nogil=True, cache=True)
def nearest_of_some(
    rows: Float32Array,
    projected: Float32Array,
    center_products: Float32Array,
    center_sq_norms: Float32Array,
    reach: float,
    members: Float32Array,
    sq_norms: Float32Array,
    order: Int32Array,
    starts: Int64Array,
    n_kept: int,
    base: Float32Array,
    indices: Int32Array,
    sq_distances: Float64Array,
) -> None:
    """Find the k nearest base points of each row among its candidates, nearest first.

    ``projected`` are the rows along the directions. ``center_products`` are their products with
    the centers of the lists and are overwritten. The lists whose squared distance exceeds that of
    the closest by at most ``reach`` are searched. ``members`` are the base points along the
    directions, in blocks of ``LANES``, with their ``sq_norms`` (infinite for padding) and indices,
    ``order``; ``starts`` are the first blocks of the lists. ``n_kept`` candidates are measured
    exactly.
    """
    n, k = indices.shape
    kept = np.empty((n, n_kept), np.int64)
    closest, chosen = np.empty(n, np.int32), np.empty(center_products.shape, np.bool_)
    _choose_lists(center_products, center_sq_norms, reach, closest, chosen)
    _score_members(projected, closest, chosen, members, sq_norms, order, starts, kept)
    largest = 0.0
    for b in range(len(sq_norms)):
        for t in range(LANES):
            if order[b, t] >= 0:
                largest = max(largest, sq_norms[b, t])
    for i in range(n):
        # If a row is too far for float32, or its lists have fewer than k members, measure all.
        is_far = not dot(rows[i], rows[i]) + largest < MAX_SQ_LENGTH
        measure_all = is_far or kept[i, k - 1] == _NO_MEMBER
        filled = 0
        for c in range(len(base) if measure_all else n_kept):
            j = c if measure_all else np.int64(np.int32(kept[i, c]))
            if j < 0:
                break
            x = rows[i]
            distance = sq_distance_in_double(x, base[j]) if is_far else sq_distance(x, base[j])
            filled = insert(sq_distances[i], indices[i], filled, distance, j)
