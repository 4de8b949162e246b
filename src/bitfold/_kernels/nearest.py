"""Nearest base points of a row, and their weighted mean: a function of that row alone.

A matrix product gives approximate scores whose last bits depend on the batch it was part of. So it
only proposes: all base points that could be among the k nearest, within the product's worst
rounding error, are measured again directly, in one fixed order. What comes out is the same
whether a row arrives alone or among millions.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from bitfold._types import Float32Array, Float64Array, Int32Array

_LOOSE = {"reassoc", "contract", "nsz"}
"""Sums may be vectorized, but infinity and NaN keep their meaning."""

_LANES = 32
"""Columns looked at side by side: four vector registers' worth."""

_MOST = 64
"""Candidates a row may have; one with more near-ties looks at all base points."""


_FAR = np.float32(1e30)
"""Squared length from which on float32 could overflow; such rows are measured in float64."""

_TINY = 2.0**-126
"""Below this float32 rounds to a fixed step, no longer in proportion."""


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def _sq_distance(x: Float32Array, b: Float32Array) -> float:
    """|x - b|² by differences, which do not cancel."""
    total = np.float32(0)
    for c in range(x.shape[0]):
        difference = x[c] - b[c]
        total += difference * difference
    return float(total)


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def _far_sq_distance(x: Float32Array, b: Float32Array) -> float:
    """|x - b|² in double precision, so that even the farthest point stays finite."""
    total = 0.0
    for c in range(x.shape[0]):
        difference = np.float64(x[c]) - np.float64(b[c])
        total += difference * difference
    return total


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def _sq_length(x: Float32Array) -> float:
    total = np.float32(0)
    for c in range(x.shape[0]):
        total += x[c] * x[c]
    return float(total)


@njit(nogil=True, cache=True)
def _insert(
    distances: Float64Array,
    indices: Int32Array,
    filled: int,
    distance: float,
    index: int,
) -> int:
    """Insert into a list sorted by (distance, index) that holds at most its own length."""
    place = filled
    while place > 0 and (
        distances[place - 1] > distance
        or (distances[place - 1] == distance and indices[place - 1] > index)
    ):
        if place < len(distances):
            distances[place] = distances[place - 1]
            indices[place] = indices[place - 1]
        place -= 1
    if place < len(distances):
        distances[place] = distance
        indices[place] = index
    return min(filled + 1, len(distances))


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def _bound(
    scores: Float32Array, sq_norms: Float32Array, k: int, lows: Float32Array, room: Float32Array
) -> float:
    """Turn products into |b|² - 2 x·b in place; return a bound on the k-th smallest.

    The columns are dealt out to lanes; k lanes have their smallest score below the k-th smallest
    of the lanes' minima, so k scores do.
    """
    m = scores.shape[0]
    lows[:] = np.finfo(np.float32).max
    whole = m - m % _LANES
    for first in range(0, whole, _LANES):
        for lane in range(_LANES):
            score = sq_norms[first + lane] - np.float32(2) * scores[first + lane]
            scores[first + lane] = score
            # Not min(): its care for NaN would keep the loop from being vectorized.
            lows[lane] = score if score < lows[lane] else lows[lane]
    for lane in range(m - whole):
        score = sq_norms[whole + lane] - np.float32(2) * scores[whole + lane]
        scores[whole + lane] = score
        lows[lane] = min(lows[lane], score)
    return _kth(lows, _LANES, k, room)


@njit(nogil=True, cache=True)
def _kth(values: Float32Array, count: int, k: int, smallest: Float32Array) -> float:
    """Return the k-th smallest of the first ``count`` values; ``smallest`` is room for k."""
    smallest[:k] = np.inf
    for i in range(count):
        value = values[i]
        if value < smallest[k - 1]:
            place = k - 1
            while place > 0 and smallest[place - 1] > value:
                smallest[place] = smallest[place - 1]
                place -= 1
            smallest[place] = value
    return float(smallest[k - 1])


@njit(nogil=True, cache=True)
def _propose(
    scores: Float32Array,
    sq_norms: Float32Array,
    k: int,
    slack: float,
    lows: Float32Array,
    room: Float32Array,
    candidates: Int32Array,
) -> int:
    """List every base point whose score is within ``slack`` of the k-th; -1 if they are many."""
    limit = np.float32(_bound(scores, sq_norms, k, lows, room) + slack)
    count = 0
    for j in range(scores.shape[0]):
        if scores[j] <= limit:
            if count == _MOST:
                return -1
            candidates[count] = j
            count += 1
    if count < k:  # scores that overflowed
        return -1
    if count > k:
        count = _tighten(scores, k, slack, room, candidates, count)
    return count


@njit(nogil=True, cache=True)
def _tighten(
    scores: Float32Array,
    k: int,
    slack: float,
    room: Float32Array,
    candidates: Int32Array,
    count: int,
) -> int:
    """Keep the candidates within ``slack`` of the k-th best of them."""
    values = np.empty(_MOST, np.float32)
    for c in range(count):
        values[c] = scores[candidates[c]]
    limit = np.float32(_kth(values, count, k, room) + slack)
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

    ``products[i, j]`` = x_i·b_j comes from the matrix product, and is overwritten; k is the width
    of ``indices``.
    """
    m, n_features = base.shape
    k = indices.shape[1]
    lows, room = np.empty(_LANES, np.float32), np.empty(_LANES, np.float32)
    candidates = np.empty(_MOST, np.int32)
    largest = math.sqrt(np.float64(sq_norms.max()))
    # Worst case of a float32 inner product of this length (Higham, Sec. 3.1), doubled by the
    # factor of the score and again for the two scores compared, plus their own rounding; half as
    # much relative to the two distances measured, which for a far point is more.
    unit = 4 * 2.0**-24 * (n_features + 4)
    for i in range(rows.shape[0]):
        x = rows[i]
        sq_length = _sq_length(x)
        far = not sq_length + largest * largest < _FAR
        count = -1
        if k < _LANES and not far:
            reach = math.sqrt(sq_length) + largest
            slack = unit * (reach * (largest + reach / 2) + _TINY)
            count = _propose(products[i], sq_norms, k, slack, lows, room, candidates)
        filled = 0
        for c in range(m if count < 0 else count):
            j = c if count < 0 else candidates[c]
            distance = _far_sq_distance(x, base[j]) if far else _sq_distance(x, base[j])
            filled = _insert(sq_distances[i], indices[i], filled, distance, j)


@njit(nogil=True, cache=True, error_model="numpy")
def weighted_mean(
    indices: Int32Array,
    sq_distances: Float64Array,
    bandwidth: float,
    embedding: Float32Array,
    out: Float32Array,
) -> None:
    """Eq. (8) for each row: the mean of its base points' embeddings, weighted by a Gaussian.

    Distances are taken relative to the nearest one, which cancels in the quotient and keeps the
    largest weight at 1: a point far from everything still has a mean.
    """
    n_components = embedding.shape[1]
    for i in range(indices.shape[0]):
        row = out[i]
        row[:] = 0
        total = np.float32(0)
        for e in range(indices.shape[1]):
            excess = sq_distances[i, e] - sq_distances[i, 0]
            # Divided twice: the square of a tiny or a huge σ is no number.
            weight = np.float32(math.exp(-excess / bandwidth / bandwidth))
            total += weight
            y = embedding[indices[i, e]]
            for c in range(n_components):
                row[c] += weight * y[c]
        for c in range(n_components):
            row[c] /= total
