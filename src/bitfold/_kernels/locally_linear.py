"""Locality-sensitive sparse weights: how a row is best rebuilt from its nearest base points."""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._types import Float32Array, Float64Array, Int32Array

_RIDGE = 1e-6
"""Added to the Gram matrix, at mean 1: more than the rounding of the distances it is made from."""

_TOLERANCE = 1e-6
"""Slope that counts as none, at that scale."""

_MOST_STEPS = 200
"""Steps for each neighbor; some tens are usual."""


@njit(nogil=True, cache=True, error_model="numpy")
def sparse_weights(
    indices: Int32Array,
    sq_distances: Float64Array,
    apart: Float32Array,
    penalty: float,
    out: Float32Array,
) -> None:
    """For each row x: the w of sum 1 that minimizes |x - Σ w_j b_j|²/2 + λ Σ s_j |w_j|.

    The s_j are the distances to the neighbors b_j in parts of their sum. Squares are taken
    relative to the mean squared distance, so that λ is a plain number. ``apart[i, j]`` is
    |b_i - b_j|², and with the distances gives all the inner products there are.
    """
    k = indices.shape[1]
    G, s, w = np.empty((k, k)), np.empty(k), np.empty(k)
    for row in range(indices.shape[0]):
        _describe(indices[row], sq_distances[row], apart, G, s)
        _minimize(G, penalty * s, w)
        for j in range(k):
            out[row, j] = np.float32(w[j])


@njit(nogil=True, cache=True, error_model="numpy")
def _describe(
    near: Int32Array,
    sq_distances: Float64Array,
    apart: Float32Array,
    G: Float64Array,
    s: Float64Array,
) -> None:
    """Fill in the Gram matrix of the offsets b_j - x, and the distances, both scaled."""
    k = len(near)
    mean, total = 0.0, 0.0
    for i in range(k):
        mean += sq_distances[i] / k
        total += np.sqrt(sq_distances[i])
    if mean == 0:  # all neighbors are where the row is
        mean, total = 1.0, 1.0
    for i in range(k):
        s[i] = np.sqrt(sq_distances[i]) / total
        for j in range(k):
            between = np.float64(apart[near[i], near[j]])
            G[i, j] = (sq_distances[i] + sq_distances[j] - between) / (2 * mean)
        G[i, i] += _RIDGE


@njit(nogil=True, cache=True)
def _minimize(G: Float64Array, costs: Float64Array, w: Float64Array) -> None:
    """Minimize wᵀGw/2 + Σ costs |w| over w of sum 1, two weights at a time.

    Moving weight from one neighbor to another keeps the sum. At any point but the minimum some
    such move descends, as the costs are separate; the steepest is made as far as it descends.
    """
    k = len(w)
    w[:] = 0
    w[0] = 1
    slopes = G[:, 0].copy()
    for _ in range(_MOST_STEPS * k):
        to, since = 0, 0
        gain, loss = np.inf, -np.inf
        for i in range(k):
            up = slopes[i] + (costs[i] if w[i] >= 0 else -costs[i])
            down = slopes[i] + (costs[i] if w[i] > 0 else -costs[i])
            if up < gain:
                gain, to = up, i
            if down > loss:
                loss, since = down, i
        if not gain < loss - _TOLERANCE:
            return
        curvature = G[to, to] + G[since, since] - 2 * G[to, since]
        step = _descend(gain - loss, curvature, -w[to], costs[to], w[since], costs[since])
        w[to] += step
        w[since] -= step
        for i in range(k):
            slopes[i] += step * (G[i, to] - G[i, since])


@njit(nogil=True, cache=True)
def _descend(
    slope: float, curvature: float, first: float, jump: float, second: float, other: float
) -> float:
    """Return where a falling slope, rising with the curvature, is zero or jumps above it.

    It jumps by twice ``jump`` at ``first`` and by twice ``other`` at ``second``, where these are
    ahead: there a weight changes its sign.
    """
    if first > second:
        first, jump, second, other = second, other, first, jump
    place = 0.0
    for corner, rise in ((first, jump), (second, other)):
        if corner > 0:
            if slope + curvature * (corner - place) >= 0:
                return place - slope / curvature
            slope += curvature * (corner - place) + 2 * rise
            place = corner
            if slope >= 0:
                return place
    return place - slope / curvature


@njit(nogil=True, cache=True)
def weighted_sum(
    indices: Int32Array, weights: Float32Array, embedding: Float32Array, out: Float32Array
) -> None:
    """out[i] = Σ_j weights[i, j] embedding[indices[i, j]], in that order."""
    out[:] = 0
    for row in range(indices.shape[0]):
        for j in range(indices.shape[1]):
            weight, y = weights[row, j], embedding[indices[row, j]]
            for c in range(embedding.shape[1]):
                out[row, c] += weight * y[c]
