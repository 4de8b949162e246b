"""Inner products and distances that are a function of one row alone, and signs at sgemm's speed.

The last bits of a matrix product depend on the batch a row was part of. ``dots`` and
``sq_distances`` therefore sum in one fixed order, at about three quarters of sgemm's speed. Where
only signs are needed, ``signs`` takes the matrix product's word wherever its worst rounding error
cannot matter, and looks closer at the rest.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from bitfold._types import Float32Array, UInt8Array

_Four = tuple[np.float32, np.float32, np.float32, np.float32]

_LOOSE = {"reassoc", "contract", "nsz"}
"""Sums may be vectorized, but infinity and NaN keep their meaning."""

_TILE = 4
"""Directions that share one reading of a row."""

_ROWS = 64
"""Rows that stay in a core's cache while all directions pass."""

_FAR = 1e30
"""Bound on |x| |w| from which on a float32 sum could overflow; such rows are summed in float64."""

_LARGEST = float(np.finfo(np.float32).max)

_FAINT = 2.0**-90
"""Sum of squares below which float32 may have dropped some that count."""

_TINY = 2.0**-126
"""Below this float32 rounds to a fixed step, no longer in proportion."""


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def _dot_tile(
    x: Float32Array, a: Float32Array, b: Float32Array, c: Float32Array, d: Float32Array
) -> _Four:
    """x·a, x·b, x·c and x·d."""
    p, q, r, s = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    for i in range(x.shape[0]):
        value = x[i]
        p += value * a[i]
        q += value * b[i]
        r += value * c[i]
        s += value * d[i]
    return p, q, r, s


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def _sq_distance_tile(
    x: Float32Array, a: Float32Array, b: Float32Array, c: Float32Array, d: Float32Array
) -> _Four:
    """|x - a|², |x - b|², |x - c|² and |x - d|², by differences, which do not cancel."""
    p, q, r, s = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    for i in range(x.shape[0]):
        value = x[i]
        to_a, to_b, to_c, to_d = value - a[i], value - b[i], value - c[i], value - d[i]
        p += to_a * to_a
        q += to_b * to_b
        r += to_c * to_c
        s += to_d * to_d
    return p, q, r, s


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def _sq_length(x: Float32Array) -> float:
    total = np.float32(0)
    for c in range(x.shape[0]):
        total += x[c] * x[c]
    if total > _FAINT:
        return float(total)
    # Squares this small have lost their digits in float32, or all of them.
    exact = 0.0
    for c in range(x.shape[0]):
        exact += np.float64(x[c]) * np.float64(x[c])
    return exact


@njit(nogil=True, cache=True)
def _far_dot(x: Float32Array, w: Float32Array) -> float:
    """x·w in double precision, cut to what float32 holds."""
    total = 0.0
    for c in range(x.shape[0]):
        total += np.float64(x[c]) * np.float64(w[c])
    return min(max(total, -_LARGEST), _LARGEST)


@njit(nogil=True, cache=True)
def _longest(rows: Float32Array) -> float:
    longest = 0.0
    for i in range(rows.shape[0]):
        longest = max(longest, _sq_length(rows[i]))
    return math.sqrt(longest)


@njit(nogil=True, cache=True)
def dots(rows: Float32Array, directions: Float32Array, out: Float32Array) -> None:
    """out[i, j] = rows[i] · directions[j], each summed in one order whatever the batch."""
    last = directions.shape[0] - 1
    for first in range(0, rows.shape[0], _ROWS):
        stop = min(first + _ROWS, rows.shape[0])
        for j in range(0, last + 1, _TILE):
            k, l, m = min(j + 1, last), min(j + 2, last), min(j + 3, last)  # noqa: E741
            a, b, c, d = directions[j], directions[k], directions[l], directions[m]
            for i in range(first, stop):
                p, q, r, s = _dot_tile(rows[i], a, b, c, d)
                out[i, m], out[i, l], out[i, k], out[i, j] = s, r, q, p
    reach = _longest(directions)
    for i in range(rows.shape[0]):
        if not math.sqrt(_sq_length(rows[i])) * reach < _FAR:
            for j in range(last + 1):
                out[i, j] = _far_dot(rows[i], directions[j])


