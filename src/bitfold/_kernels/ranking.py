"""Exact ranking by Hamming distance: one pass of xor and popcount over the distinct codes.

Codes are scanned in the order of their smallest item, and the items of a code are ascending, so
ties go by item without sorting. ``starts`` and ``members`` list the items of each code; both are
empty if every code has one item, which then has the code's number. ``deleted`` marks deleted
items; it is empty if there are none. Words are stored column by column, ``words[w, c]``, the
layout that vectorizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from bitfold._kernels.hamming import popcount
from bitfold._kernels.keys import distance_of, item_of, pack_key
from bitfold._types import (
    BoolArray,
    Int32Array,
    Int64Array,
    UInt16Array,
    UInt32Array,
    UInt64Array,
    Words,
)

_CHUNK = 256
"""Number of codes scanned together: a vectorized loop finds whether any is near enough."""

_TILE = 1 << 15
"""Number of words that all queries scan before the next tile, so that they stay in the cache of a
core."""


@njit(nogil=True, cache=True)
def measure_code(words: Words, code: int, query: Words) -> int:
    """Return the Hamming distance of a query to one code."""
    total = 0
    for w in range(words.shape[0]):
        total += popcount(words[w, code] ^ query[w])
    return total


@njit(nogil=True, cache=True)
def member_range(code: int, starts: UInt32Array) -> tuple[Any, Any]:
    """Return the range of a code's items in ``members``."""
    if starts.shape[0]:
        return np.int64(starts[code]), np.int64(starts[code + 1])
    return code, code + 1


@njit(nogil=True, cache=True)
def _insert(distances: Int32Array, items: Int64Array, filled: int, d: int, item: int) -> int:
    """Insert (d, item) into a sorted list of at most k entries; return its new length."""
    k = distances.shape[0]
    position = filled if filled < k else k - 1
    while position > 0 and (
        distances[position - 1] > d or (distances[position - 1] == d and items[position - 1] > item)
    ):
        distances[position] = distances[position - 1]
        items[position] = items[position - 1]
        position -= 1
    distances[position] = d
    items[position] = item
    return min(filled + 1, k)


@njit(nogil=True, cache=True)
def _insert_items(
    code: int,
    d: int,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    distances: Int32Array,
    items: Int64Array,
    filled: int,
) -> int:
    """Insert the items of a code until one is beyond the list; the later ones are as well."""
    k = distances.shape[0]
    first, last = member_range(code, starts)
    for e in range(first, last):
        item = np.int64(members[e]) if members.shape[0] else e
        if deleted.shape[0] and deleted[item]:
            continue
        if filled == k and (
            d > distances[k - 1] or (d == distances[k - 1] and item > items[k - 1])
        ):
            break
        filled = _insert(distances, items, filled, d, item)
    return filled


@njit(nogil=True, cache=True)
def _find_chunk_1(words: Words, query: Words, start: int, last: int, limit: int) -> int:
    """Return the start of the next chunk with a code of one word within ``limit``.

    These are the hot loops: xor, popcount and compare without a branch, so that they are
    vectorized. Common widths have their own loop; the general loop needs a buffer.
    """
    p = query[0]
    while start < last:
        a = words[0, start : min(start + _CHUNK, last)]
        near = 0
        for i in range(a.shape[0]):
            near += popcount(a[i] ^ p) <= limit
        if near:
            break
        start += _CHUNK
    return start


@njit(nogil=True, cache=True)
def _find_chunk_2(words: Words, query: Words, start: int, last: int, limit: int) -> int:
    """Return the start of the next chunk with a code of two words within ``limit``."""
    p, q = query[0], query[1]
    while start < last:
        stop = min(start + _CHUNK, last)
        a, b = words[0, start:stop], words[1, start:stop]
        near = 0
        for i in range(a.shape[0]):
            near += popcount(a[i] ^ p) + popcount(b[i] ^ q) <= limit
        if near:
            break
        start += _CHUNK
    return start


