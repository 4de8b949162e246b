"""Radius lookup without a scan: multi-index hashing over the distinct codes.

If codes are divided into s parts, a code within radius r of the query is within ⌊r/s⌋ of it in at
least one part. It is found by probing one table per part at a few values. Norouzi, Punjani and
Fleet, *Fast exact search in Hamming space with multi-index hashing*, PAMI 2014.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from bitfold._kernels.hamming import popcount
from bitfold._kernels.postings import append_keys
from bitfold._types import BoolArray, Int64Array, UInt32Array, UInt64Array, Words


@njit(nogil=True, cache=True)
def _part_value(words: Words, code: int, first: int, width: int) -> Any:
    """Return the bits [first, first + width) of a code; they may span two words."""
    w, shift = first >> 6, np.uint64(first & 63)
    value = words[w, code] >> shift
    taken = 64 - (first & 63)
    if taken < width:
        value |= words[w + 1, code] << np.uint64(taken)
    return np.int64(value & ((np.uint64(1) << np.uint64(width)) - np.uint64(1)))


@njit(nogil=True, cache=True)
def sort_by_part(
    words: Words, first: int, width: int, starts: UInt32Array, order: UInt32Array
) -> None:
    """Sort codes by one part: those with value v are ``order[starts[v]:starts[v + 1]]``."""
    n = words.shape[1]
    starts[:] = 0
    for c in range(n):
        starts[_part_value(words, c, first, width) + 1] += 1
    for v in range(1, starts.shape[0]):
        starts[v] += starts[v - 1]
    for c in range(n):
        v = _part_value(words, c, first, width)
        order[starts[v]] = c
        starts[v] += 1
    # Each start has moved to that of the next value; shift them back.
    for v in range(starts.shape[0] - 1, 0, -1):
        starts[v] = starts[v - 1]
    starts[0] = 0


@njit(nogil=True, cache=True)
def _next_mask(mask: int) -> int:
    """Return the next larger integer with the same number of ones (Gosper's hack)."""
    low = mask & -mask
    ripple = mask + low
    return (((ripple ^ mask) >> 2) // low) | ripple


@njit(nogil=True, cache=True)
def _measure_code(words: Words, code: int, query: Words) -> int:
    """Return the Hamming distance of a query to one code."""
    total = 0
    for w in range(words.shape[0]):
        total += popcount(words[w, code] ^ query[w])
    return total


@njit(nogil=True, cache=True)
def _is_found_earlier(
    words: Words,
    code: int,
    queries: Words,
    q: int,
    firsts: Int64Array,
    widths: Int64Array,
    radii: Int64Array,
    part: int,
) -> bool:
    """Return whether an earlier part has already found the code."""
    for p in range(part):
        a = _part_value(words, code, firsts[p], widths[p])
        b = _part_value(queries, q, firsts[p], widths[p])
        if popcount(np.uint64(a ^ b)) <= radii[p]:
            return True
    return False


@njit(nogil=True, cache=True)
def probe_within(
    queries: Words,
    words: Words,
    part_starts: UInt32Array,
    order: UInt32Array,
    firsts: Int64Array,
    widths: Int64Array,
    radii: Int64Array,
    radius: int,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    keys: UInt64Array,
    ends: Int64Array,
) -> int:
    """Write the sorted keys of all items within ``radius`` of each query; return their number.

    ``part_starts`` contains the starts of all parts, one after the other, and ``order`` the codes
    sorted by each part. ``ends`` receives the position where the keys of each query end. If the
    result is larger than the length of ``keys``, the keys are incomplete: call again with an
    array of that length.
    """
    filled = 0
    columns = np.ascontiguousarray(queries.T)
    for q in range(queries.shape[0]):
        begin = filled
        flat_query = queries[q]
        part_first = 0
        for part in range(order.shape[0]):
            value = _part_value(columns, q, firsts[part], widths[part])
            for ones in range(radii[part] + 1):
                mask = (1 << ones) - 1
                while mask < (1 << widths[part]):
                    slot = part_first + (value ^ mask)
                    for e in range(part_starts[slot], part_starts[slot + 1]):
                        code = np.int64(order[part, e])
                        d = _measure_code(words, code, flat_query)
                        if d <= radius and not _is_found_earlier(
                            words, code, columns, q, firsts, widths, radii, part
                        ):
                            filled = append_keys(code, d, starts, members, deleted, keys, filled)
                    if ones == 0:
                        break
                    mask = _next_mask(mask)
            part_first += (1 << widths[part]) + 1
        ends[q] = filled
        if begin + 1 < filled <= keys.shape[0]:
            keys[begin:filled].sort()
    return filled
