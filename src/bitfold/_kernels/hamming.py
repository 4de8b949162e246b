"""Hamming distances over 64-bit words.

Words are stored column by column, ``words[w, i]``, the layout that vectorizes. Distances are used
as unsigned indices, because signed ones would be checked for negative values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite.binding import get_host_cpu_features
from numba import njit, types
from numba.core import config
from numba.extending import intrinsic

from bitfold._types import Float64Array, Int64Array, UInt16Array, Words

_CHUNK = 1024
"""Number of distances measured together, so that they stay in the L1 cache."""


def _popcount(typing_context: Any, word: Any) -> Any:
    """Count the ones of a word with the instruction of the processor, which numba lacks."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


# Called with the word alone, which the type of the decorator does not express.
popcount: Any = intrinsic(_popcount)


def has_vector_popcount() -> bool:
    """Return whether kernels are compiled for a processor that counts the ones of many words."""
    features = config.CPU_FEATURES if config.CPU_NAME else get_host_cpu_features().flatten()
    return "+avx512vpopcntdq" in (features or "")


@njit(nogil=True, cache=True)
def lowest_bit(mask: Any) -> Any:
    """Return the position of the lowest bit that is set."""
    return popcount((mask & (~mask + np.uint64(1))) - np.uint64(1))


@njit(nogil=True, cache=True)
def measure(query: Words, words: Words, out: UInt16Array) -> None:
    """Write the distances of one query to all codes to ``out``."""
    out[:] = 0
    for w in range(words.shape[0]):
        column, word = words[w], query[w]
        for i in range(column.shape[0]):
            out[i] += np.uint16(popcount(column[i] ^ word))


@njit(nogil=True, cache=True)
def _count_four(queries: Words, column: Words, out: Int64Array) -> None:
    """Count the distances of four queries of one word.

    Each query has its own counters, so that an increment rarely waits for the previous one.
    """
    a, b, c, d = queries[0, 0], queries[1, 0], queries[2, 0], queries[3, 0]
    at_a, at_b, at_c, at_d = out[0], out[1], out[2], out[3]
    for i in range(column.shape[0]):
        word = column[i]
        at_a[np.uint64(popcount(word ^ a))] += 1
        at_b[np.uint64(popcount(word ^ b))] += 1
        at_c[np.uint64(popcount(word ^ c))] += 1
        at_d[np.uint64(popcount(word ^ d))] += 1


@njit(nogil=True, cache=True)
def _count_four_wide(queries: Words, low: Words, high: Words, out: Int64Array) -> None:
    """Count the distances of four queries of two words, as :func:`_count_four` does."""
    a, b, c, d = queries[0, 0], queries[1, 0], queries[2, 0], queries[3, 0]
    e, f, g, h = queries[0, 1], queries[1, 1], queries[2, 1], queries[3, 1]
    at_a, at_b, at_c, at_d = out[0], out[1], out[2], out[3]
    for i in range(low.shape[0]):
        x, y = low[i], high[i]
        at_a[np.uint64(popcount(x ^ a) + popcount(y ^ e))] += 1
        at_b[np.uint64(popcount(x ^ b) + popcount(y ^ f))] += 1
        at_c[np.uint64(popcount(x ^ c) + popcount(y ^ g))] += 1
        at_d[np.uint64(popcount(x ^ d) + popcount(y ^ h))] += 1


@njit(nogil=True, cache=True)
def _count_one(query: Words, words: Words, buffer: UInt16Array, out: Int64Array) -> None:
    """Count the distances of one query of any width."""
    n = words.shape[1]
    for start in range(0, n, _CHUNK):
        part = words[:, start : min(start + _CHUNK, n)]
        distances = buffer[: part.shape[1]]
        measure(query, part, distances)
        for i in range(distances.shape[0]):
            out[distances[i]] += 1


@njit(nogil=True, cache=True)
def count(queries: Words, words: Words, out: Int64Array) -> None:
    """Count the codes at each distance (column of ``out``) from each query (row).

    Queries are stored row by row, ``queries[q, w]``.
    """
    buffer = np.empty(_CHUNK, np.uint16)
    n_words = words.shape[0]
    fours = len(queries) // 4 * 4 if n_words <= 2 else 0
    for q in range(0, fours, 4):
        if n_words == 1:
            _count_four(queries[q : q + 4], words[0], out[q : q + 4])
        else:
            _count_four_wide(queries[q : q + 4], words[0], words[1], out[q : q + 4])
    for q in range(fours, len(queries)):
        _count_one(queries[q], words, buffer, out[q])


@njit(nogil=True, cache=True)
def _count_below(distances: UInt16Array, n_bins: int) -> Int64Array:
    """Return the number of distances below each value."""
    counts = np.zeros(n_bins, np.int64)
    for i in range(distances.shape[0]):
        counts[distances[i]] += 1
    return np.cumsum(counts) - counts


@njit(nogil=True, cache=True, error_model="numpy")
def rank_by_id(
    distances: UInt16Array,
    items: Int64Array,
    n_bins: int,
    cutoffs: Int64Array,
    hits: Int64Array,
    precisions: Float64Array,
) -> None:
    """Rank by distance, then id; count each relevant item at the first cutoff that includes it.

    This is a counting sort without output. ``rank`` is the number of items before the next item
    at each distance, ``n_relevant`` the number of relevant ones among them. ``items`` are the ids
    of the relevant items, ascending; ``hits`` receives their number per cutoff, ``precisions`` the
    sum of the precisions at their ranks.
    """
    rank, n_relevant = _count_below(distances, n_bins), _count_below(distances[items], n_bins)
    cell = np.zeros(n_bins, np.int64)
    done = 0
    for e in range(items.shape[0]):
        passed = distances[done : items[e] + 1]
        for i in range(passed.shape[0]):
            rank[passed[i]] += 1
        done = items[e] + 1
        d = distances[items[e]]
        n_relevant[d] += 1
        # Ranks at one distance are ascending, and so are their cutoffs.
        while cell[d] < cutoffs.shape[0] and cutoffs[cell[d]] < rank[d]:
            cell[d] += 1
        if cell[d] < cutoffs.shape[0]:
            hits[cell[d]] += 1
            precisions[cell[d]] += n_relevant[d] / rank[d]