@njit(nogil=True, cache=True)
def _find_chunk_4(words: Words, query: Words, start: int, last: int, limit: int) -> int:
    """Return the start of the next chunk with a code of four words within ``limit``."""
    p, q, r, s = query[0], query[1], query[2], query[3]
    while start < last:
        stop = min(start + _CHUNK, last)
        a, b = words[0, start:stop], words[1, start:stop]
        c, d = words[2, start:stop], words[3, start:stop]
        near = 0
        for i in range(a.shape[0]):
            front = popcount(a[i] ^ p) + popcount(b[i] ^ q)
            near += front + popcount(c[i] ^ r) + popcount(d[i] ^ s) <= limit
        if near:
            break
        start += _CHUNK
    return start


@njit(nogil=True, cache=True)
def measure_codes(words: Words, i: int, j: int, query: Words, out: Int64Array) -> None:
    """Write the distances of a query to the codes [i, j) of any width to ``out``."""
    out[: j - i] = 0
    for w in range(words.shape[0]):
        column, word = words[w, i:j], query[w]
        for c in range(column.shape[0]):
            out[c] += popcount(column[c] ^ word)


@njit(nogil=True, cache=True)
def _find_chunk(
    words: Words, query: Words, start: int, last: int, limit: int, buffer: Int64Array
) -> int:
    """Return the start of the next chunk with a code of any width within ``limit``."""
    n_words = words.shape[0]
    if n_words == 1:
        return _find_chunk_1(words, query, start, last, limit)
    if n_words == 2:
        return _find_chunk_2(words, query, start, last, limit)
    if n_words == 4:
        return _find_chunk_4(words, query, start, last, limit)
    while start < last:
        stop = min(start + _CHUNK, last)
        measure_codes(words, start, stop, query, buffer)
        near = 0
        for i in range(stop - start):
            near += buffer[i] <= limit
        if near:
            break
        start += _CHUNK
    return start


@njit(nogil=True, cache=True)
def _rank_tile(
    query: Words,
    words: Words,
    first: int,
    last: int,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    distances: Int32Array,
    items: Int64Array,
    filled: int,
    limit: int,
    buffer: Int64Array,
) -> tuple[int, int]:
    """Insert the codes [first, last) into the list of a query.

    Return the length of the list, and the largest distance at which an item of a later code
    would still be inserted.
    """
    k = distances.shape[0]
    start = _find_chunk(words, query, first, last, limit, buffer)
    while start < last:
        stop = min(start + _CHUNK, last)
        measure_codes(words, start, stop, query, buffer)
        for i in range(stop - start):
            if buffer[i] <= limit:
                c = start + i
                filled = _insert_items(
                    c, buffer[i], starts, members, deleted, distances, items, filled
                )
                if filled == k:
                    # A tie is inserted only before the last entry, and items are ascending.
                    is_late = not starts.shape[0] or items[k - 1] <= members[starts[c]]
                    limit = int(distances[k - 1]) - is_late
        start = _find_chunk(words, query, start + _CHUNK, last, limit, buffer)
    return filled, limit


@njit(nogil=True, cache=True)
def rank_by_insertion(
    queries: Words,
    words: Words,
    first: int,
    last: int,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    distances: Int32Array,
    items: Int64Array,
) -> None:
    """Write the k nearest items of the codes [first, last) to the row of each query.

    Rows are sorted by distance, then item. If there are fewer than k items, the rest of the row
    is unchanged. k is the number of columns of ``distances`` and should be small.
    """
    buffer = np.empty(_CHUNK, np.int64)
    filled = np.zeros(queries.shape[0], np.int64)
    limits = np.full(queries.shape[0], 64 * words.shape[0])
    tile = _TILE // words.shape[0] // _CHUNK * _CHUNK
    for begin in range(first, last, tile):
        end = min(begin + tile, last)
        for q in range(queries.shape[0]):
            filled[q], limits[q] = _rank_tile(
                queries[q], words, begin, end, starts, members, deleted,
                distances[q], items[q], filled[q], limits[q], buffer,
            )  # fmt: skip


