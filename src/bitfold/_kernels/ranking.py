"""Exact ranking by Hamming distance.

Codes are scanned in the order of their smallest item, and the items of a code are ascending, so
ties go by item without sorting. The arguments are described in ``postings`` and ``scan``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._kernels.marks import (
    CODES_PER_MARK,
    CODES_PER_RUN,
    find_near,
    make_buffers,
    measure_code,
)
from bitfold._kernels.scan import CHUNK
from bitfold._kernels.sorted_list import insert_items
from bitfold._types import BoolArray, Int32Array, Int64Array, UInt32Array, UInt64Array, Words

TILE = 1 << 15
"""Number of words that all queries scan before the next tile, so that they stay in the cache of a
core."""


@njit(nogil=True, cache=True)
def _rank_tile(
    query: Words,
    words: Words,
    first: int,
    last: int,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    distances: Int32Array,
    items: Int64Array,
    filled: int,
    n_tied: int,
    limit: int,
    marks: UInt64Array,
    near: Int64Array,
) -> tuple[int, int, int]:
    """Insert the codes [first, last) into the list of a query.

    Return the length of the list, the number of ties with its last entry, and the distance of
    that entry, which is the largest distance that still matters.
    """
    k = distances.shape[0]
    # If each code has one item, later ties are only counted: items are ascending.
    has_one_item = not starts.shape[0] and not deleted.shape[0]
    start = first
    while start < last:
        # Until the list is full, all codes are near; a short run soon finds a lower limit.
        stop = min(start + (CODES_PER_RUN if filled == k else CODES_PER_MARK), last)
        n_near = find_near(words, start, stop, query, words.shape[0], limit, marks, near)
        start = stop
        for i in range(n_near):
            d = measure_code(words, near[i], query, limit)
            if d > limit:  # it was lowered by the code before
                continue
            if d == limit and filled == k and has_one_item:
                n_tied += 1
                continue
            filled, n_tied = insert_items(
                near[i], d, starts, members, deleted, distances, items, filled, n_tied
            )
            if filled == k:
                limit = int(distances[k - 1])
    return filled, n_tied, limit


@njit(nogil=True, cache=True)
def rank_by_insertion(
    queries: Words,
    words: Words,
    first: int,
    last: int,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    distances: Int32Array,
    items: Int64Array,
    n_tied: Int64Array,
) -> None:
    """Write the k nearest items of the codes [first, last) to the row of each query.

    Rows are sorted by distance, then item. If there are fewer than k items, the rest of the row
    is unchanged. k is the number of columns of ``distances`` and should be small. ``n_tied``, all
    zeros at first, receives the number of items whose distance is that of the last entry.
    """
    marks, near = make_buffers()
    filled = np.zeros(queries.shape[0], np.int64)
    limits = np.full(queries.shape[0], 64 * words.shape[0])
    tile = TILE // words.shape[0] // CHUNK * CHUNK
    for begin in range(first, last, tile):
        end = min(begin + tile, last)
        for q in range(queries.shape[0]):
            filled[q], n_tied[q], limits[q] = _rank_tile(
                queries[q], words, begin, end, starts, members, deleted,
                distances[q], items[q], filled[q], n_tied[q], limits[q], marks, near,
            )  # fmt: skip
