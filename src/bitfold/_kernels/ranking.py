"""Exact ranking by Hamming distance.

Codes are scanned in the order of their smallest item, and the items of a code are ascending, so
ties go by item without sorting. The arguments are described in ``postings`` and ``scan``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._kernels.scan import CHUNK, find_chunk, measure_codes
from bitfold._kernels.sorted_list import insert_items
from bitfold._types import BoolArray, Int32Array, Int64Array, UInt32Array, Words

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
    buffer: Int64Array,
) -> tuple[int, int, int]:
    """Insert the codes [first, last) into the list of a query.

    Return the length of the list, the number of ties with its last entry, and the distance of
    that entry, which is the largest distance that still matters.
    """
    k = distances.shape[0]
    # If each code has one item, later ties are only counted: items are ascending.
    has_one_item = not starts.shape[0] and not deleted.shape[0]
    start, n_near = find_chunk(words, query, first, last, limit, buffer)
    while start < last:
        stop = min(start + CHUNK, last)
        only_ties = False
        if filled == k and has_one_item:
            only_ties = find_chunk(words, query, start, stop, limit - 1, buffer)[0] >= stop
        if only_ties:
            n_tied += n_near
        else:
            measure_codes(words, start, stop, query, buffer)
            for i in range(stop - start):
                if buffer[i] <= limit:
                    filled, n_tied = insert_items(
                        start + i, buffer[i], starts, members, deleted,
                        distances, items, filled, n_tied,
                    )  # fmt: skip
                    if filled == k:
                        limit = int(distances[k - 1])
        start, n_near = find_chunk(words, query, start + CHUNK, last, limit, buffer)
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
    buffer = np.empty(CHUNK, np.int64)
    filled = np.zeros(queries.shape[0], np.int64)
    limits = np.full(queries.shape[0], 64 * words.shape[0])
    tile = TILE // words.shape[0] // CHUNK * CHUNK
    for begin in range(first, last, tile):
        end = min(begin + tile, last)
        for q in range(queries.shape[0]):
            filled[q], n_tied[q], limits[q] = _rank_tile(
                queries[q], words, begin, end, starts, members, deleted,
                distances[q], items[q], filled[q], n_tied[q], limits[q], buffer,
            )  # fmt: skip
