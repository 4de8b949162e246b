"""Clusters of codes around majority codes: nearest centers, and the bits of a cluster.

Codes are stored column by column, ``words[w, i]``, centers row by row, ``centers[c, w]``. All sums
are of integers, so that results do not depend on how the work is split.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._kernels.hamming import popcount
from bitfold._kernels.scan import CHUNK, measure_codes
from bitfold._types import Int32Array, Int64Array, UInt64Array, Words

_SHIFT = 32
"""A key is a distance and the number of a center, in the low bits: ties go to the first center."""


@njit(nogil=True, cache=True)
def _compare_1(column: Words, centers: Words, keys: Int64Array) -> None:
    """Write the key of the nearest center of codes of one word.

    This is the hot loop. Four centers at a time divide the traffic of the keys by four.
    """
    n_fours = centers.shape[0] // 4 * 4
    for c in range(0, n_fours, 4):
        p, q, r, s = centers[c, 0], centers[c + 1, 0], centers[c + 2, 0], centers[c + 3, 0]
        for i in range(column.shape[0]):
            first = (popcount(column[i] ^ p) << _SHIFT) + c
            second = (popcount(column[i] ^ q) << _SHIFT) + c + 1
            third = (popcount(column[i] ^ r) << _SHIFT) + c + 2
            fourth = (popcount(column[i] ^ s) << _SHIFT) + c + 3
            keys[i] = min(keys[i], min(min(first, second), min(third, fourth)))
    for c in range(n_fours, centers.shape[0]):
        p = centers[c, 0]
        for i in range(column.shape[0]):
            keys[i] = min(keys[i], (popcount(column[i] ^ p) << _SHIFT) + c)


@njit(nogil=True, cache=True)
def _compare_2(words: Words, centers: Words, keys: Int64Array) -> None:
    """Write the key of the nearest center of codes of two words."""
    a, b = words[0], words[1]
    n_pairs = centers.shape[0] // 2 * 2
    for c in range(0, n_pairs, 2):
        p, q, r, s = centers[c, 0], centers[c, 1], centers[c + 1, 0], centers[c + 1, 1]
        for i in range(a.shape[0]):
            first = ((popcount(a[i] ^ p) + popcount(b[i] ^ q)) << _SHIFT) + c
            second = ((popcount(a[i] ^ r) + popcount(b[i] ^ s)) << _SHIFT) + c + 1
            keys[i] = min(keys[i], min(first, second))
    for c in range(n_pairs, centers.shape[0]):
        p, q = centers[c, 0], centers[c, 1]
        for i in range(a.shape[0]):
            d = popcount(a[i] ^ p) + popcount(b[i] ^ q)
            keys[i] = min(keys[i], (d << _SHIFT) + c)


@njit(nogil=True, cache=True)
def find_centers(
    words: Words, first: int, last: int, centers: Words, labels: Int32Array, distances: Int32Array
) -> None:
    """Write the nearest center of the codes [first, last), ties to the first, and its distance."""
    keys, buffer = np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64)
    for start in range(first, last, CHUNK):
        stop = min(start + CHUNK, last)
        part = keys[: stop - start]
        part[:] = (1 << 62) - 1
        if words.shape[0] == 1:
            _compare_1(words[0, start:stop], centers, part)
        elif words.shape[0] == 2:
            _compare_2(words[:, start:stop], centers, part)
        else:
            for c in range(centers.shape[0]):
                measure_codes(words, start, stop, centers[c], buffer)
                for i in range(part.shape[0]):
                    part[i] = min(part[i], (buffer[i] << _SHIFT) + c)
        for i in range(part.shape[0]):
            distances[start + i] = part[i] >> _SHIFT
            labels[start + i] = part[i] & ((1 << _SHIFT) - 1)


@njit(nogil=True, cache=True)
def sum_distances(
    words: Words, candidates: Int64Array, nearest: Int64Array, weights: Int64Array
) -> Int64Array:
    """Return the sum of distances to the nearest center, if each candidate were one more."""
    totals, buffer = np.zeros(candidates.shape[0], np.int64), np.empty(CHUNK, np.int64)
    for start in range(0, words.shape[1], CHUNK):
        stop = min(start + CHUNK, words.shape[1])
        near, weight = nearest[start:stop], weights[start:stop]
        for c in range(candidates.shape[0]):
            measure_codes(words, start, stop, words[:, candidates[c]], buffer)
            total = 0
            for i in range(near.shape[0]):
                total += min(buffer[i], near[i]) * weight[i]
            totals[c] += total
    return totals


@njit(nogil=True, cache=True)
def lower_distances(words: Words, center: int, nearest: Int64Array) -> None:
    """Update the distances to the nearest center after one of the codes has become a center."""
    buffer = np.empty(CHUNK, np.int64)
    for start in range(0, words.shape[1], CHUNK):
        stop = min(start + CHUNK, words.shape[1])
        measure_codes(words, start, stop, words[:, center], buffer)
        for i in range(start, stop):
            nearest[i] = min(nearest[i], buffer[i - start])


@njit(nogil=True, cache=True)
def add_bits(
    words: Words, labels: Int32Array, weights: Int64Array, counts: Int64Array, sizes: Int64Array
) -> None:
    """Add the weights of the codes of each cluster, and of those that have each bit."""
    for i in range(words.shape[1]):
        cluster, weight = labels[i], weights[i]
        sizes[cluster] += weight
        for w in range(words.shape[0]):
            word, row = words[w, i], counts[cluster, 64 * w : 64 * (w + 1)]
            for b in range(64):
                row[b] += weight * np.int64((word >> np.uint64(b)) & np.uint64(1))


@njit(nogil=True, cache=True)
def take_majorities(counts: Int64Array, sizes: Int64Array, centers: UInt64Array) -> int:
    """Set each bit of a center to that of most codes; return how many centers have changed.

    If both values are as frequent, the bit does not change, so that no iteration is repeated.
    """
    n_changed = 0
    for c in range(centers.shape[0]):
        has_changed = False
        for w in range(centers.shape[1]):
            word = centers[c, w]
            for b in range(64):
                mask = np.uint64(1) << np.uint64(b)
                twice = 2 * counts[c, 64 * w + b]
                if twice > sizes[c]:
                    word |= mask
                elif twice < sizes[c]:
                    word &= ~mask
            has_changed |= word != centers[c, w]
            centers[c, w] = word
        n_changed += has_changed
    return n_changed
