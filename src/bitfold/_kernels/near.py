"""Codes within a distance of a query, among codes that lie next to each other.

The loops compare without branches, so that they are vectorized: 64 codes give one word of marks,
and only marked codes are looked at again. Crowded codes therefore cost little more than others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from bitfold._kernels.hamming import popcount
from bitfold._kernels.keys import pack_key
from bitfold._kernels.prefetching import prefetch
from bitfold._types import Int64Array, UInt32Array, UInt64Array, Words

LANES = 64
"""Number of codes that are marked together."""

_ONE = np.uint64(1)

_AHEAD = 8
"""Number of ranges that are loaded ahead."""

_WORDS_PER_LINE = 8


@njit(nogil=True, cache=True)
def _mark_one(a: Words, p: Any, limit: int) -> Any:
    """Return a word with a bit per code of one word; it is set if the code is near."""
    marks = np.uint64(0)
    for i in range(LANES):
        marks |= np.uint64(popcount(a[i] ^ p) <= limit) << np.uint64(i)
    return marks


@njit(nogil=True, cache=True)
def _mark_two(a: Words, b: Words, p: Any, q: Any, limit: int) -> Any:
    """Mark the near codes by two words."""
    marks = np.uint64(0)
    for i in range(LANES):
        d = popcount(a[i] ^ p) + popcount(b[i] ^ q)
        marks |= np.uint64(d <= limit) << np.uint64(i)
    return marks


@njit(nogil=True, cache=True)
def _mark_several(
    columns: Words, start: int, query: Words, n_words: int, limit: int, buffer: Int64Array
) -> Any:
    """Mark the near codes by any number of words."""
    buffer[:] = 0
    for w in range(n_words):
        column, word = columns[w, start : start + LANES], query[w]
        for i in range(LANES):
            buffer[i] += popcount(column[i] ^ word)
    marks = np.uint64(0)
    for i in range(LANES):
        marks |= np.uint64(buffer[i] <= limit) << np.uint64(i)
    return marks


@njit(nogil=True, cache=True)
def _lowest(marks: Any) -> Any:
    """Return the position of the lowest bit that is set."""
    return popcount((marks & (~marks + _ONE)) - _ONE)


@njit(nogil=True, cache=True)
def measure_code(columns: Words, code: int, query: Words, limit: int) -> int:
    """Return the distance of a query to one code; it may be too small beyond the limit."""
    total = 0
    for w in range(columns.shape[0]):
        total += popcount(columns[w, code] ^ query[w])
        if total > limit:
            break
    return total


@njit(nogil=True, cache=True)
def scan_codes(
    columns: Words,
    query: Words,
    limit: int,
    n_words: int,
    buffer: Int64Array,
    keys: UInt64Array,
) -> int:
    """Write the keys of all codes within ``limit``, in the order of the codes.

    The codes are marked by their first ``n_words`` words; the others are read for marked codes.
    ``keys`` has space for all codes, ``buffer`` for ``LANES`` distances. Return their number.
    """
    last = columns.shape[1]
    filled = 0
    for start in range(0, last - LANES + 1, LANES):
        stop = start + LANES
        if n_words == 1:
            marks = _mark_one(columns[0, start:stop], query[0], limit)
        elif n_words == 2:
            a, b = columns[0, start:stop], columns[1, start:stop]
            marks = _mark_two(a, b, query[0], query[1], limit)
        else:
            marks = _mark_several(columns, start, query, n_words, limit, buffer)
        while marks:
            code = start + _lowest(marks)
            marks &= marks - _ONE
            d = popcount(columns[0, code] ^ query[0])
            if columns.shape[0] > 1:
                d = measure_code(columns, code, query, limit)
            if d <= limit:
                keys[filled] = pack_key(d, code)
                filled += 1
    for code in range(last - last % LANES, last):
        d = measure_code(columns, code, query, limit)
        if d <= limit:
            keys[filled] = pack_key(d, code)
            filled += 1
    return filled


@njit(nogil=True, cache=True)
def _is_found_earlier(
    columns: Words, code: int, query: Words, masks: Words, radii: Int64Array, part: int
) -> bool:
    """Return whether an earlier part has already found the code."""
    for p in range(part):
        d = 0
        for w in range(columns.shape[0]):
            d += popcount((columns[w, code] ^ query[w]) & masks[p, w])
        if d <= radii[p]:
            return True
    return False


@njit(nogil=True, cache=True)
def list_near(
    words: UInt64Array,
    begins: Int64Array,
    ends: Int64Array,
    first: int,
    last: int,
    word: Any,
    limit: int,
    places: Int64Array,
) -> int:
    """Write the places of all words within ``limit`` of a word; return their number.

    The words lie in the ranges [first, last) of ``begins`` and ``ends``. Those of the next ranges
    are loaded ahead, because each range is a cache miss.
    """
    filled = 0
    for r in range(first, last):
        ahead = begins[min(r + _AHEAD, last - 1)]
        prefetch(words, ahead)
        prefetch(words, ahead + _WORDS_PER_LINE)
        start, end = begins[r], ends[r]
        while start + LANES <= end:
            marks = np.uint64(0)
            for i in range(LANES):
                near = popcount(words[np.uint64(start + i)] ^ word) <= limit
                marks |= np.uint64(near) << np.uint64(i)
            while marks:
                places[filled] = start + _lowest(marks)
                filled += 1
                marks &= marks - _ONE
            start += LANES
        for e in range(start, end):
            if popcount(words[np.uint64(e)] ^ word) <= limit:
                places[filled] = e
                filled += 1
    return filled


@njit(nogil=True, cache=True)
def _keep_new(
    words: UInt64Array,
    places: Int64Array,
    n_places: int,
    word: Any,
    masks: Words,
    radii: Int64Array,
    part: int,
) -> np.int64:
    """Drop the places of codes of one word that an earlier part has found; return their number.

    Near codes are near in several parts, so most places are dropped before more memory is read.
    """
    n_new = np.uint64(0)
    for i in range(n_places):
        place = places[i]
        difference = words[np.uint64(place)] ^ word
        is_new = True
        for p in range(part):
            is_new &= popcount(difference & masks[p, 0]) > radii[p]
        places[n_new] = place
        n_new += np.uint64(is_new)
    return np.int64(n_new)


@njit(nogil=True, cache=True)
def append_near(
    words: UInt64Array,
    order: UInt32Array,
    places: Int64Array,
    n_places: int,
    columns: Words,
    query: Words,
    limit: int,
    masks: Words,
    radii: Int64Array,
    part: int,
    keys: UInt64Array,
    filled: int,
) -> int:
    """Append the keys of the codes at some places of a table that are within ``limit``.

    Codes that an earlier part has found, see ``masks`` and ``radii``, are skipped. Return the new
    number of keys. Codes of one word are not read again, because that would be a cache miss.
    """
    has_one_word = columns.shape[0] == 1
    if has_one_word and part:
        n_places = _keep_new(words, places, n_places, query[0], masks, radii, part)
    for i in range(n_places):
        prefetch(order, places[min(i + _AHEAD, n_places - 1)])
        code = np.int64(order[places[i]])
        if has_one_word:
            d, is_new = popcount(words[places[i]] ^ query[0]), True
        else:
            d = measure_code(columns, code, query, limit)
            is_new = d <= limit and not _is_found_earlier(columns, code, query, masks, radii, part)
        # Codes are found once, unless the tables come from a forged file.
        if is_new and filled < keys.shape[0]:
            keys[filled] = pack_key(d, code)
            filled += 1
    return filled
