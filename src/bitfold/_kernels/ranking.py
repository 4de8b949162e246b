"""Exact ranking by Hamming distance: one pass of xor and popcount over the distinct codes.

Codes are scanned in the order of their smallest item, and items within a code ascend, so that
ties fall by item without being sorted. ``starts`` and ``members`` list the items of each code;
both are empty when every code has one item, its own number. ``deleted`` marks removed items; it is
empty when there are none. Words stand column by column, ``words[w, c]``: the layout that
vectorizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from bitfold._kernels.hamming import popcount
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
"""Codes looked at together: first, vectorized, whether any is near enough, then which."""

_TILE = 1 << 15
"""Words of codes that all queries see before the next: a core's cache holds them, memory would be
too slow for one query after the other."""


@njit(nogil=True, cache=True)
def distance(words: Words, code: int, query: Words) -> int:
    """Hamming distance of a query to one code."""
    total = 0
    for w in range(words.shape[0]):
        total += popcount(words[w, code] ^ query[w])
    return total


@njit(nogil=True, cache=True)
def places(code: int, starts: UInt32Array) -> tuple[Any, Any]:
    """Return where the items of a code begin and end."""
    if starts.shape[0]:
        return np.int64(starts[code]), np.int64(starts[code + 1])
    return code, code + 1


@njit(nogil=True, cache=True)
def _place(distances: Int32Array, items: Int64Array, filled: int, d: int, item: int) -> int:
    """Insert (d, item) into a sorted list of at most k; return how many it holds."""
    k = distances.shape[0]
    place = filled if filled < k else k - 1
    while place > 0 and (
        distances[place - 1] > d or (distances[place - 1] == d and items[place - 1] > item)
    ):
        distances[place] = distances[place - 1]
        items[place] = items[place - 1]
        place -= 1
    distances[place] = d
    items[place] = item
    return min(filled + 1, k)


@njit(nogil=True, cache=True)
def _offer(
    code: int,
    d: int,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    distances: Int32Array,
    items: Int64Array,
    filled: int,
) -> int:
    """Offer the items of a code; those after the first that is too late are later still."""
    k = distances.shape[0]
    first, last = places(code, starts)
    for e in range(first, last):
        item = np.int64(members[e]) if members.shape[0] else e
        if deleted.shape[0] and deleted[item]:
            continue
        if filled == k and (
            d > distances[k - 1] or (d == distances[k - 1] and item > items[k - 1])
        ):
            break
        filled = _place(distances, items, filled, d, item)
    return filled


@njit(nogil=True, cache=True)
def _seek_1(words: Words, query: Words, start: int, last: int, limit: int) -> int:
    """Return the start of the next chunk with a code of one word within ``limit``.

    The hot loops: nothing but xor, popcount and compare, without a branch, so that they are
    vectorized. One for each width that is common; the general one pays for its buffer.
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
def _seek_2(words: Words, query: Words, start: int, last: int, limit: int) -> int:
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
def _seek_4(words: Words, query: Words, start: int, last: int, limit: int) -> int:
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
def measure(words: Words, i: int, j: int, query: Words, out: Int64Array) -> None:
    """Distances of a query to the codes [i, j), of any width."""
    out[: j - i] = 0
    for w in range(words.shape[0]):
        column, word = words[w, i:j], query[w]
        for c in range(column.shape[0]):
            out[c] += popcount(column[c] ^ word)


@njit(nogil=True, cache=True)
def _seek(words: Words, query: Words, start: int, last: int, limit: int, buffer: Int64Array) -> int:
    """Return the start of the next chunk with a code of any width within ``limit``."""
    n_words = words.shape[0]
    if n_words == 1:
        return _seek_1(words, query, start, last, limit)
    if n_words == 2:
        return _seek_2(words, query, start, last, limit)
    if n_words == 4:
        return _seek_4(words, query, start, last, limit)
    while start < last:
        stop = min(start + _CHUNK, last)
        measure(words, start, stop, query, buffer)
        near = 0
        for i in range(stop - start):
            near += buffer[i] <= limit
        if near:
            break
        start += _CHUNK
    return start


