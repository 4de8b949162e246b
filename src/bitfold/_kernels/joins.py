"""Pairs of near codes: the buckets of two sorted tables are compared with each other.

Both tables are sorted by the same part. The codes of a bucket are compared with the buckets whose
value differs in few bits, which lie next to each other and stay in the cache meanwhile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from bitfold._kernels.near import append_near, list_near
from bitfold._types import Int64Array, UInt32Array, UInt64Array, Words

TILE = 1 << 13
"""Number of codes that a block of rows is compared with before the next ones."""

_MAX_ROWS = 64
"""Number of rows that are compared together."""

MAX_COMPARED = 1 << 20
"""Number of pairs that are compared without a check of the space, and one more row."""


class JoinTable(NamedTuple):
    """Codes sorted by one part.

    Parameters
    ----------
    columns
        All codes, column by column, in their own order.
    words
        One word of each code, in the order of the buckets.
    order
        Number of each code.
    starts
        Where the bucket of each value begins.
    """

    columns: Words
    words: UInt64Array
    order: UInt32Array
    starts: UInt32Array


@njit(nogil=True, cache=True)
def _append_range(begin: int, end: int, begins: Int64Array, ends: Int64Array, n_ranges: int) -> int:
    """Append a range, cut into tiles; return the new number of ranges."""
    while begin < end:
        begins[n_ranges] = begin
        begin = min(begin + TILE, end)
        ends[n_ranges] = begin
        n_ranges += 1
    return n_ranges


@njit(nogil=True, cache=True)
def _list_ranges(
    value: int,
    starts: UInt32Array,
    flips: UInt32Array,
    is_self: bool,
    begins: Int64Array,
    ends: Int64Array,
) -> tuple[int, Any]:
    """Write the ranges to compare a bucket with; return the numbers of ranges and of codes.

    A table that is joined with itself compares two different buckets once, and leaves out the
    bucket itself.
    """
    n_ranges, n_codes = 0, np.int64(0)
    for f in range(flips.shape[0]):
        other = value ^ np.int64(flips[f])
        if is_self and other <= value:
            continue
        begin, end = np.int64(starts[other]), np.int64(starts[other + 1])
        n_codes += end - begin
        n_ranges = _append_range(begin, end, begins, ends, n_ranges)
    return n_ranges, n_codes


@njit(nogil=True, cache=True)
def _compare_rows(
    row: int,
    last_row: int,
    first: int,
    n_ranges: int,
    begins: Int64Array,
    ends: Int64Array,
    left: JoinTable,
    right: JoinTable,
    radius: int,
    masks: Words,
    radii: Int64Array,
    part: int,
    places: Int64Array,
    lefts: UInt32Array,
    keys: UInt64Array,
    filled: int,
) -> int:
    """Append the pairs of some rows with the codes in some ranges, tile by tile."""
    query = np.empty(left.columns.shape[0], np.uint64)
    while first < n_ranges:
        last, n_codes = first, 0
        while last < n_ranges and n_codes + ends[last] - begins[last] <= TILE:
            n_codes += ends[last] - begins[last]
            last += 1
        for i in range(row, last_row):
            word = left.words[i]
            n_places = list_near(right.words, begins, ends, first, last, word, radius, places)
            if n_places:
                code = left.order[i]
                for w in range(query.shape[0]):
                    query[w] = left.columns[w, code]
                previous = filled
                filled = append_near(
                    right.words, right.order, places, n_places, right.columns, query, radius,
                    masks, radii, part, keys, filled,
                )  # fmt: skip
                lefts[previous:filled] = code
        first = last
    return filled


@njit(nogil=True, cache=True)
def join_rows(
    row: int,
    last_row: int,
    left: JoinTable,
    right: JoinTable,
    flips: UInt32Array,
    is_self: bool,
    radius: int,
    masks: Words,
    radii: Int64Array,
    part: int,
    max_pairs: int,
    lefts: UInt32Array,
    keys: UInt64Array,
) -> tuple[int, int]:
    """Write the pairs of near codes of some rows of the left table.

    ``lefts`` receives the left codes, ``keys`` the right codes with their distances. Pairs that an
    earlier part has found are skipped. Stop as soon as there are ``max_pairs``; return the next
    row, and the number of pairs. There must be space for ``max_pairs``, ``MAX_COMPARED`` and the
    length of the right table together.
    """
    n_tiles = right.words.shape[0] // TILE + 1
    begins = np.empty(2 * (flips.shape[0] + n_tiles), np.int64)
    ends = np.empty(2 * (flips.shape[0] + n_tiles), np.int64)
    places = np.empty(TILE + 1, np.int64)
    value = np.searchsorted(left.starts, row, side="right") - 1
    filled = 0
    while row < last_row and filled < max_pairs:
        while left.starts[value + 1] <= row:
            value += 1
        n_other, n_codes = _list_ranges(value, right.starts, flips, is_self, begins, ends)
        bucket_end: Any = np.int64(left.starts[value + 1])
        while row < min(bucket_end, last_row) and filled < max_pairs:
            n_ranges, n_compared = n_other, n_codes + (bucket_end - row if is_self else 0)
            n_rows = min(_MAX_ROWS, MAX_COMPARED // (n_compared + 1)) + 1
            stop = min(row + n_rows, last_row, bucket_end)
            if is_self:
                n_ranges = _append_range(stop, bucket_end, begins, ends, n_ranges)
                for i in range(row, stop - 1):
                    begins[n_ranges], ends[n_ranges] = i + 1, stop
                    filled = _compare_rows(
                        i, i + 1, n_ranges, n_ranges + 1, begins, ends, left, right, radius,
                        masks, radii, part, places, lefts, keys, filled,
                    )  # fmt: skip
            filled = _compare_rows(
                row, stop, 0, n_ranges, begins, ends, left, right, radius,
                masks, radii, part, places, lefts, keys, filled,
            )  # fmt: skip
            row = stop
    return row, filled
