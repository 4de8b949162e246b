"""Induction of a row: center it, find its nearest base points, and take their weighted mean.

The result is a function of that row alone.

The last bits of a matrix product depend on the batch and the processor. It is therefore only used
to select candidates: all base points that could be among the k nearest, given the largest possible
rounding error. The candidates are measured directly, in a fixed order of summation. The result is
the same whether a row is processed alone or among millions.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from bitfold._kernels.fixed_order import dot, sq_distance
from bitfold._kernels.functions import exp_of_negative
from bitfold._kernels.sorted_list import insert
from bitfold._types import AnyArray, Float32Array, Float64Array, Int32Array

_FAST_SUMS = {"reassoc", "contract", "nsz"}
"""Fast-math flags that let sums be vectorized without ignoring infinity and NaN."""

_LANES = 32
"""Number of columns processed together: four vector registers."""

_MAX_CANDIDATES = 64
"""Maximum number of candidates per row; with more near-ties, all base points are measured."""


MAX_SQ_LENGTH = np.float32(1e30)
"""Squared length above which float32 could overflow; such rows are measured in float64."""

_TINY = 2.0**-126
"""Smallest normal float32; rounding errors below it are absolute, not relative."""

_MAX_VALUE = float(np.finfo(np.float32).max / 4)
"""Largest value of a row, as in ``_validation.check_finite``."""

_MIN_SQUARES = 1e-200
"""Sum of squares below which terms may have underflowed in float64."""


@njit(nogil=True, cache=True, fastmath=_FAST_SUMS)
def center_rows(part: Float32Array, center: Float32Array, out: Float32Array) -> float:
    """Subtract ``center`` from rows; return the sum of squares.

    The sum is finite only if all values are finite. It may also overflow for finite values.
    """
    total = 0.0
    for i in range(part.shape[0]):
        row, target = part[i], out[i]
        squares = np.float32(0)
        for c in range(len(center)):
            difference = row[c] - center[c]
            target[c] = difference
            squares += difference * difference
        total += float(squares)
    return total


@njit(nogil=True, cache=True)
def _sum_squares(row: AnyArray, factor: float) -> float:
    """Return Σ (factor x)² in float64, in an order that the type of the row does not change."""
    p, q, r, s = 0.0, 0.0, 0.0, 0.0
    whole = row.shape[0] - row.shape[0] % 4
    for c in range(0, whole, 4):
        p += (np.float64(row[c]) * factor) ** 2
        q += (np.float64(row[c + 1]) * factor) ** 2
        r += (np.float64(row[c + 2]) * factor) ** 2
        s += (np.float64(row[c + 3]) * factor) ** 2
    for c in range(whole, row.shape[0]):
        p += (np.float64(row[c]) * factor) ** 2
    return (p + q) + (r + s)


@njit(nogil=True, cache=True)
def _choose_factor(row: AnyArray) -> float:
    """Return a power of 2 that brings a row near 1; NaN if a value cannot be used.

    It changes no digit, and prevents the squares from underflowing.
    """
    largest = 0.0
    for c in range(row.shape[0]):
        value = abs(np.float64(row[c]))
        if not value <= _MAX_VALUE:
            return np.nan
        largest = max(largest, value)
    # The inverse of the smallest float64 would be infinite.
    return math.ldexp(1.0, min(-math.frexp(largest)[1], 1000))


@njit(nogil=True, cache=True)
def center_unit_rows(part: AnyArray, center: AnyArray, out: AnyArray) -> bool:
    """Scale rows to unit length, then subtract ``center``; zeros remain zeros before that.

    The arithmetic is float64 for all types, with one rounding at the end. Return whether all
    values are finite and within a quarter of float32's range.
    """
    is_valid = True
    for i in range(part.shape[0]):
        row, target, factor = part[i], out[i], 1.0
        squares = _sum_squares(row, factor)
        if not _MIN_SQUARES < squares < _MAX_VALUE**2:
            factor = _choose_factor(row)
            squares = _sum_squares(row, factor)
            is_valid &= squares >= 0
        inverse = 1 / math.sqrt(squares) if squares > 0 else 0.0
        for c in range(len(center)):
            target[c] = np.float64(row[c]) * factor * inverse - np.float64(center[c])
    return is_valid


@njit(nogil=True, cache=True)
def sq_norms(rows: Float32Array) -> Float32Array:
    """Return the squared lengths of rows."""
    out = np.empty(rows.shape[0], np.float32)
    for i in range(rows.shape[0]):
        out[i] = dot(rows[i], rows[i])
    return out


@njit(nogil=True, cache=True)
def sq_distance_in_double(x: Float32Array, b: Float32Array) -> float:
    """Return |x - b|² in float64, which is finite even for the farthest points."""
    total = 0.0
    for c in range(x.shape[0]):
        difference = np.float64(x[c]) - np.float64(b[c])
        total += difference * difference
    return total


@njit(nogil=True, cache=True)
def _score_and_bound(
    scores: Float32Array, sq_norms: Float32Array, k: int, lows: Float32Array, buffer: Float32Array
) -> float:
    """Turn products into |b|² - 2 x·b in place; return an upper bound on the k-th smallest.

    The columns are divided among lanes. The bound is the k-th smallest of the lane minima, since
    k scores, one in each of k lanes, do not exceed it.
    """
    m = scores.shape[0]
    lows[:] = np.finfo(np.float32).max
    whole = m - m % _LANES
    for first in range(0, whole, _LANES):
        for lane in range(_LANES):
            score = sq_norms[first + lane] - np.float32(2) * scores[first + lane]
            scores[first + lane] = score
            # Not min(): its handling of NaN prevents vectorization.
            lows[lane] = score if score < lows[lane] else lows[lane]
    for lane in range(m - whole):
        score = sq_norms[whole + lane] - np.float32(2) * scores[whole + lane]
        scores[whole + lane] = score
        lows[lane] = min(lows[lane], score)
    return _find_kth(lows, _LANES, k, buffer)


@njit(nogil=True, cache=True)
def _find_kth(values: Float32Array, count: int, k: int, smallest: Float32Array) -> float:
    """Return the k-th smallest of the first ``count`` values; ``smallest`` is a buffer of k."""
    smallest[:k] = np.inf
    for i in range(count):
        value = values[i]
        if value < smallest[k - 1]:
            position = k - 1
            while position > 0 and smallest[position - 1] > value:
                smallest[position] = smallest[position - 1]
                position -= 1
            smallest[position] = value
    return float(smallest[k - 1])


@njit(nogil=True, cache=True)
def _select_candidates(
    scores: Float32Array,
    sq_norms: Float32Array,
    k: int,
    slack: float,
    lows: Float32Array,
    buffer: Float32Array,
    candidates: Int32Array,
) -> int:
    """List the base points with scores within ``slack`` of the k-th; return -1 if too many."""
    limit = np.float32(_score_and_bound(scores, sq_norms, k, lows, buffer) + slack)
    count = 0
    for j in range(scores.shape[0]):
        if scores[j] <= limit:
            if count == _MAX_CANDIDATES:
                return -1
            candidates[count] = j
            count += 1
    if count < k:  # scores that overflowed
        return -1
    if count > k:
        count = _reduce_candidates(scores, k, slack, buffer, candidates, count)
    return count


@njit(nogil=True, cache=True)
def _reduce_candidates(
    scores: Float32Array,
    k: int,
    slack: float,
    buffer: Float32Array,
    candidates: Int32Array,
    count: int,
) -> int:
    """Keep the candidates whose scores are within ``slack`` of the k-th smallest."""
    values = np.empty(_MAX_CANDIDATES, np.float32)
    for c in range(count):
        values[c] = scores[candidates[c]]
    limit = np.float32(_find_kth(values, count, k, buffer) + slack)
    kept = 0
    for c in range(count):
        if scores[candidates[c]] <= limit:
            candidates[kept] = candidates[c]
            kept += 1
    return kept


@njit(nogil=True, cache=True)
def nearest(
    rows: Float32Array,
    products: Float32Array,
    base: Float32Array,
    sq_norms: Float32Array,
    indices: Int32Array,
    sq_distances: Float64Array,
) -> None:
    """Find the k nearest base points of each row, nearest first, ties by index.

    ``products[i, j]`` is x_i·b_j from a matrix product and is overwritten; k is the number of
    columns of ``indices``.
    """
    m, n_features = base.shape
    k = indices.shape[1]
    lows, buffer = np.empty(_LANES, np.float32), np.empty(_LANES, np.float32)
    candidates = np.empty(_MAX_CANDIDATES, np.int32)
    largest = math.sqrt(np.float64(sq_norms.max()))
    # The largest error of a float32 inner product of this length (Higham, Sec. 3.1), twice for
    # the factor 2 of the score and twice for comparing two scores, plus their own rounding. The
    # measured distances add half as much, relative to themselves, which dominates for far points.
    unit = 4 * 2.0**-24 * (n_features + 4)
    for i in range(rows.shape[0]):
        x = rows[i]
        sq_length = dot(x, x)
        is_far = not sq_length + largest * largest < MAX_SQ_LENGTH
        count = -1
        if k < _LANES and not is_far:
            reach = math.sqrt(sq_length) + largest
            slack = unit * (reach * (largest + reach / 2) + _TINY)
            count = _select_candidates(products[i], sq_norms, k, slack, lows, buffer, candidates)
        filled = 0
        for c in range(m if count < 0 else count):
            j = c if count < 0 else candidates[c]
            distance = sq_distance_in_double(x, base[j]) if is_far else sq_distance(x, base[j])
            filled = insert(sq_distances[i], indices[i], filled, distance, j)


@njit(nogil=True, cache=True, error_model="numpy")
def weighted_mean(
    indices: Int32Array,
    sq_distances: Float64Array,
    bandwidth: float,
    embedding: Float32Array,
    out: Float32Array,
) -> None:
    """Write the Gaussian-weighted mean of the base embeddings of each row, Eq. (8), to ``out``.

    Distances are taken relative to the smallest one. This cancels in the quotient and makes the
    largest weight 1, so that the mean exists even for a row far from all base points.
    """
    n_components = embedding.shape[1]
    for i in range(indices.shape[0]):
        row = out[i]
        row[:] = 0
        total = np.float32(0)
        for e in range(indices.shape[1]):
            excess = sq_distances[i, e] - sq_distances[i, 0]
            # Divided twice, because the square of σ may underflow or overflow.
            weight = np.float32(exp_of_negative(-excess / bandwidth / bandwidth))
            total += weight
            y = embedding[indices[i, e]]
            for c in range(n_components):
                row[c] += weight * y[c]
        for c in range(n_components):
            row[c] /= total
