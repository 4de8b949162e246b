"""Kernels of the base set: k-means, affinities between base points, forces on their embedding.

The repulsion of m points is two matrix products, Y Yᵀ and (weights) Y, with one pass over the
weights between them; the attraction is a sum over the sparse affinities. These functions use
``error_model="numpy"``, because the checks for division by zero of Python's model prevent
vectorization.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from bitfold._kernels.functions import log
from bitfold._kernels.sorted_list import insert
from bitfold._types import Float32Array, Float64Array, Int32Array, Int64Array


@njit(nogil=True, cache=True)
def add_rows(
    values: Float32Array,
    nearest: Int32Array,
    weights: Float64Array,
    totals: Float64Array,
    counts: Float64Array,
) -> None:
    """Add each row, weighted, to the total of its cluster, and its weight to the count."""
    for i in range(values.shape[0]):
        row, target, weight = values[i], totals[nearest[i]], weights[i]
        counts[nearest[i]] += weight
        for c in range(row.shape[0]):
            target[c] += weight * row[c]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def assign_rows(
    values: Float32Array, centers: Float32Array, candidates: Int32Array, nearest: Int32Array
) -> None:
    """Write the nearest of its candidate centers for each row."""
    for i in range(values.shape[0]):
        least = np.float32(np.inf)
        for c in candidates[i]:
            sq_distance = np.float32(0)
            for d in range(values.shape[1]):
                difference = values[i, d] - centers[c, d]
                sq_distance += difference * difference
            if sq_distance < least:
                least = sq_distance
                nearest[i] = c


@njit(nogil=True, cache=True)
def _insert(
    columns: Int64Array, values: Float64Array, filled: int, column: int, value: float
) -> int:
    """Insert a link into a list that descends by value, ties by column; return its length."""
    at = filled
    while at > 0 and (
        values[at - 1] < value or (values[at - 1] == value and columns[at - 1] > column)
    ):
        at -= 1
    if at == columns.shape[0]:
        return filled
    filled = min(filled + 1, columns.shape[0])
    for i in range(filled - 1, at, -1):
        columns[i], values[i] = columns[i - 1], values[i - 1]
    columns[at], values[at] = column, value
    return filled


@njit(nogil=True, cache=True)
def _step(
    row: Float64Array,
    touched: Int64Array,
    n_touched: int,
    indptr: Int32Array,
    indices: Int32Array,
    links: Float64Array,
    weights: Float64Array,
    out: Float64Array,
    reached: Int64Array,
) -> int:
    """Follow the links of the touched nodes; clear ``row`` and return the number reached."""
    n_reached = 0
    for t in range(n_touched):
        j = touched[t]
        mass = row[j] * weights[j]
        row[j] = 0.0
        for e in range(indptr[j], indptr[j + 1]):
            if out[indices[e]] == 0.0:
                reached[n_reached] = indices[e]
                n_reached += 1
            out[indices[e]] += mass * links[e]
    return n_reached


@njit(nogil=True, cache=True)
def strongest_links(
    indptr: Int32Array,
    indices: Int32Array,
    links: Float64Array,
    weights: Float64Array,
    n_steps: int,
    first: int,
    columns: Int64Array,
    values: Float64Array,
    counts: Int64Array,
) -> None:
    """Write the strongest links of the nodes from ``first``, one row per node.

    ``links`` is a symmetric matrix A with positive values, ``weights`` is 1 / its row sums D. The
    strength of a link is its entry in W + Wᵀ for W = (D⁻¹ A)ⁿ, the probabilities of a walk of n
    steps in either direction. As A is symmetric, that is S_ij (1 / D_i + 1 / D_j) with
    S = A (D⁻¹ A)ⁿ⁻¹, one row at a time.
    """
    m = indptr.shape[0] - 1
    row, out = np.zeros(m), np.zeros(m)
    touched, reached = np.empty(m, np.int64), np.empty(m, np.int64)
    for r in range(columns.shape[0]):
        i = first + r
        n_touched = 0
        for e in range(indptr[i], indptr[i + 1]):
            row[indices[e]] = links[e]
            touched[n_touched] = indices[e]
            n_touched += 1
        for _ in range(n_steps - 1):
            n_touched = _step(
                row, touched, n_touched, indptr, indices, links, weights, out, reached
            )
            row, out = out, row
            touched, reached = reached, touched
        filled = 0
        for t in range(n_touched):
            j = touched[t]
            if j != i:
                strength = row[j] * (weights[i] + weights[j])
                filled = _insert(columns[r], values[r], filled, j, strength)
            row[j] = 0.0
        counts[r] = filled


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
def cauchy_pairs(
    products: Float32Array, sq_norms: Float32Array, sums: Float32Array, other_sums: Float32Array
) -> float:
    """Turn inner products of n points with themselves and others into squared Student weights.

    The points are the first n columns, too. ``sums`` receives the sum of each row, ``other_sums``
    that of each column of the others. The sum of all w is returned, in which pairs with others
    count twice: once for each of the two points.
    """
    n, total = products.shape[0], 0.0
    other_sums[:] = 0
    for i in range(n):
        row, offset = products[i, :n], sq_norms[i]
        mass, square_mass = np.float32(0), np.float32(0)
        for j in range(n):
            sq_distance = max(offset + sq_norms[j] - np.float32(2) * row[j], np.float32(0))
            w = np.float32(1) / (np.float32(1) + sq_distance)
            mass += w
            row[j] = w * w
            square_mass += w * w
        others, norms, other_mass = products[i, n:], sq_norms[n:], np.float32(0)
        for j in range(others.shape[0]):
            sq_distance = max(offset + norms[j] - np.float32(2) * others[j], np.float32(0))
            w = np.float32(1) / (np.float32(1) + sq_distance)
            other_mass += w
            others[j] = w * w
            square_mass += w * w
        # In a loop of its own, because loops with several results are not vectorized.
        for j in range(others.shape[0]):
            other_sums[j] += others[j]
        sums[i] = square_mass
        total += float(mass) + 2 * float(other_mass)
    return total


@njit(nogil=True, cache=True, error_model="numpy", fastmath=True)
def student_weights(products: Float32Array, sq_norms: Float32Array, first: int) -> float:
    """Turn inner products of points from ``first`` with all points into Student weights, in place.

    Return their sum; the weight of a point to itself is 0.
    """
    total = 0.0
    for i in range(products.shape[0]):
        row, offset = products[i], sq_norms[first + i]
        mass = np.float32(0)
        for j in range(row.shape[0]):
            # Rounding may make the distance of points far from the origin negative.
            sq_distance = max(offset + sq_norms[j] - np.float32(2) * row[j], np.float32(0))
            w = np.float32(1) / (np.float32(1) + sq_distance)
            row[j] = w
            mass += w
        total += float(mass) - float(row[first + i])
        row[first + i] = 0
    return total


@njit(nogil=True, cache=True, error_model="numpy", fastmath=True)
def student_forces(
    weights: Float32Array, affinities: Float32Array, mass: float, sums: Float32Array
) -> None:
    """Turn Student weights into (p - w / mass) w in place; ``sums`` receives the row sums."""
    share = np.float32(1 / mass)
    for i in range(weights.shape[0]):
        row, p = weights[i], affinities[i]
        total = np.float32(0)
        for j in range(row.shape[0]):
            force = (p[j] - share * row[j]) * row[j]
            row[j] = force
            total += force
        sums[i] = total


@njit(nogil=True, cache=True)
def student_cost(weights: Float32Array, affinities: Float32Array) -> float:
    """Return Σ p log(1 / w) over the pairs with an affinity."""
    cost = 0.0
    for i in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            if affinities[i, j] > 0:
                cost -= affinities[i, j] * math.log(weights[i, j])
    return cost


@njit(nogil=True, cache=True)
def remove_own_weights(products: Float32Array, first: int, sums: Float32Array) -> float:
    """Set the weights of points to themselves to 0; return the sum of their roots.

    ``products`` and ``sums`` are those of ``cauchy_between`` from some points to all points. Row i
    is the point with number ``first`` + i.
    """
    total = 0.0
    for i in range(products.shape[0]):
        own = products[i, first + i]
        products[i, first + i] = 0
        sums[i] -= own
        total += math.sqrt(own)
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


@njit(nogil=True, cache=True)
def largest_in_rows(
    indptr: Int32Array, indices: Int32Array, values: Float64Array, first: int, out: Int64Array
) -> None:
    """Write the columns of the largest values of sparse rows, if they are positive.

    The rows begin with number ``first`` of a square matrix, whose diagonal is left out. Of equal
    values, the first columns are taken. Rows with too few values are filled up with -1.
    """
    negated = np.empty(out.shape[1])
    for i in range(out.shape[0]):
        out[i], filled = -1, 0
        for e in range(indptr[i], indptr[i + 1]):
            if indices[e] != first + i and values[e] > 0:
                filled = insert(negated, out[i], filled, -values[e], indices[e])


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
    first: int,
    sq_distances: Float32Array,
    out: Float32Array,
) -> None:
    """Write Σ p_ij w_ij (y_i - y_j) over the affinities of points from ``first`` to ``out``.

    w is the Student weight, or 1 for the Gaussian methods. ``sq_distances`` receives one number per
    affinity of these points.
    """
    n_components, n_done = Y.shape[1], indptr[first]
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
            sq_distances[e - n_done] = distance
            for c in range(n_components):
                force[c] += pull * (y[c] - other[c])


@njit(nogil=True, cache=True)
def attraction_cost(values: Float32Array, sq_distances: Float32Array, student: bool) -> float:
    """Return the attractive part of the cost, Σ p_ij log(1 / w_ij) or Σ p_ij |y_i - y_j|²."""
    cost = 0.0
    if not student:
        for e in range(values.shape[0]):
            cost += values[e] * sq_distances[e]
        return cost
    logarithms = np.empty(values.shape[0])
    for e in range(values.shape[0]):
        logarithms[e] = log(1.0 + sq_distances[e])
    for e in range(values.shape[0]):
        cost += values[e] * logarithms[e]
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