@njit(nogil=True, cache=True)
def sq_distances(rows: Float32Array, points: Float32Array, out: Float32Array) -> None:
    """out[i, j] = |rows[i] - points[j]|², each summed in one order; infinite if beyond float32."""
    last = points.shape[0] - 1
    for first in range(0, rows.shape[0], _ROWS):
        stop = min(first + _ROWS, rows.shape[0])
        for j in range(0, last + 1, _TILE):
            k, l, m = min(j + 1, last), min(j + 2, last), min(j + 3, last)  # noqa: E741
            a, b, c, d = points[j], points[k], points[l], points[m]
            for i in range(first, stop):
                p, q, r, s = _sq_distance_tile(rows[i], a, b, c, d)
                out[i, m], out[i, l], out[i, k], out[i, j] = s, r, q, p


@njit(nogil=True, cache=True)
def signs(
    rows: Float32Array,
    products: Float32Array,
    directions: Float32Array,
    lengths: Float32Array,
    thresholds: Float32Array,
    packed: UInt8Array,
) -> None:
    """Pack the bits rows[i] · directions[j] > thresholds[j], as ``dots`` would have them.

    ``products`` are the same inner products by a matrix product, in any order; ``lengths`` are
    those of the directions. Bits go most significant first, and padding is zero.
    """
    n_features, n_bits = rows.shape[1], directions.shape[0]
    # Worst case of two float32 sums of this length (Higham, Sec. 3.1), with something to spare.
    unit = 2 * 2.0**-24 * (n_features + 32)
    reach = _longest(directions)  # as dots has it
    exact = np.empty((1, n_bits), np.float32)
    for i in range(rows.shape[0]):
        length = math.sqrt(_sq_length(rows[i]))
        slack = np.float32(unit * length)
        floor = np.float32(unit * _TINY)
        values = products[i]
        if not length * reach < _FAR:
            dots(rows[i : i + 1], directions, exact)
            values = exact[0]
        elif _unclear(values, lengths, thresholds, slack, floor):
            for j in range(n_bits):
                if not abs(values[j] - thresholds[j]) > slack * lengths[j] + floor:
                    values[j] = _one_dot(rows[i], directions, j)
        _pack(values, thresholds, packed[i])


@njit(nogil=True, cache=True)
def _one_dot(x: Float32Array, directions: Float32Array, j: int) -> np.float32:
    """Sum x · directions[j] in the company it has in ``dots``, and so in the same order."""
    first, last = j - j % _TILE, directions.shape[0] - 1
    a, b = directions[first], directions[min(first + 1, last)]
    c, d = directions[min(first + 2, last)], directions[min(first + 3, last)]
    return _dot_tile(x, a, b, c, d)[j % _TILE]


@njit(nogil=True, cache=True)
def _unclear(
    values: Float32Array,
    lengths: Float32Array,
    thresholds: Float32Array,
    slack: float,
    floor: float,
) -> int:
    """Count the values too near their threshold to be sure of the sign."""
    count = 0
    for j in range(len(values)):
        count += not abs(values[j] - thresholds[j]) > slack * lengths[j] + floor
    return count


@njit(nogil=True, cache=True)
def _pack(values: Float32Array, thresholds: Float32Array, packed: UInt8Array) -> None:
    for byte in range(len(packed)):
        bits = 0
        for j in range(8 * byte, min(8 * byte + 8, len(values))):
            bits |= (values[j] > thresholds[j]) << (7 - j % 8)
        packed[byte] = bits


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def to_signs(values: Float32Array) -> float:
    """Turn values into 1 above zero and -1 elsewhere, in place; return the sum of magnitudes."""
    total = 0.0
    for i in range(values.shape[0]):
        row = values[i]
        subtotal = np.float32(0)
        for j in range(len(row)):
            subtotal += abs(row[j])
            row[j] = np.float32(1) if row[j] > 0 else np.float32(-1)
        total += float(subtotal)
    return total
