"""Radius lookup in less than a scan: multi-index hashing over the distinct codes.

A code within radius r of the query, cut into s parts, is within ⌊r/s⌋ of it in some part; so it
is found by probing a table of codes per part, at very few keys. Norouzi, Punjani and Fleet,
*Fast exact search in Hamming space with multi-index hashing*, PAMI 2014.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from bitfold._kernels.hamming import popcount
from bitfold._kernels.ranking import distance, expand, places
from bitfold._types import BoolArray, Int64Array, UInt32Array, UInt64Array, Words


@njit(nogil=True, cache=True)
def part_of(words: Words, code: int, first: int, width: int) -> Any:
    """Bits [first, first + width) of a code, which may straddle two words."""
    w, shift = first >> 6, np.uint64(first & 63)
    value = words[w, code] >> shift
    taken = 64 - (first & 63)
    if taken < width:
        value |= words[w + 1, code] << np.uint64(taken)
    return np.int64(value & ((np.uint64(1) << np.uint64(width)) - np.uint64(1)))


@njit(nogil=True, cache=True)
def fill(words: Words, first: int, width: int, starts: UInt32Array, order: UInt32Array) -> None:
    """Sort codes by one part: those with key v are ``order[starts[v]:starts[v + 1]]``."""
    n = words.shape[1]
    starts[:] = 0
    for c in range(n):
        starts[part_of(words, c, first, width) + 1] += 1
    for v in range(1, starts.shape[0]):
        starts[v] += starts[v - 1]
    for c in range(n):
        v = part_of(words, c, first, width)
        order[starts[v]] = c
        starts[v] += 1
    # Filling moved each start to the next key's; one shift takes them back.
    for v in range(starts.shape[0] - 1, 0, -1):
        starts[v] = starts[v - 1]
    starts[0] = 0


@njit(nogil=True, cache=True)
def _next_mask(mask: int) -> int:
    """Return the next larger number with as many ones (Gosper)."""
    low = mask & -mask
    ripple = mask + low
    return (((ripple ^ mask) >> 2) // low) | ripple


@njit(nogil=True, cache=True)
def _found_before(
    words: Words,
    code: int,
    queries: Words,
    q: int,
    firsts: Int64Array,
    widths: Int64Array,
    radii: Int64Array,
    part: int,
) -> bool:
    """Tell whether an earlier part has found the code already."""
    for p in range(part):
        a = part_of(words, code, firsts[p], widths[p])
        b = part_of(queries, q, firsts[p], widths[p])
        if popcount(np.uint64(a ^ b)) <= radii[p]:
            return True
    return False


@njit(nogil=True, cache=True)
def within(
    queries: Words,
    words: Words,
    heads: UInt32Array,
    order: UInt32Array,
    firsts: Int64Array,
    widths: Int64Array,
    radii: Int64Array,
    radius: int,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    keys: UInt64Array,
    offsets: Int64Array,
) -> int:
    """List the items within ``radius`` of each query, sorted, as keys; return how many.

    ``heads`` holds the starts of all parts, one after the other, ``order`` the codes by each. A
    result beyond the length of ``keys`` means that there was no room and it must be called
    again with that much.
    """
    filled = 0
    columns = np.ascontiguousarray(queries.T)
    for q in range(queries.shape[0]):
        begin = filled
        flat_query = queries[q]
        base = 0
        for part in range(order.shape[0]):
            key = part_of(columns, q, firsts[part], widths[part])
            for ones in range(radii[part] + 1):
                mask = (1 << ones) - 1
                while mask < (1 << widths[part]):
                    place = base + (key ^ mask)
                    for e in range(heads[place], heads[place + 1]):
                        code = np.int64(order[part, e])
                        d = distance(words, code, flat_query)
                        if d > radius or _found_before(
                            words, code, columns, q, firsts, widths, radii, part
                        ):
                            continue
                        first, last = places(code, starts)
                        if filled + last - first <= keys.shape[0]:
                            filled = expand(code, d, starts, members, deleted, keys, filled)
                        else:
                            filled += last - first
                    if ones == 0:
                        break
                    mask = _next_mask(mask)
            base += (1 << widths[part]) + 1
        offsets[q] = filled
        if begin + 1 < filled <= keys.shape[0]:
            keys[begin:filled].sort()
    return filled
