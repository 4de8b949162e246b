"""Radius lookup in less than a scan: multi-index hashing over the distinct codes.

A code within radius r of the query, cut into s parts, is within ⌊r/s⌋ of it in some part; so it
is found by probing a table of codes per part, at very few keys. Norouzi, Punjani and Fleet,
*Fast exact search in Hamming space with multi-index hashing*, PAMI 2014.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from bitfold._kernels.hamming import popcount
from bitfold._kernels.ranking import distance, expand, places

Words = NDArray[np.uint64]
Places = NDArray[np.uint32]
Flags = NDArray[np.bool_]


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
def fill(words: Words, first: int, width: int, starts: Places, order: Places) -> None:
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
    query: Words,
    firsts: NDArray[np.int64],
    widths: NDArray[np.int64],
    radii: NDArray[np.int64],
    part: int,
) -> bool:
    """Tell whether an earlier part has found the code already."""
    for p in range(part):
        a = part_of(words, code, firsts[p], widths[p])
        b = part_of(query, 0, firsts[p], widths[p])
        if popcount(np.uint64(a ^ b)) <= radii[p]:
            return True
    return False


@njit(nogil=True, cache=True)
def _probe(
    words: Words,
    query: Words,
    flat_query: Words,
    bucket: Places,
    firsts: NDArray[np.int64],
    widths: NDArray[np.int64],
    radii: NDArray[np.int64],
    part: int,
    radius: int,
    starts: Places,
    members: Places,
    dead: Flags,
    keys: NDArray[np.uint64],
    filled: int,
) -> int:
    """Append what a bucket holds within the radius; beyond the room, only count."""
    for e in range(bucket.shape[0]):
        code = np.int64(bucket[e])
        d = distance(words, code, flat_query)
        if d <= radius and not _found_before(words, code, query, firsts, widths, radii, part):
            first, last = places(code, starts)
            size = last - first
            if filled + size <= keys.shape[0]:
                filled = expand(code, d, starts, members, dead, keys, filled)
            else:
                filled += size
    return filled


@njit(nogil=True, cache=True)
def within(
    queries: Words,
    words: Words,
    tables: tuple[tuple[Places, Places], ...],
    firsts: NDArray[np.int64],
    widths: NDArray[np.int64],
    radii: NDArray[np.int64],
    radius: int,
    starts: Places,
    members: Places,
    dead: Flags,
    keys: NDArray[np.uint64],
    offsets: NDArray[np.int64],
) -> int:
    """List the items within ``radius`` of each query, sorted, as keys; return how many.

    A result beyond the length of ``keys`` means that there was no room and it must be called
    again with that much.
    """
    filled = 0
    for q in range(queries.shape[0]):
        begin = filled
        flat_query = queries[q]
        query = flat_query.reshape(-1, 1)
        for part in range(len(tables)):
            if radii[part] < 0:
                continue
            heads, order = tables[part]
            key = part_of(query, 0, firsts[part], widths[part])
            for ones in range(radii[part] + 1):
                mask = (1 << ones) - 1
                while mask < (1 << widths[part]):
                    value = key ^ mask
                    filled = _probe(
                        words,
                        query,
                        flat_query,
                        order[heads[value] : heads[value + 1]],
                        firsts,
                        widths,
                        radii,
                        part,
                        radius,
                        starts,
                        members,
                        dead,
                        keys,
                        filled,
                    )
                    if ones == 0:
                        break
                    mask = _next_mask(mask)
        offsets[q] = filled
        if filled <= keys.shape[0]:
            keys[begin:filled].sort()
    return filled