@njit(nogil=True, cache=True)
def rank_by_sorting(
    queries: Words,
    words: Words,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    distances: Int32Array,
    items: Int64Array,
) -> None:
    """Rank like :func:`rank_by_insertion`, for large k: sort a radius that has k items."""
    k = distances.shape[1]
    measured = np.empty(words.shape[1], np.uint16)
    for q in range(queries.shape[0]):
        radius, n_items = _measure_all(words, queries[q], starts, members, deleted, k, measured)
        keys = np.empty(n_items, np.uint64)
        filled = 0
        for c in range(measured.shape[0]):
            if measured[c] <= radius:
                filled = append_keys(c, measured[c], starts, members, deleted, keys, filled)
        keys.sort()
        for i in range(k):
            distances[q, i] = distance_of(keys[i])
            items[q, i] = item_of(keys[i])


@njit(nogil=True, cache=True)
def _measure_all(
    words: Words,
    query: Words,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    k: int,
    measured: UInt16Array,
) -> tuple[int, int]:
    """Measure all codes; return the smallest radius with k items, and its number of items."""
    counts = np.zeros(64 * words.shape[0] + 1, np.int64)
    buffer = np.empty(_CHUNK, np.int64)
    for start in range(0, words.shape[1], _CHUNK):
        stop = min(start + _CHUNK, words.shape[1])
        measure_codes(words, start, stop, query, buffer)
        for i in range(stop - start):
            measured[start + i] = buffer[i]
            counts[buffer[i]] += _count_live(start + i, starts, members, deleted)
    radius, total = 0, counts[0]
    while total < k and radius + 1 < counts.shape[0]:
        radius += 1
        total += counts[radius]
    return radius, total


@njit(nogil=True, cache=True)
def _count_live(code: int, starts: UInt32Array, members: UInt32Array, deleted: BoolArray) -> int:
    """Return the number of live items of a code."""
    first, last = member_range(code, starts)
    if not deleted.shape[0]:
        return last - first
    n_live = 0
    for e in range(first, last):
        item = np.int64(members[e]) if members.shape[0] else e
        n_live += not deleted[item]
    return n_live


@njit(nogil=True, cache=True)
def scan_within(
    queries: Words,
    words: Words,
    radius: int,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    keys: UInt64Array,
    ends: Int64Array,
) -> int:
    """Write the sorted keys of all items within ``radius`` of each query; return their number.

    ``ends`` receives the position where the keys of each query end. If the result is larger than
    the length of ``keys``, the keys are incomplete: call again with an array of that length.
    """
    buffer = np.empty(_CHUNK, np.int64)
    last = words.shape[1]
    filled = 0
    for q in range(queries.shape[0]):
        begin = filled
        start = _find_chunk(words, queries[q], 0, last, radius, buffer)
        while start < last:
            stop = min(start + _CHUNK, last)
            measure_codes(words, start, stop, queries[q], buffer)
            for i in range(stop - start):
                if buffer[i] <= radius:
                    c = start + i
                    first, end = member_range(c, starts)
                    size = end - first
                    if filled + size <= keys.shape[0]:
                        filled = append_keys(c, buffer[i], starts, members, deleted, keys, filled)
                    else:
                        filled += size
            start = _find_chunk(words, queries[q], start + _CHUNK, last, radius, buffer)
        ends[q] = filled
        if filled <= keys.shape[0]:
            keys[begin:filled].sort()
    return filled


@njit(nogil=True, cache=True)
def append_keys(
    code: int,
    d: int,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    keys: UInt64Array,
    filled: int,
) -> int:
    """Append the keys of the live items of a code; return the new number of keys."""
    first, last = member_range(code, starts)
    for e in range(first, last):
        item = np.int64(members[e]) if members.shape[0] else e
        if deleted.shape[0] and deleted[item]:
            continue
        keys[filled] = pack_key(d, item)
        filled += 1
    return filled
