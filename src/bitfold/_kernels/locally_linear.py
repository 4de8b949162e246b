"""Locality-sensitive sparse weights that reconstruct a row from its nearest base points."""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._types import Float32Array, Float64Array, Int32Array

RIDGE = 1e-6
"""Added to the diagonal of the Gram matrix, whose mean is 1; larger than rounding errors."""

TOLERANCE = 1e-6
"""Slopes below this value count as zero, at the same scale."""

MAX_STEPS = 200
"""Maximum number of steps per neighbor; usually a few dozen are made."""


@njit(nogil=True, cache=True, error_model="numpy")
def sparse_weights(
    indices: Int32Array,
    sq_distances: Float64Array,
    base_sq_distances: Float32Array,
    penalty: float,
    out: Float32Array,
) -> None:
    """Find, for each row x, the w of sum 1 that minimizes |x - Σ w_j b_j|²/2 + λ Σ s_j |w_j|.

    The s_j are the distances to the neighbors b_j, divided by their sum. Squares are relative to
    the mean squared distance, so that λ has no unit. ``base_sq_distances[i, j]`` is |b_i - b_j|²;
    all inner products follow from these and the distances.
    """
    k = indices.shape[1]
    G, s, w = np.empty((k, k)), np.empty(k), np.empty(k)
    for row in range(indices.shape[0]):
        _compute_gram(indices[row], sq_distances[row], base_sq_distances, G, s)
        _minimize(G, penalty * s, w)
        for j in range(k):
            out[row, j] = np.float32(w[j])


@njit(nogil=True, cache=True, error_model="numpy")
def _compute_gram(
    near: Int32Array,
    sq_distances: Float64Array,
    base_sq_distances: Float32Array,
    G: Float64Array,
    s: Float64Array,
) -> None:
    """Compute the Gram matrix of the offsets b_j - x, and the distances, both scaled."""
    k = len(near)
    mean, total = 0.0, 0.0
    for i in range(k):
        mean += sq_distances[i] / k
        total += np.sqrt(sq_distances[i])
    if mean == 0:  # all neighbors are equal to the row
        mean, total = 1.0, 1.0
    for i in range(k):
        s[i] = np.sqrt(sq_distances[i]) / total
        for j in range(k):
            between = np.float64(base_sq_distances[near[i], near[j]])
            G[i, j] = (sq_distances[i] + sq_distances[j] - between) / (2 * mean)
        G[i, i] += RIDGE


@njit(nogil=True, cache=True)
def _minimize(G: Float64Array, costs: Float64Array, w: Float64Array) -> None:
    """Minimize wᵀGw/2 + Σ costs |w| over w of sum 1, two weights at a time.

    Moving weight from one neighbor to another keeps the sum. Because the costs are separable, such
    a move descends from every point except the minimum; the steepest one is made until the slope
    is zero.
    """
    k = len(w)
    w[:] = 0
    w[0] = 1
    slopes = G[:, 0].copy()
    for _ in range(MAX_STEPS * k):
        target, source = 0, 0
        gain, loss = np.inf, -np.inf
        for i in range(k):
            up = slopes[i] + (costs[i] if w[i] >= 0 else -costs[i])
            down = slopes[i] + (costs[i] if w[i] > 0 else -costs[i])
            if up < gain:
                gain, target = up, i
            if down > loss:
                loss, source = down, i
        if not gain < loss - TOLERANCE:
            return
        curvature = G[target, target] + G[source, source] - 2 * G[target, source]
        step = _find_step(
            gain - loss, curvature, -w[target], costs[target], w[source], costs[source]
        )
        w[target] += step
        w[source] -= step
        for i in range(k):
            slopes[i] += step * (G[i, target] - G[i, source])


@njit(nogil=True, cache=True)
def _find_step(
    slope: float, curvature: float, first: float, jump: float, second: float, other: float
) -> float:
    """Return the step at which a negative slope reaches zero.

    The slope increases with the curvature, and jumps by twice ``jump`` at ``first`` and by twice
    ``other`` at ``second``, if these are positive: there a weight changes its sign.
    """
    if first > second:
        first, jump, second, other = second, other, first, jump
    position = 0.0
    for corner, rise in ((first, jump), (second, other)):
        if corner > 0:
            if slope + curvature * (corner - position) >= 0:
                return position - slope / curvature
            slope += curvature * (corner - position) + 2 * rise
            position = corner
            if slope >= 0:
                return position
    return position - slope / curvature


@njit(nogil=True, cache=True)
def weighted_sum(
    indices: Int32Array, weights: Float32Array, embedding: Float32Array, out: Float32Array
) -> None:
    """Set out[i] = Σ_j weights[i, j] embedding[indices[i, j]], summed in this order."""
    out[:] = 0
    for row in range(indices.shape[0]):
        for j in range(indices.shape[1]):
            weight, y = weights[row, j], embedding[indices[row, j]]
            for c in range(embedding.shape[1]):
                out[row, c] += weight * y[c]
