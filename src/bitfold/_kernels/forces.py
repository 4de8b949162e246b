"""Forces between base points in the embedding: the steps between the matrix products.

The repulsion of m points is two matrix products, Y Yᵀ and (weights) Y, with one pass over the
weights between them; the attraction is a sum over the sparse affinities. All functions use
``error_model="numpy"``, because the checks for division by zero of Python's model prevent
vectorization.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from bitfold._types import Float32Array, Int32Array


@njit(nogil=True, cache=True, error_model="numpy", fastmath=True)
def cauchy_between(
    products: Float32Array, sq_norms: Float32Array, other_sq_norms: Float32Array, sums: Float32Array
) -> float:
    """Turn inner products of points with other points into squared Student weights, in place.

    ``products[i, j]`` = y_i·z_j becomes w² with w = 1 / (1 + |y_i - z_j|²). ``sums`` receives the
    sum of each row; the sum of all w is returned.
    """
    total = 0.0
    for i in range(products.shape[0]):
        row = products[i]
        offset = sq_norms[i]
        mass = np.float32(0)
        square_mass = np.float32(0)
        for j in range(row.shape[0]):
            # Rounding may make the distance of points far from the origin negative.
            sq_distance = max(offset + other_sq_norms[j] - np.float32(2) * row[j], np.float32(0))
            w = np.float32(1) / (np.float32(1) + sq_distance)
            mass += w
            row[j] = w * w
            square_mass += w * w
        sums[i] = square_mass
        total += float(mass)
    return total


@njit(nogil=True, cache=True, error_model="numpy", fastmath=True)
def cauchy(products: Float32Array, sq_norms: Float32Array, first: int, sums: Float32Array) -> float:
    """Compute the weights of ``cauchy_between`` from some points to all points.

    Row i is the point with number ``first`` + i; its weight to itself is 0.
    """
    n = products.shape[0]
    total = cauchy_between(products, sq_norms[first : first + n], sq_norms, sums)
    for i in range(n):
        own = products[i, first + i]
        products[i, first + i] = 0
        sums[i] -= own
        total -= math.sqrt(own)
    return total


@njit(nogil=True, cache=True, error_model="numpy", fastmath=True)
def add_near(
    Y: Float32Array,
    near: Int32Array,
    times: Float32Array,
    first: int,
    out: Float32Array,
) -> float:
    """Add Σ times_j w_ij² (y_i - y_j) over the listed pairs to ``out``; return Σ times_j w_ij."""
    total = 0.0
    n_components = Y.shape[1]
    for i in range(out.shape[0]):
        y = Y[first + i]
        force = out[i]
        for e in range(near.shape[1]):
            j = near[first + i, e]
            other = Y[j]
            sq_distance = np.float32(0)
            for c in range(n_components):
                sq_distance += (y[c] - other[c]) * (y[c] - other[c])
            w = np.float32(1) / (np.float32(1) + sq_distance)
            push = times[j] * w * w
            total += float(times[j] * w)
            for c in range(n_components):
                force[c] += push * (y[c] - other[c])
    return total


@njit(nogil=True, cache=True, error_model="numpy")
def exponents(products: Float32Array, sq_norms: Float32Array, first: int) -> None:
    """Turn inner products into -|y_i - y_j|² in place, and the diagonal into -infinity."""
    for i in range(products.shape[0]):
        row = products[i]
        offset = sq_norms[first + i]
        for j in range(row.shape[0]):
            row[j] = min(np.float32(2) * row[j] - offset - sq_norms[j], np.float32(0))
        row[first + i] = -np.inf


@njit(nogil=True, cache=True, error_model="numpy", fastmath=True)
def attraction(
    Y: Float32Array,
    indptr: Int32Array,
    indices: Int32Array,
    values: Float32Array,
    student: bool,
    with_cost: bool,
    first: int,
    out: Float32Array,
) -> float:
    """Write Σ p_ij w_ij (y_i - y_j) over the affinities of points from ``first`` to ``out``.

    w is the Student weight, or 1 for the Gaussian methods. With ``with_cost``, return the
    attractive part of the cost, Σ p_ij log(1 / w_ij) or Σ p_ij |y_i - y_j|². It is optional because
    the logarithms take as long as everything else.
    """
    cost = 0.0
    n_components = Y.shape[1]
    for i in range(out.shape[0]):
        y = Y[first + i]
        force = out[i]
        force[:] = 0
        for e in range(indptr[first + i], indptr[first + i + 1]):
            other = Y[indices[e]]
            distance = np.float32(0)
            for c in range(n_components):
                distance += (y[c] - other[c]) * (y[c] - other[c])
            pull = values[e]
            if student:
                pull /= np.float32(1) + distance
            if with_cost:
                cost += values[e] * (math.log1p(distance) if student else distance)
            for c in range(n_components):
                force[c] += pull * (y[c] - other[c])
    return cost


@njit(nogil=True, cache=True, error_model="numpy")
def step(
    Y: Float32Array,
    gradient: Float32Array,
    velocity: Float32Array,
    gains: Float32Array,
    momentum: float,
    learning_rate: float,
) -> None:
    """Make a step of gradient descent with momentum and a gain per coordinate (delta-bar-delta)."""
    m, n_components = Y.shape
    for i in range(m):
        for c in range(n_components):
            agree = (gradient[i, c] > 0) == (velocity[i, c] > 0)
            gain = gains[i, c] * np.float32(0.8) if agree else gains[i, c] + np.float32(0.2)
            gain = max(gain, np.float32(0.01))
            gains[i, c] = gain
            v = (
                np.float32(momentum) * velocity[i, c]
                - np.float32(learning_rate) * gain * gradient[i, c]
            )
            velocity[i, c] = v
            Y[i, c] += v
