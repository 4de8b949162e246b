"""Binary reconstructive embeddings: one coefficient at a time, by exact search along its line.

While all bits but one stay, the squared errors of the reconstructed distances are a constant plus
a cost for each pair that this one bit tells apart. Along one coefficient the bit of a row flips
once, so every value that can make a difference is passed by flipping row after row.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._types import Float64Array, Int8Array, Int64Array

_LOOSE = {"reassoc", "contract", "nsz"}

_NARROW = 1e-9
"""Part of the usual gap, or step, that is too little to tell from rounding."""


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def _change(
    i: int, starts: Int64Array, others: Int64Array, costs: Float64Array, signs: Int8Array
) -> float:
    """What flipping row i adds to the cost."""
    total = 0.0
    for e in range(starts[i], starts[i + 1]):
        total += costs[e] * signs[others[e]]
    return total * signs[i]


@njit(nogil=True, cache=True)
def _walk(
    rows: Int64Array,
    flips: Float64Array,
    starts: Int64Array,
    others: Int64Array,
    costs: Float64Array,
    signs: Int8Array,
) -> tuple[float, float]:
    """Go outwards from 0, flipping these rows; return the best place and what it adds to the cost.

    ``signs`` are those of the start, and are again when done.
    """
    away = np.abs(flips[rows])
    order = np.argsort(away, kind="mergesort")
    # The median is the scale, as rows that hardly lie along the line flip as far out as one likes.
    narrow = _NARROW * np.median(away) if len(rows) > 0 else 0.0
    best, place, cost = 0.0, 0.0, 0.0
    for k in range(len(order)):
        i, here = rows[order[k]], away[order[k]]
        cost += _change(i, starts, others, costs, signs)
        signs[i] = -signs[i]
        # Past the last flip any place is as good; twice as far keeps the scale.
        there = 2 * here if here > 0 else 1.0
        if k + 1 < len(order):
            there = away[order[k + 1]]
        if cost < best and there - here > narrow:
            best, place = cost, (here + there) / 2
    for i in rows:
        signs[i] = -signs[i]
    return place, best


@njit(nogil=True, cache=True, error_model="numpy")
def line_search(
    values: Float64Array,
    along: Float64Array,
    starts: Int64Array,
    others: Int64Array,
    costs: Float64Array,
    signs: Int8Array,
) -> tuple[float, float]:
    """Return the t for which the bits values + t along > 0 cost least, and what that gains.

    t is 0 if nothing costs less than the bits as they are. Row i's pairs are ``others`` from
    ``starts[i]`` to ``starts[i + 1]``, each pair being with both its rows, and ``costs`` is what a
    pair costs when told apart. ``signs`` are 1 where ``values`` exceed 0 and -1 elsewhere.
    """
    n = len(values)
    flips = -values / along
    reach = np.abs(along).max()
    moves = np.abs(along) > _NARROW * reach
    # A row at 0 has the lower bit, and the other one as soon as it rises.
    rightwards = moves & ((flips > 0) | ((flips == 0) & (along > 0)))
    leftwards = moves & ~rightwards
    rows = np.arange(n)
    right, by_right = _walk(rows[rightwards], flips, starts, others, costs, signs)
    left, by_left = _walk(rows[leftwards], flips, starts, others, costs, signs)
    if by_right <= by_left:
        return right, -by_right
    return -left, -by_left


@njit(nogil=True, cache=True)
def pair_costs(
    errors: Float64Array,
    starts: Int64Array,
    others: Int64Array,
    signs: Int8Array,
    share: float,
    out: Float64Array,
) -> None:
    """What telling a pair apart adds to the squared errors, one bit counting ``share``.

    ``errors`` are those of all bits, this one as ``signs`` have it.
    """
    for i in range(len(signs)):
        for e in range(starts[i], starts[i + 1]):
            without = errors[e] + share * (signs[i] != signs[others[e]])
            out[e] = share * (share - 2 * without)


@njit(nogil=True, cache=True)
def sweep_bit(
    coefficients: Float64Array,
    kernels: Float64Array,
    errors: Float64Array,
    starts: Int64Array,
    others: Int64Array,
    share: float,
) -> None:
    """Improve the coefficients of one bit, each once, in place; keep the errors up to date.

    ``kernels`` holds a row for each coefficient: the kernels of its anchor and the rows.
    """
    n = kernels.shape[1]
    values = np.zeros(n)
    for q in range(len(coefficients)):
        values += coefficients[q] * kernels[q]
    signs = np.where(values > 0, np.int8(1), np.int8(-1))
    before = signs.copy()
    costs = np.empty_like(errors)
    pair_costs(errors, starts, others, signs, share, costs)
    for q in range(len(coefficients)):
        t, _ = line_search(values, kernels[q], starts, others, costs, signs)
        if t != 0:
            coefficients[q] += t
            values += t * kernels[q]
            signs[:] = np.where(values > 0, np.int8(1), np.int8(-1))
    for i in range(n):
        for e in range(starts[i], starts[i + 1]):
            j = others[e]
            errors[e] += share * (int(before[i] != before[j]) - int(signs[i] != signs[j]))
