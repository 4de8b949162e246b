"""Buckets: the codes with equal bits in one part lie next to each other.

If codes are divided into parts, a code near the query is near it in at least one part. It is found
by probing one table per part at a few values. Norouzi, Punjani and Fleet, *Fast exact search in
Hamming space with multi-index hashing*, PAMI 2014.

The codes are copied into the order of the buckets, one word per code, so that comparing a bucket
reads memory in order. Longer codes are compared by this word first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from bitfold._kernels.hit_lists import append_items, reserve, sort_keys
from bitfold._kernels.marks import make_buffers
from bitfold._kernels.near import append_near, list_near, scan_codes
from bitfold._kernels.postings import CodeItems
from bitfold._kernels.prefetching import prefetch
from bitfold._kernels.ranking import TILE
from bitfold._types import BoolArray, Int64Array, UInt32Array, UInt64Array, Words

_AHEAD = 8
"""Number of queries whose first buckets are loaded ahead; twice as many for where they begin."""

_N_TO_EXTRAPOLATE = 8
"""Number of queries from whose hits the space for the keys of all queries is extrapolated."""

_BLOCK = 1024
"""Number of codes whose values are computed together."""


class PartKeys(NamedTuple):
    """How the value of each part is computed: a table lookup for each byte with bits of the part.

    Parameters
    ----------
    places
        Number of each byte, one row per part.
    values
        What each value of a byte contributes; 0 for unused places.
    """

    places: Int64Array
    values: UInt32Array


class BucketArrays(NamedTuple):
    """The codes sorted by each part.

    Parameters
    ----------
    words
        One word of each code, for one part after the other.
    order
        Number of each code, for one part after the other.
    starts
        Where the bucket of each value begins, for one part after the other.
    firsts
        Where the starts of each part begin.
    columns
        Which word of the codes is in ``words``, per part.
    """

    words: UInt64Array
    order: UInt32Array
    starts: UInt32Array
    firsts: Int64Array
    columns: Int64Array


class ProbeArrays(NamedTuple):
    """The values that are probed in each part.

    Parameters
    ----------
    masks
        The bits of each part, one row per part.
    radii
        Radius of each part.
    flips
        Bits of the value to flip, for one part after the other.
    ends
        Where the flips of each part end.
    """

    masks: Words
    radii: Int64Array
    flips: UInt32Array
    ends: Int64Array


@njit(nogil=True, cache=True)
def _compute_values(
    columns: Words,
    begin: int,
    end: int,
    places: Int64Array,
    values: UInt32Array,
    out: UInt32Array,
) -> None:
    """Write the bits of a part of the codes [begin, end) as integers."""
    out[: end - begin] = 0
    for k in range(places.shape[0]):
        words, shift = columns[places[k] >> 3, begin:end], np.uint64(8 * (places[k] & 7))
        contributed = values[k]
        for c in range(words.shape[0]):
            out[c] |= contributed[(words[c] >> shift) & np.uint64(255)]


@njit(nogil=True, cache=True)
def sort_by_part(
    columns: Words,
    places: Int64Array,
    values: UInt32Array,
    column: int,
    starts: UInt32Array,
    order: UInt32Array,
    words: UInt64Array,
) -> None:
    """Sort codes by one part: the codes with value v are ``order[starts[v]:starts[v + 1]]``."""
    n = columns.shape[1]
    buffer = np.empty(_BLOCK, np.uint32)
    starts[:] = 0
    for begin in range(0, n, _BLOCK):
        end = min(begin + _BLOCK, n)
        _compute_values(columns, begin, end, places, values, buffer)
        for c in range(end - begin):
            starts[np.uint64(buffer[c]) + np.uint64(1)] += np.uint32(1)
    for v in range(1, starts.shape[0]):
        starts[v] += starts[v - 1]
    for begin in range(0, n, _BLOCK):
        end = min(begin + _BLOCK, n)
        _compute_values(columns, begin, end, places, values, buffer)
        source = columns[column, begin:end]
        for c in range(end - begin):
            place = starts[buffer[c]]
            starts[buffer[c]] = place + np.uint32(1)
            order[place] = begin + c
            words[place] = source[c]
    # Each start has moved to that of the next value; shift them back.
    for v in range(starts.shape[0] - 1, 0, -1):
        starts[v] = starts[v - 1]
    starts[0] = 0


@njit(nogil=True, cache=True)
def _list_ranges(
    value: int,
    starts: UInt32Array,
    first: int,
    shift: int,
    flips: UInt32Array,
    first_flip: int,
    last_flip: int,
    begins: Int64Array,
    ends: Int64Array,
    filled: int,
) -> tuple[int, Any]:
    """Append the ranges of the buckets to probe that are not empty, shifted.

    Return the new number of ranges, and the number of codes in the ranges appended.
    """
    n_codes = np.int64(0)
    for f in range(first_flip, last_flip):
        slot = first + (value ^ np.int64(flips[f]))
        begin, end = np.int64(starts[slot]), np.int64(starts[slot + 1])
        begins[filled], ends[filled] = begin + shift, end + shift
        filled += int(end > begin)
        n_codes += end - begin
    return filled, n_codes


@njit(nogil=True, cache=True)
def probe_within(
    queries: Words,
    columns: Words,
    part_keys: PartKeys,
    tables: BucketArrays,
    probes: ProbeArrays,
    radius: int,
    n_words: int,
    max_codes: int,
    n_items: int,
    table: CodeItems,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    ends: Int64Array,
) -> UInt64Array:
    """Return the sorted keys of all items within ``radius`` of each query.

    ``ends`` receives the position where the keys of each query end. A query whose buckets have
    more than ``max_codes`` codes together scans all codes instead; see :func:`scan_codes` for
    ``n_words``. Codes and items are related as in :func:`append_items`. Arrays are taken out of the
    tuples once and not sliced, because counting their references would take as long as a lookup
    within a small radius.
    """
    key_places, key_values = part_keys
    words, order, bucket_starts, firsts, word_columns = tables
    masks, radii, flips, flip_ends = probes
    n_parts = radii.shape[0]
    range_begins = np.empty(flips.shape[0] + 1, np.int64)
    range_ends = np.empty(flips.shape[0] + 1, np.int64)
    range_counts = np.empty(n_parts, np.int64)
    places = np.empty(max_codes + 1, np.int64)
    codes = np.empty(columns.shape[1], np.uint64)
    keys = np.empty(16 * queries.shape[0], np.uint64)
    marks, near = make_buffers()
    values = np.empty((n_parts, queries.shape[0]), np.uint32)
    for part in range(n_parts):
        _compute_values(
            queries.T, 0, queries.shape[0], key_places[part], key_values[part], values[part]
        )
    filled, n_queries = 0, queries.shape[0]
    last = n_queries - 1
    for q in range(queries.shape[0]):
        query = queries[q]
        soon, later = min(q + _AHEAD, last), min(q + 2 * _AHEAD, last)
        n_ranges, n_codes, first = 0, 0, np.int64(0)
        for part in range(n_parts):
            prefetch(bucket_starts, firsts[part] + np.int64(values[part, later]))
            begin = np.int64(bucket_starts[firsts[part] + np.int64(values[part, soon])])
            prefetch(words, part * columns.shape[1] + begin)
            n_ranges, n = _list_ranges(
                np.int64(values[part, q]), bucket_starts, firsts[part], part * columns.shape[1],
                flips, first, flip_ends[part], range_begins, range_ends, n_ranges,
            )  # fmt: skip
            n_codes += n
            range_counts[part] = n_ranges
            first = flip_ends[part]
        n_near = 0
        if n_codes > max_codes:
            n_near = scan_codes(
                columns, 0, columns.shape[1], query, radius, n_words, codes, 0, marks, near
            )
        elif n_codes:
            first = np.int64(0)
            for part in range(n_parts):
                n_places = list_near(
                    words, range_begins, range_ends, first, range_counts[part],
                    query[word_columns[part]], radius, places,
                )  # fmt: skip
                first = range_counts[part]
                if n_places:
                    n_near = append_near(
                        words, order, places, n_places, columns, query, radius,
                        masks, radii, part, codes, n_near,
                    )  # fmt: skip
        if q == _N_TO_EXTRAPOLATE:
            # Growing later would copy the keys, and new memory costs a page fault per 512 keys.
            keys = reserve(keys, filled * n_queries // _N_TO_EXTRAPOLATE * 5 // 4)
        if n_near:
            previous = filled
            keys, filled = append_items(
                codes[:n_near], table, starts, members, deleted, keys, filled
            )
            sort_keys(keys[previous:filled], n_items, radius)
        ends[q] = filled
    return keys[:filled]


@njit(nogil=True, cache=True)
def scan_within(
    queries: Words,
    columns: Words,
    radius: int,
    n_words: int,
    n_items: int,
    table: CodeItems,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    ends: Int64Array,
) -> UInt64Array:
    """Return the sorted keys of all items within ``radius`` of each query, by scans.

    All queries scan a tile of the codes before the next one, so that it stays in the cache.
    """
    n, n_codes = queries.shape[0], columns.shape[1]
    tile = TILE // n_words
    n_tiles = -(-n_codes // tile)
    found, n_found = np.empty(tile + 16 * n, np.uint64), 0
    found_ends = np.empty((n_tiles, n), np.int64)
    marks, near = make_buffers()
    for t in range(n_tiles):
        first, last = t * tile, min((t + 1) * tile, n_codes)
        for q in range(n):
            found = reserve(found, n_found + last - first)
            n_found = scan_codes(
                columns, first, last, queries[q], radius, n_words, found, n_found, marks, near
            )
            found_ends[t, q] = n_found
    codes = np.empty(n_codes, np.uint64)
    keys, filled = np.empty(16 * n, np.uint64), 0
    for q in range(n):
        n_near = 0
        for t in range(n_tiles):
            end = found_ends[t, q]
            begin = found_ends[t, q - 1] if q else found_ends[t - 1, n - 1] if t else 0
            codes[n_near : n_near + end - begin] = found[begin:end]
            n_near += end - begin
        previous = filled
        keys, filled = append_items(codes[:n_near], table, starts, members, deleted, keys, filled)
        sort_keys(keys[previous:filled], n_items, radius)
        ends[q] = filled
    return keys[:filled]
