"""Binary reconstructive embeddings: exact line search, one coefficient at a time.

If all bits but one are fixed, the squared errors of the reconstructed distances are a constant
plus a cost for each pair in which this bit differs. Along one coefficient the bit of each row
flips once, so all possible costs are found by flipping one row after another.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._types import Float64Array, Int8Array, Int64Array

_NEGLIGIBLE = 1e-9
"""Gaps and steps below this fraction of the typical one are treated as rounding errors."""


@njit(nogil=True, cache=True)
def _cost_change(
    i: int, starts: Int64Array, others: Int64Array, costs: Float64Array, signs: Int8Array
) -> float:
    """Return the change of the cost if the bit of row i is flipped."""
    # Four sums, because each addition would wait for the one before.
    p, q, r, s = 0.0, 0.0, 0.0, 0.0
    first, last = starts[i], starts[i + 1]
    whole = last - (last - first) % 4
    for e in range(first, whole, 4):
        p += costs[e] * signs[others[e]]
        q += costs[e + 1] * signs[others[e + 1]]
        r += costs[e + 2] * signs[others[e + 2]]
        s += costs[e + 3] * signs[others[e + 3]]
    for e in range(whole, last):
        p += costs[e] * signs[others[e]]
    return ((p + q) + (r + s)) * signs[i]


@njit(nogil=True, cache=True)
def _flip_outward(
    rows: Int64Array,
    flips: Float64Array,
    starts: Int64Array,
    others: Int64Array,
    costs: Float64Array,
    signs: Int8Array,
) -> tuple[float, float]:
    """Flip rows in the order of their distance from 0; return the best position and its cost.

    The cost is relative to the start. ``signs`` are restored at the end.
    """
    distances = np.abs(flips[rows])
    order = np.argsort(distances, kind="mergesort")
    # The median is the scale, because rows that barely change along the line flip far out.
    min_gap = _NEGLIGIBLE * np.median(distances) if len(rows) > 0 else 0.0
    best, position, cost = 0.0, 0.0, 0.0
    for k in range(len(order)):
        i, position_before = rows[order[k]], distances[order[k]]
        cost += _cost_change(i, starts, others, costs, signs)
        signs[i] = -signs[i]
        # All positions after the last flip are equivalent; twice its distance keeps the scale.
        position_after = 2 * position_before if position_before > 0 else 1.0
        if k + 1 < len(order):
            position_after = distances[order[k + 1]]
        if cost < best and position_after - position_before > min_gap:
            best, position = cost, (position_before + position_after) / 2
    for i in rows:
        signs[i] = -signs[i]
    return position, best


@njit(nogil=True, cache=True, error_model="numpy")
def line_search(
    values: Float64Array,
    along: Float64Array,
    starts: Int64Array,
    others: Int64Array,
    costs: Float64Array,
    signs: Int8Array,
) -> tuple[float, float]:
    """Return the t for which the bits values + t along > 0 have the lowest cost, and the gain.

    t is 0 if the present bits have the lowest cost. The pairs of row i are ``others`` from
    ``starts[i]`` to ``starts[i + 1]``; each pair is listed for both of its rows. ``costs`` are the
    costs of pairs whose bits differ. ``signs`` are 1 where ``values`` are positive, otherwise -1.
    """
    n = len(values)
    flips = -values / along
    largest = np.abs(along).max()
    changes = np.abs(along) > _NEGLIGIBLE * largest
    # A row at 0 has the bit 0, and flips as soon as its value increases.
    to_right = changes & ((flips > 0) | ((flips == 0) & (along > 0)))
    to_left = changes & ~to_right
    rows = np.arange(n)
    right, by_right = _flip_outward(rows[to_right], flips, starts, others, costs, signs)
    left, by_left = _flip_outward(rows[to_left], flips, starts, others, costs, signs)
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
    """Write the change of the squared errors if the bits of a pair differ to ``out``.

    One differing bit adds ``share`` to a distance. ``errors`` are those of all bits, including
    this one as given by ``signs``.
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
    """Improve each coefficient of one bit once, in place, and update the errors.

    ``kernels`` has one row per coefficient: the kernel values of its anchor with all rows.
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
