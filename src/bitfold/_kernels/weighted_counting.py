"""Exact ranking by weighted Hamming distance for large k, as ``counting`` does it.

Distances are counted in bins of equal width. The arguments are described in ``weighted``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._kernels.counting import ROOM, STRIDE, count_needed, lower_limit
from bitfold._kernels.marks import CODES_PER_RUN, make_buffers
from bitfold._kernels.postings import count_live, count_live_from, live_item, member_range
from bitfold._kernels.ranking import TILE
from bitfold._kernels.scan import CHUNK
from bitfold._kernels.weighted import (
    MAX_LEVEL,
    bound_code,
    find_codes_within,
    measure_code,
    rank_tile,
    to_limit,
)
from bitfold._types import (
    BoolArray,
    Float64Array,
    Int32Array,
    Int64Array,
    UInt32Array,
    UInt64Array,
    Words,
)

_N_BINS = 2048
"""Number of bins: wide enough to be few, narrow enough to hold few items each."""

# Positions in the state of a query: the number of items in its buffer, the number of items within
# the last bin that matters, that bin, the largest bound that matters, and the number of items at
# the cutoff distance that were dropped.
_FILLED, _TOTAL, _BIN, _LIMIT, _DROPPED = range(5)


@njit(nogil=True, cache=True, error_model="numpy")
def _to_bin(distance: float, width: float) -> int:
    """Return the bin of a distance; it never decreases with the distance."""
    return min(int(distance / width), _N_BINS - 1) if width > 0 else 0


@njit(nogil=True, cache=True)
def _start(state: Int64Array, guess: float, width: float, scale: float, n_words: int) -> None:
    """Set the state of a query that expects k items within a distance."""
    state[:] = 0
    state[_BIN], state[_LIMIT] = _N_BINS - 1, MAX_LEVEL * 64 * n_words
    if guess < np.inf:
        state[_BIN] = _to_bin(guess, width)
        state[_LIMIT] = min(state[_LIMIT], to_limit((state[_BIN] + 1) * width, scale))


@njit(nogil=True, cache=True)
def _sort(near: Float64Array, found: Int64Array) -> None:
    """Sort by distance, then item."""
    by_item = np.argsort(found)
    order = by_item[np.argsort(near[by_item], kind="mergesort")]
    near[:], found[:] = near[order], found[order]


@njit(nogil=True, cache=True)
def _keep_near_bins(
    near: Float64Array, found: Int64Array, state: Int64Array, cutoff: float, width: float
) -> int:
    """Drop the items beyond the cutoff distance or in far bins; return the number of the others."""
    filled = 0
    for i in range(state[_FILLED]):
        if near[i] <= cutoff and _to_bin(near[i], width) <= state[_BIN]:
            near[filled], found[filled] = near[i], found[i]
            filled += 1
    return filled


@njit(nogil=True, cache=True)
def _drop_far_items(
    near: Float64Array,
    found: Int64Array,
    state: Int64Array,
    cutoff: float,
    k: int,
    width: float,
    scale: float,
) -> float:
    """Drop the items in far bins; sort and keep k if many are left. Return the cutoff distance.

    No item beyond the cutoff distance is among the nearest.
    """
    filled = _keep_near_bins(near, found, state, cutoff, width)
    if filled > ROOM // 2 * k:
        _sort(near[:filled], found[:filled])
        if near[k - 1] < cutoff:
            cutoff = near[k - 1]
            state[_DROPPED] = 0
        state[_DROPPED] += np.searchsorted(near[:filled], cutoff, "right") - k
        state[_LIMIT] = min(state[_LIMIT], to_limit(cutoff, scale))
        filled = k
    state[_FILLED] = filled
    return cutoff


@njit(nogil=True, cache=True)
def _append_items(
    code: int,
    d: float,
    starts: UInt32Array,
    members: UInt32Array,
    deleted: BoolArray,
    near: Float64Array,
    found: Int64Array,
    state: Int64Array,
    cutoff: float,
    k: int,
    width: float,
    scale: float,
) -> float:
    """Append the items of a code to the buffer, at most k; return the cutoff distance."""
    n_appended = 0
    first, last = member_range(code, starts)
    for e in range(first, last):
        item = live_item(e, members, deleted)
        if item < 0:
            continue
        if n_appended == k:
            if d < cutoff:
                cutoff = d
                state[_DROPPED] = 0
            if d == cutoff:
                state[_DROPPED] += count_live_from(e, last, members, deleted)
            break
        if state[_FILLED] == near.shape[0]:
            cutoff = _drop_far_items(near, found, state, cutoff, k, width, scale)
        near[state[_FILLED]], found[state[_FILLED]] = d, item
        state[_FILLED] += 1
        n_appended += 1
    return cutoff


@njit(nogil=True, cache=True)
def _count_tile(
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
    near: Float64Array,
    found: Int64Array,
    counts: Int32Array,
    state: Int64Array,
    cutoff: float,
    k: int,
    width: float,
    marks: UInt64Array,
    codes: Int64Array,
) -> float:
    """Count and append the items of the codes [first, last); return the cutoff distance."""
    for start in range(first, last, CODES_PER_RUN):
        n_codes = find_codes_within(words, start, last, query, planes, state[_LIMIT], marks, codes)
        for c in codes[:n_codes]:
            if bound_code(words, c, query, planes) > state[_LIMIT]:
                continue
            d = measure_code(words, c, query, weights)
            near_bin = _to_bin(d, width)
            if d > cutoff or near_bin > state[_BIN]:
                continue
            n_live = count_live(c, starts, members, deleted)
            counts[near_bin] += n_live
            total, last_bin = lower_limit(counts, state[_TOTAL] + n_live, state[_BIN], k)
            if last_bin < state[_BIN]:
                state[_LIMIT] = min(state[_LIMIT], to_limit((last_bin + 1) * width, scale))
            state[_TOTAL], state[_BIN] = total, last_bin
            if near_bin <= last_bin:
                cutoff = _append_items(
                    c, d, starts, members, deleted, near, found, state, cutoff, k, width, scale
                )
    return cutoff


@njit(nogil=True, cache=True)
def _guess_distance(
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
    n_needed: int,
    marks: UInt64Array,
    codes: Int64Array,
) -> float:
    """Return a distance that probably has k items, from a sample of the codes."""
    near, found = np.full(n_needed, np.inf), np.empty(n_needed, np.int64)
    filled, n_tied, limit = 0, 0, MAX_LEVEL * 64 * words.shape[0]
    for start in range(first, last - CHUNK + 1, CHUNK * STRIDE):
        filled, n_tied, limit = rank_tile(
            query, weights, planes, scale, words, start, start + CHUNK,
            starts, members, deleted, near, found, filled, n_tied, limit, marks, codes,
        )  # fmt: skip
    return float(near[n_needed - 1])


@njit(nogil=True, cache=True)
def _write_row(
    near: Float64Array,
    found: Int64Array,
    state: Int64Array,
    cutoff: float,
    width: float,
    distances: Float64Array,
    items: Int64Array,
    n_tied: Int64Array,
) -> None:
    """Write the nearest items of a buffer to a row of the result, and the number of ties."""
    k, filled = distances.shape[0], _keep_near_bins(near, found, state, cutoff, width)
    near, found = near[:filled], found[:filled]
    _sort(near, found)
    n_written = min(filled, k)
    distances[:n_written], items[:n_written] = near[:n_written], found[:n_written]
    if filled >= k:
        farthest = near[k - 1]
        n_equal = np.searchsorted(near, farthest, "right") - np.searchsorted(near, farthest)
        n_tied[0] = n_equal + (state[_DROPPED] if farthest == cutoff else 0)


@njit(nogil=True, cache=True)
def rank_by_counting(
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
    """Rank like :func:`weighted.rank_by_insertion`, for large k."""
    n, k = distances.shape
    marks, codes = make_buffers()
    room = min(ROOM * k, max(members.shape[0], last - first))
    near, found = np.empty((n, room)), np.empty((n, room), np.int64)
    counts, state = np.zeros((n, _N_BINS), np.int32), np.zeros((n, 5), np.int64)
    cutoffs, widths = np.full(n, np.inf), np.empty(n)
    for q in range(n):
        widths[q] = weights[q].sum() / _N_BINS
        guess = _guess_distance(
            queries[q], weights[q], planes[q], scales[q], words, first, last,
            starts, members, deleted, count_needed(k, 1 / STRIDE), marks, codes,
        )  # fmt: skip
        _start(state[q], guess, widths[q], scales[q], words.shape[0])
    last_guesses = state[:, _BIN].copy()
    tile = TILE // words.shape[0] // CHUNK * CHUNK
    for begin in range(first, last, tile):
        end = min(begin + tile, last)
        for q in range(n):
            cutoffs[q] = _count_tile(
                queries[q], weights[q], planes[q], scales[q], words, begin, end,
                starts, members, deleted, near[q], found[q], counts[q], state[q], cutoffs[q],
                k, widths[q], marks, codes,
            )  # fmt: skip
    for q in range(n):
        if state[q, _TOTAL] < k and last_guesses[q] < _N_BINS - 1:  # the guess was too low
            counts[q] = 0
            _start(state[q], np.inf, widths[q], scales[q], words.shape[0])
            cutoffs[q] = _count_tile(
                queries[q], weights[q], planes[q], scales[q], words, first, last,
                starts, members, deleted, near[q], found[q], counts[q], state[q], np.inf,
                k, widths[q], marks, codes,
            )  # fmt: skip
        _write_row(
            near[q], found[q], state[q], cutoffs[q], widths[q], distances[q], items[q], n_tied[q:]
        )
