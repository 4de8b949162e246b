"""Exact ranking by Hamming distance for large k: by counts of distances instead of sorted lists.

The items at each distance are counted during the scan. Once there are k items, the counts give the
largest distance that still matters, the limit; it never grows. Items within the limit are appended
to a buffer as keys, and items beyond it are dropped when the buffer is full. The other arguments
are described in ``postings``, ``scan`` and ``ranking``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._kernels.keys import distance_of, item_of, pack_key
from bitfold._kernels.marks import CODES_PER_RUN, find_near, make_buffers, measure_code
from bitfold._kernels.postings import count_live, live_item, member_range
from bitfold._kernels.ranking import TILE
from bitfold._kernels.scan import CHUNK, measure_codes
from bitfold._types import (
    BoolArray,
    Int32Array,
    Int64Array,
    SignedIntArray,
    UInt32Array,
    UInt64Array,
    Words,
)

STRIDE = 64
"""One chunk in this many is in the sample from which the first limit is guessed."""

ROOM = 4
"""Number of entries of the buffer of a query, in units of k, unless there are fewer items."""

_NO_BOUND = (1 << 63) - 1


@njit(nogil=True, cache=True)
def count_needed(k: int, share: float) -> int:
    """Return the number of items in a share of all, within a distance that probably has k items."""
    expected = k * share
    return int(expected + 3 * np.sqrt(expected) + 4)


@njit(nogil=True, cache=True)
def lower_limit(counts: SignedIntArray, total: int, limit: int, k: int) -> tuple[int, int]:
    """Return the number of items within the smallest limit that has k items, and that limit.

    ``total`` is the number of items within the current limit.
    """
    while total - counts[limit] >= k:
        total -= counts[limit]
        limit -= 1
    return total, limit


@njit(nogil=True, cache=True)
def _drop_far_keys(
    keys: UInt64Array, filled: int, limit: int, n_ties: int, is_sorted: bool, ties: UInt64Array
) -> tuple[int, np.int64]:
    """Keep the keys below the limit, and the first ``n_ties`` at the limit.

    ``is_sorted`` says that keys of equal distance are sorted by item; ``ties`` is a buffer. Return
    the number of keys, and the largest item at the limit that can still be among the nearest.
    """
    n_near, n_at_limit = 0, 0
    for i in range(filled):
        d = distance_of(keys[i])
        if d < limit:
            keys[n_near] = keys[i]
            n_near += 1
        elif d == limit:
            ties[n_at_limit] = keys[i]
            n_at_limit += 1
    bound = np.int64(_NO_BOUND)
    if n_at_limit >= n_ties:
        if not is_sorted:
            ties[:n_at_limit].sort()
        n_at_limit = n_ties
        bound = np.int64(item_of(ties[n_ties - 1]))
    keys[n_near : n_near + n_at_limit] = ties[:n_at_limit]
    return n_near + n_at_limit, bound


@njit(nogil=True, cache=True)
def _rank_single_items(
    query: Words,
    words: Words,
    first: int,
    last: int,
    k: int,
    keys: UInt64Array,
    counts: Int64Array,
    filled: int,
    total: int,
    limit: int,
    ties: UInt64Array,
    marks: UInt64Array,
    near: Int64Array,
) -> tuple[int, int, int]:
    """Do what :func:`_rank_tile` does if each code has one item, which has the code's number."""
    for start in range(first, last, CODES_PER_RUN):
        n_near = find_near(words, start, last, query, words.shape[0], limit, marks, near)
        if filled + n_near > keys.shape[0]:
            n_ties = k - (total - counts[limit])
            filled, _ = _drop_far_keys(keys, filled, limit, n_ties, True, ties)
        for i in range(n_near):
            d = measure_code(words, near[i], query, limit)
            keys[filled] = pack_key(d, near[i])
            counts[d] += 1
            filled += 1
        total, limit = lower_limit(counts, total + n_near, limit, k)
    return filled, total, limit


@njit(nogil=True, cache=True)
def _rank_tile(
    query: Words,
    words: Words,
    first: int,
    last: int,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    k: int,
    keys: UInt64Array,
    counts: Int64Array,
    filled: int,
    total: int,
    limit: int,
    bound: int,
    ties: UInt64Array,
    marks: UInt64Array,
    near: Int64Array,
) -> tuple[int, int, int, int]:
    """Count the items of the codes [first, last), and append the keys of those within the limit.

    Return the number of keys, the number of items within the limit, the limit, and the largest
    item at the limit that can still be among the nearest.
    """
    if not starts.shape[0] and not deleted.shape[0]:
        filled, total, limit = _rank_single_items(
            query, words, first, last, k, keys, counts, filled, total, limit, ties, marks, near
        )
        return filled, total, limit, bound
    for start in range(first, last, CODES_PER_RUN):
        for i in range(find_near(words, start, last, query, words.shape[0], limit, marks, near)):
            code = near[i]
            d = measure_code(words, code, query, limit)
            if d > limit:
                continue
            n_live = count_live(code, starts, members, deleted)
            counts[d] += n_live
            old_limit = limit
            total, limit = lower_limit(counts, total + n_live, limit, k)
            if limit < old_limit:
                bound = _NO_BOUND
            if d > limit:
                continue
            begin, end = member_range(code, starts)
            n_appended = 0
            for e in range(begin, end):
                item = live_item(e, members, deleted)
                if item < 0:
                    continue
                if n_appended == k or (d == limit and item > bound):
                    break  # the items of a code are ascending
                if filled == keys.shape[0]:
                    n_ties = k - (total - counts[limit])
                    filled, bound = _drop_far_keys(keys, filled, limit, n_ties, False, ties)
                keys[filled] = pack_key(d, item)
                filled += 1
                n_appended += 1
    return filled, total, limit, bound


