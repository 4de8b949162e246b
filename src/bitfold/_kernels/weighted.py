"""Exact ranking by weighted Hamming distance: each bit that differs costs its weight.

The weights of a query are rounded down to multiples of a scale and stored as bit planes. Popcounts
of the planes bound the distance of a code from below. The four high planes are read for every code,
the four low ones if the first bound is near enough, and only the codes whose bound is still near
enough are measured exactly. The other arguments are described in ``ranking``, ``postings`` and
``scan``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from bitfold._kernels.marks import (
    CODES_PER_MARK,
    CODES_PER_RUN,
    PLANES_PER_PASS,
    find_near_weighted,
    make_buffers,
    sum_weights,
)
from bitfold._kernels.ranking import TILE
from bitfold._kernels.scan import CHUNK
from bitfold._kernels.sorted_list import insert_items
from bitfold._types import BoolArray, Float64Array, Int64Array, UInt32Array, UInt64Array, Words

N_PLANES = 2 * PLANES_PER_PASS
"""Number of bit planes: those that are read for every code, and those for the codes left."""

MAX_LEVEL = (1 << N_PLANES) - 1
"""Largest rounded weight, in units of the scale."""

_SLACK = 1 + 1e-9
"""Covers the rounding of distances and of rounded weights, which is below 1e-12."""

_FIRST_BIT = np.uint64(1 << 63)


def _swap_bytes(typing_context: Any, word: Any) -> Any:
    """Reverse the bytes of a word, so that the first bit of a code is the highest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), generate


def _leading_zeros(typing_context: Any, word: Any) -> Any:
    """Count the zeros above the highest bit of a word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


# Called with the word alone, which the type of the decorator does not express.
_swap: Any = intrinsic(_swap_bytes)
_clz: Any = intrinsic(_leading_zeros)


@njit(nogil=True, cache=True)
def measure_code(words: Words, code: int, query: Words, weights: Float64Array) -> float:
    """Return the sum of the weights of the bits that differ, in the order of the bits."""
    total = 0.0
    for w in range(words.shape[0]):
        rest = _swap(words[w, code] ^ query[w])
        while rest:
            bit = _clz(rest)
            total += weights[64 * w + bit]
            rest ^= _FIRST_BIT >> np.uint64(bit)
    return total


@njit(nogil=True, cache=True)
def measure_weighted(words: Words, query: Words, weights: Float64Array, out: Float64Array) -> None:
    """Write the weighted distances of one query to all codes to ``out``."""
    for c in range(words.shape[1]):
        out[c] = measure_code(words, c, query, weights)


@njit(nogil=True, cache=True)
def find_codes_within(
    words: Words,
    start: int,
    last: int,
    query: Words,
    planes: Words,
    limit: int,
    marks: UInt64Array,
    near: Int64Array,
) -> int:
    """Write the codes from ``start`` that the high planes bound within ``limit`` to ``near``.

    This is the hot loop; see :func:`marks.find_near` for its arguments and its result.
    """
    high = planes[PLANES_PER_PASS:]
    return find_near_weighted(
        words, start, last, query, high, limit >> PLANES_PER_PASS, marks, near
    )


@njit(nogil=True, cache=True)
def bound_code(words: Words, code: int, query: Words, planes: Words) -> int:
    """Return the bound of the distance of a code, in units of the scale."""
    low, high = planes[:PLANES_PER_PASS], planes[PLANES_PER_PASS:]
    total = sum_weights(words, code, query, low)
    return total + (sum_weights(words, code, query, high) << PLANES_PER_PASS)


@njit(nogil=True, cache=True, error_model="numpy")
def to_limit(distance: float, scale: float) -> int:
    """Return the largest bound that a code at this distance can have."""
    return int(distance / scale * _SLACK)


@njit(nogil=True, cache=True)
def rank_tile(
    query: Words,
    weights: Float64Array,
    planes: Words,
    scale: float,
    words: Words,
    first: int,
    last: int,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    distances: Float64Array,
    items: Int64Array,
    filled: int,
    n_tied: int,
    limit: int,
    marks: UInt64Array,
    near: Int64Array,
) -> tuple[int, int, int]:
    """Insert the codes [first, last) into the list of a query.

    Return the length of the list, the number of ties with its last entry, and the largest bound
    that still matters.
    """
    k = distances.shape[0]
    start = first
    while start < last:
        # Until the list is full, all codes are near; a short run soon finds a lower limit.
        stop = min(start + (CODES_PER_RUN if filled == k else CODES_PER_MARK), last)
        n_near = find_codes_within(words, start, stop, query, planes, limit, marks, near)
        start = stop
        for i in range(n_near):
            if bound_code(words, near[i], query, planes) > limit:
                continue
            d = measure_code(words, near[i], query, weights)
            if filled == k and d > distances[k - 1]:
                continue
            filled, n_tied = insert_items(
                near[i], d, starts, members, deleted, distances, items, filled, n_tied
            )
            if filled == k:
                limit = to_limit(distances[k - 1], scale)
    return filled, n_tied, limit


@njit(nogil=True, cache=True)
def rank_by_insertion(
    queries: Words,
    weights: Float64Array,
    planes: Words,
    scales: Float64Array,
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
    """Write the k nearest items of the codes [first, last), as for Hamming distances.

    ``weights[q]`` has one weight per bit, ``planes[q]`` one row of words per plane, the lowest
    first; ``scales[q]`` is the unit of the planes.
    """
    marks, near = make_buffers()
    filled = np.zeros(queries.shape[0], np.int64)
    limits = np.full(queries.shape[0], MAX_LEVEL * 64 * words.shape[0])
    tile = TILE // words.shape[0] // CHUNK * CHUNK
    for begin in range(first, last, tile):
        end = min(begin + tile, last)
        for q in range(queries.shape[0]):
            filled[q], n_tied[q], limits[q] = rank_tile(
                queries[q], weights[q], planes[q], scales[q],
                words, begin, end, starts, members, deleted,
                distances[q], items[q], filled[q], n_tied[q], limits[q], marks, near,
            )  # fmt: skip