@njit(nogil=True, cache=True)
def _nearest_in(
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
    """Offer a query the codes [first, last); return how many items it has, and what still counts.

    That is the largest distance at which an item of a later code would get in.
    """
    k = distances.shape[0]
    start = _seek(words, query, first, last, limit, buffer)
    while start < last:
        stop = min(start + _CHUNK, last)
        measure(words, start, stop, query, buffer)
        for i in range(stop - start):
            if buffer[i] <= limit:
                c = start + i
                filled = _offer(c, buffer[i], starts, members, deleted, distances, items, filled)
                if filled == k:
                    # A tie gets in only before the last of the list, and items ascend.
                    late = not starts.shape[0] or items[k - 1] <= members[starts[c]]
                    limit = int(distances[k - 1]) - late
        start = _seek(words, query, start + _CHUNK, last, limit, buffer)
    return filled, limit


@njit(nogil=True, cache=True)
def nearest(
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
    """Fill each query's row with the k nearest items of the codes [first, last).

    Rows are sorted by (distance, item); what is missing when there are fewer than k stays as it
    was. k is the width of ``distances``, and small: insertion keeps the list.
    """
    buffer = np.empty(_CHUNK, np.int64)
    filled = np.zeros(queries.shape[0], np.int64)
    limits = np.full(queries.shape[0], 64 * words.shape[0])
    tile = _TILE // words.shape[0] // _CHUNK * _CHUNK
    for begin in range(first, last, tile):
        end = min(begin + tile, last)
        for q in range(queries.shape[0]):
            filled[q], limits[q] = _nearest_in(
                queries[q], words, begin, end, starts, members, deleted,
                distances[q], items[q], filled[q], limits[q], buffer,
            )  # fmt: skip


@njit(nogil=True, cache=True)
def nearest_many(
    queries: Words,
    words: Words,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    distances: Int32Array,
    items: Int64Array,
) -> None:
    """As :func:`nearest` for a k too large to insert: find the radius that holds k, then sort."""
    k = distances.shape[1]
    measured = np.empty(words.shape[1], np.uint16)
    for q in range(queries.shape[0]):
        total = _measure_all(words, queries[q], starts, members, deleted, k, measured)
        keys = np.empty(total[1], np.uint64)
        filled = 0
        for c in range(measured.shape[0]):
            if measured[c] <= total[0]:
                filled = expand(c, measured[c], starts, members, deleted, keys, filled)
        keys.sort()
        for i in range(k):
            distances[q, i] = keys[i] >> np.uint64(48)
            items[q, i] = keys[i] & np.uint64(0xFFFFFFFFFFFF)


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
    """Measure every code; return the smallest radius that holds k items, and how many it holds."""
    counts = np.zeros(64 * words.shape[0] + 1, np.int64)
    buffer = np.empty(_CHUNK, np.int64)
    for start in range(0, words.shape[1], _CHUNK):
        stop = min(start + _CHUNK, words.shape[1])
        measure(words, start, stop, query, buffer)
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
    """Count the items of a code that are there."""
    first, last = places(code, starts)
    if not deleted.shape[0]:
        return last - first
    n_live = 0
    for e in range(first, last):
        item = np.int64(members[e]) if members.shape[0] else e
        n_live += not deleted[item]
    return n_live


@njit(nogil=True, cache=True)
def within(
    queries: Words,
    words: Words,
    radius: int,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    keys: UInt64Array,
    offsets: Int64Array,
) -> int:
    """List the items within ``radius`` of each query, sorted, as keys; return how many.

    A result beyond the length of ``keys`` means that there was no room and it must be called
    again with that much.
    """
    buffer = np.empty(_CHUNK, np.int64)
    last = words.shape[1]
    filled = 0
    for q in range(queries.shape[0]):
        begin = filled
        start = _seek(words, queries[q], 0, last, radius, buffer)
        while start < last:
            stop = min(start + _CHUNK, last)
            measure(words, start, stop, queries[q], buffer)
            for i in range(stop - start):
                if buffer[i] <= radius:
                    c = start + i
                    first, end = places(c, starts)
                    size = end - first
                    if filled + size <= keys.shape[0]:
                        filled = expand(c, buffer[i], starts, members, deleted, keys, filled)
                    else:
                        filled += size
            start = _seek(words, queries[q], start + _CHUNK, last, radius, buffer)
        offsets[q] = filled
        if filled <= keys.shape[0]:
            keys[begin:filled].sort()
    return filled


@njit(nogil=True, cache=True)
def expand(
    code: int,
    d: int,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    keys: UInt64Array,
    filled: int,
) -> int:
    """Append the live items of a code as sortable keys, distance before item."""
    first, last = places(code, starts)
    for e in range(first, last):
        item = np.int64(members[e]) if members.shape[0] else e
        if deleted.shape[0] and deleted[item]:
            continue
        keys[filled] = (np.uint64(d) << np.uint64(48)) | np.uint64(item)
        filled += 1
    return filled