@njit(nogil=True, cache=True)
def _guess_limits(
    queries: Words,
    words: Words,
    first: int,
    last: int,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    k: int,
    limits: Int64Array,
) -> None:
    """Set limits that probably have k items, from a sample of the codes."""
    counts = np.zeros((queries.shape[0], 64 * words.shape[0] + 1), np.int64)
    buffer = np.empty(CHUNK, np.int64)
    has_one_item = not starts.shape[0] and not deleted.shape[0]
    for start in range(first, last - CHUNK + 1, CHUNK * STRIDE):
        for q in range(queries.shape[0]):
            measure_codes(words, start, start + CHUNK, queries[q], buffer)
            at = counts[q]
            if has_one_item:
                for i in range(CHUNK):
                    at[np.uint64(buffer[i])] += 1
            else:
                for i in range(CHUNK):
                    at[buffer[i]] += count_live(start + i, starts, members, deleted)
    n_needed = count_needed(k, 1 / STRIDE)
    for q in range(queries.shape[0]):
        limit, total = 0, counts[q, 0]
        while total < n_needed and limit + 1 < counts.shape[1]:
            limit += 1
            total += counts[q, limit]
        limits[q] = limit


@njit(nogil=True, cache=True)
def _write_row(
    keys: UInt64Array, is_sorted: bool, distances: Int32Array, items: Int64Array, n_bins: int
) -> None:
    """Write keys to a row of the result, sorted by distance, then item."""
    if not is_sorted:
        keys.sort()
        for i in range(keys.shape[0]):
            distances[i], items[i] = distance_of(keys[i]), item_of(keys[i])
        return
    # A counting sort: the keys of each distance are already in order.
    ends = np.zeros(n_bins + 1, np.int64)
    for i in range(keys.shape[0]):
        ends[distance_of(keys[i]) + np.uint64(1)] += 1
    for d in range(n_bins):
        ends[d + 1] += ends[d]
    for i in range(keys.shape[0]):
        d = distance_of(keys[i])
        distances[ends[d]], items[ends[d]] = d, item_of(keys[i])
        ends[d] += 1


@njit(nogil=True, cache=True)
def rank_by_counting(
    queries: Words,
    words: Words,
    first: int,
    last: int,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    distances: Int32Array,
    items: Int64Array,
    n_tied: Int64Array,
) -> None:
    """Rank like :func:`ranking.rank_by_insertion`, for large k."""
    n, k = distances.shape
    n_bins = 64 * words.shape[0] + 1
    room = min(ROOM * k, max(members.shape[0], last - first)) + CODES_PER_RUN
    marks, near = make_buffers()
    keys, ties = np.empty((n, room), np.uint64), np.empty(room, np.uint64)
    counts = np.zeros((n, n_bins), np.int64)
    filled, totals = np.zeros(n, np.int64), np.zeros(n, np.int64)
    limits, bounds = np.full(n, n_bins - 1), np.full(n, _NO_BOUND)
    has_one_item = not starts.shape[0] and not deleted.shape[0]
    _guess_limits(queries, words, first, last, starts, members, deleted, k, limits)
    tile = TILE // words.shape[0] // CHUNK * CHUNK
    for begin in range(first, last, tile):
        end = min(begin + tile, last)
        for q in range(n):
            filled[q], totals[q], limits[q], bounds[q] = _rank_tile(
                queries[q], words, begin, end, starts, members, deleted, k, keys[q], counts[q],
                filled[q], totals[q], limits[q], bounds[q], ties, marks, near,
            )  # fmt: skip
            n_needed = count_needed(k, (end - first) / (last - first))
            total, limit = lower_limit(counts[q], totals[q], limits[q], n_needed)
            if limit < limits[q]:
                totals[q], limits[q], bounds[q] = total, limit, _NO_BOUND
    for q in range(n):
        if totals[q] < k and limits[q] < n_bins - 1:  # the guess was too low
            counts[q] = 0
            filled[q], totals[q], limits[q], bounds[q] = 0, 0, n_bins - 1, _NO_BOUND
            for begin in range(first, last, tile):
                end = min(begin + tile, last)
                filled[q], totals[q], limits[q], bounds[q] = _rank_tile(
                    queries[q], words, begin, end, starts, members, deleted, k, keys[q],
                    counts[q], filled[q], totals[q], limits[q], bounds[q], ties, marks, near,
                )  # fmt: skip
        limit = limits[q]
        n_ties = k - (totals[q] - counts[q, limit])
        n_keys, _ = _drop_far_keys(keys[q], filled[q], limit, n_ties, has_one_item, ties)
        _write_row(keys[q, :n_keys], has_one_item, distances[q], items[q], n_bins)
        n_tied[q] = counts[q, limit] if totals[q] >= k else 0
