"""Codes within a distance of a query, among codes that lie next to each other.

The loops compare without branches, and only codes that are near are looked at again. Crowded codes
therefore cost little more than others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from bitfold._kernels.hamming import popcount
from bitfold._kernels.keys import pack_key
from bitfold._kernels.marks import CODES_PER_RUN, find_near, measure_code
from bitfold._kernels.prefetching import prefetch
from bitfold._types import Int64Array, UInt32Array, UInt64Array, Words

_RANGES_AHEAD = 10
"""Number of ranges that are loaded ahead."""

_AHEAD = 12
"""Number of places whose codes are loaded ahead."""

_CODES_AHEAD = 12
"""Number of codes that are loaded ahead."""

_WORDS_PER_LINE = 8

_MAX_LOADED = 512
"""Maximum number of words of a range that are loaded ahead."""


@njit(nogil=True, cache=True)
def scan_codes(
    columns: Words,
    first: int,
    last: int,
    query: Words,
    limit: int,
    n_words: int,
    keys: UInt64Array,
    filled: int,
    marks: UInt64Array,
    near: Int64Array,
) -> int:
    """Append the keys of the codes [first, last) within ``limit``, in the order of the codes.

    The codes are marked by their first ``n_words`` words; the others are read for marked codes.
    ``keys`` has space for all of these codes; ``marks`` and ``near`` are those of
    :func:`make_buffers`. Return the new number of keys.
    """
    for start in range(first, last, CODES_PER_RUN):
        for i in range(find_near(columns, start, last, query, n_words, limit, marks, near)):
            d = measure_code(columns, near[i], query, limit)
            if d <= limit:
                keys[filled] = pack_key(d, near[i])
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
def _has_near(words: UInt64Array, word: Any, limit: int) -> bool:
    """Return whether any word is within ``limit``; without a branch, so that it is vectorized."""
    n_near = 0
    for i in range(words.shape[0]):
        n_near += popcount(words[i] ^ word) <= limit
    return n_near > 0


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
    are loaded ahead, because each range is a cache miss. Most ranges of random codes have no near
    word, which is found in half the time. In crowded codes the next range is likely to have some,
    so it is listed at once. There, every place is written, and overwritten by the next one unless
    its word is near: a branch that depends on the words takes longer. So ``places`` needs space
    for one place more.
    """
    filled = 0
    is_crowded = False
    for r in range(first, last):
        ahead = min(r + _RANGES_AHEAD, last - 1)
        for e in range(
            begins[ahead], min(ends[ahead], begins[ahead] + _MAX_LOADED), _WORDS_PER_LINE
        ):
            prefetch(words, e)
        if not is_crowded and not _has_near(words[begins[r] : ends[r]], word, limit):
            continue
        n_before = filled
        for e in range(begins[r], ends[r]):
            places[np.uint64(filled)] = e
            filled += popcount(words[np.uint64(e)] ^ word) <= limit
        is_crowded = filled > n_before
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
            d = popcount(words[places[i]] ^ query[0])
            # Codes are found once, unless the tables come from a forged file.
            if filled < keys.shape[0]:
                keys[filled] = pack_key(d, code)
                filled += 1
        places[i] = code
    if has_one_word:
        return filled
    n_codes = columns.shape[1]
    for i in range(n_places):
        code, ahead = places[i], places[min(i + _CODES_AHEAD, n_places - 1)]
        # Most codes are far after two words.
        prefetch(columns, ahead)
        prefetch(columns, n_codes + ahead)
        d = measure_code(columns, code, query, limit)
        is_new = d <= limit and not _is_found_earlier(columns, code, query, masks, radii, part)
        if is_new and filled < keys.shape[0]:
            keys[filled] = pack_key(d, code)
            filled += 1
    return filled
