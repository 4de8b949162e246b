"""Short lists sorted by distance, filled by insertion."""

from __future__ import annotations

from numba import njit

from bitfold._kernels.postings import count_live_from, live_item, member_range
from bitfold._types import AnyArray, BoolArray, Int64Array, UInt32Array


@njit(nogil=True, cache=True)
def insert(distances: AnyArray, items: AnyArray, filled: int, distance: float, item: int) -> int:
    """Insert into a list sorted by distance and item, if there is space; return its length."""
    position = filled
    while position > 0 and (
        distances[position - 1] > distance
        or (distances[position - 1] == distance and items[position - 1] > item)
    ):
        if position < len(distances):
            distances[position] = distances[position - 1]
            items[position] = items[position - 1]
        position -= 1
    if position < len(distances):
        distances[position] = distance
        items[position] = item
    return min(filled + 1, len(distances))


@njit(nogil=True, cache=True)
def _count_last(distances: AnyArray) -> int:
    """Return the number of distances that equal the last one."""
    k = distances.shape[0]
    n = 1
    while n < k and distances[k - 1 - n] == distances[k - 1]:
        n += 1
    return n


@njit(nogil=True, cache=True)
def insert_items(
    code: int,
    d: float,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    distances: AnyArray,
    items: Int64Array,
    filled: int,
    n_tied: int,
) -> tuple[int, int]:
    """Insert the items of a code at distance ``d``.

    Return the length of the list, and the number of items so far whose distance is the last of
    the list, inserted or not. The number is 0 until the list is full.
    """
    k = distances.shape[0]
    first, last = member_range(code, starts)
    for e in range(first, last):
        item = live_item(e, members, deleted)
        if item < 0:
            continue
        was_full, farthest = filled == k, distances[k - 1]
        if was_full and (d > farthest or (d == farthest and item > items[k - 1])):
            # Items are ascending, so the later ones are beyond the list as well.
            if d == farthest:
                n_tied += count_live_from(e, last, members, deleted)
            break
        filled = insert(distances, items, filled, d, item)
        if was_full and distances[k - 1] == farthest:
            n_tied += d == farthest
        elif filled == k:
            # Only items at the former last distance have been dropped so far.
            n_tied = _count_last(distances)
    return filled, n_tied
