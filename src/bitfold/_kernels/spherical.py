"""Exact ranking by spherical Hamming distance: bits that differ, divided by bits that both have.

The arguments that are not described here are those of ``ranking`` and ``postings``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._kernels.hamming import popcount
from bitfold._kernels.ranking import TILE
from bitfold._kernels.sorted_list import insert_items
from bitfold._types import BoolArray, Float64Array, FloatingArray, Int64Array, UInt32Array, Words


@njit(nogil=True, cache=True, error_model="numpy")
def _measure_code(words: Words, code: int, query: Words, n_bits: int) -> float:
    n_one, n_both = 0, 0
    for w in range(words.shape[0]):
        n_one += popcount(words[w, code] ^ query[w])
        n_both += popcount(words[w, code] & query[w])
    # Without a common bit, farther than any code with one.
    return n_one / n_both if n_both > 0 else float(n_one * n_bits)


@njit(nogil=True, cache=True)
def measure_spherical(query: Words, words: Words, n_bits: int, out: FloatingArray) -> None:
    """Write the spherical distances of one query to all codes to ``out``."""
    for c in range(words.shape[1]):
        out[c] = _measure_code(words, c, query, n_bits)


@njit(nogil=True, cache=True)
def rank_by_insertion(
    queries: Words,
    n_bits: int,
    words: Words,
    first: int,
    last: int,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    distances: Float64Array,
    items: Int64Array,
    n_tied: Int64Array,
) -> None:
    """Write the k nearest items of the codes [first, last), as for Hamming distances."""
    k = distances.shape[1]
    filled = np.zeros(queries.shape[0], np.int64)
    tile = TILE // words.shape[0]
    for begin in range(first, last, tile):
        for q in range(queries.shape[0]):
            for code in range(begin, min(begin + tile, last)):
                d = _measure_code(words, code, queries[q], n_bits)
                if filled[q] < k or d <= distances[q, k - 1]:
                    filled[q], n_tied[q] = insert_items(
                        code, d, starts, members, deleted,
                        distances[q], items[q], filled[q], n_tied[q],
                    )  # fmt: skip
