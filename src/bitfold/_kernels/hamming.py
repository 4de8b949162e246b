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

_CODES_PER_TILE = 8192
"""Number of codes that are compared with all queries together, so that they stay in a cache."""

_MAX_PAIRED_WORDS = 2
"""Maximum length of codes whose distances are counted in pairs; longer ones need large tables."""

_CELLS_PER_ROW = 64 * _MAX_PAIRED_WORDS + 1

_MIN_PAIRED_CODES = 1 << 15
"""Number of codes above which the tables of pairs pay off."""


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
def _measure_pair(
    first: Words, second: Words, words: Words, start: int, stop: int, out: UInt16Array
) -> None:
    """Write the cell of the distances of two queries to each of the codes [start, stop)."""
    for w in range(words.shape[0]):
        column, a, b = words[w][start:stop], first[w], second[w]
        kept = np.uint16(w > 0)  # the first word replaces what is in the buffer
        for i in range(column.shape[0]):
            cell = popcount(column[i] ^ a) * _CELLS_PER_ROW + popcount(column[i] ^ b)
            out[i] = kept * out[i] + np.uint16(cell)


@njit(nogil=True, cache=True)
def _count_pairs(queries: Words, words: Words, out: Int64Array) -> None:
    """Count the distances of an even number of queries of at most ``_MAX_PAIRED_WORDS`` words.

    A table has one cell for both distances of two queries, so that two distances are counted by one
    increment: increments take longer than xor and popcount.
    """
    n, n_bins = words.shape[1], out.shape[1]
    tables = np.zeros((len(queries) // 2, n_bins * _CELLS_PER_ROW), np.uint32)
    cells = np.empty(_CHUNK, np.uint16)
    for begin in range(0, n, _CODES_PER_TILE):
        end = min(begin + _CODES_PER_TILE, n)
        for p in range(tables.shape[0]):
            table = tables[p]
            for start in range(begin, end, _CHUNK):
                stop = min(start + _CHUNK, end)
                found = cells[: stop - start]
                _measure_pair(queries[2 * p], queries[2 * p + 1], words, start, stop, found)
                for i in range(found.shape[0]):
                    table[found[i]] += np.uint32(1)
    for p in range(tables.shape[0]):
        for a in range(n_bins):
            for b in range(n_bins):
                n_codes = np.int64(tables[p, a * _CELLS_PER_ROW + b])
                out[2 * p, a] += n_codes
                out[2 * p + 1, b] += n_codes


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

    Queries are stored row by row, ``queries[q, w]``. There are fewer than 2³² codes.
    """
    buffer = np.empty(_CHUNK, np.uint16)
    n_words, n = words.shape
    pays_off = n_words <= _MAX_PAIRED_WORDS and n >= _MIN_PAIRED_CODES
    n_paired = len(queries) // 2 * 2 if pays_off else 0
    if n_paired:
        _count_pairs(queries[:n_paired], words, out[:n_paired])
    for q in range(n_paired, len(queries)):
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
