"""Inner products and distances that are functions of one row alone, and signs at sgemm's speed.

The last bits of a matrix product depend on the batch and the processor. ``dots`` and
``sq_distances`` therefore sum in a fixed order, at about three quarters of the speed of sgemm. If
only signs are needed, ``signs`` uses a matrix product, and computes only those products again whose
sign could change by the largest possible rounding error.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from bitfold._kernels.fixed_order import dot, dot_tile, sq_distance_tile
from bitfold._types import Float32Array, UInt8Array

_TILE = 4
"""Number of directions that are multiplied with a row at a time."""

_BLOCK_ROWS = 64
"""Number of rows per block, which stays in the cache of a core."""

_MAX_PRODUCT = 1e30
"""Value of |x| |w| above which a float32 sum could overflow; such rows are summed in float64."""

_MAX_FLOAT32 = float(np.finfo(np.float32).max)

_MIN_SQ_LENGTH = 2.0**-90
"""Sum of squares below which terms may have underflowed in float32."""

_GATHER_BITS = np.uint64(0x8040201008040201)
_HIGHEST_BYTE = np.uint64(56)

_TINY = 2.0**-126
"""Smallest normal float32; rounding errors below it are absolute, not relative."""


@njit(nogil=True, cache=True)
def _sq_length(x: Float32Array) -> float:
    total = dot(x, x)
    if total > _MIN_SQ_LENGTH:
        return float(total)
    # Squares this small have lost digits in float32.
    exact = 0.0
    for c in range(x.shape[0]):
        exact += np.float64(x[c]) * np.float64(x[c])
    return exact


@njit(nogil=True, cache=True)
def _dot_in_double(x: Float32Array, w: Float32Array) -> float:
    """Return x·w computed in float64, clipped to the range of float32."""
    total = 0.0
    for c in range(x.shape[0]):
        total += np.float64(x[c]) * np.float64(w[c])
    return min(max(total, -_MAX_FLOAT32), _MAX_FLOAT32)


@njit(nogil=True, cache=True)
def _longest(rows: Float32Array) -> float:
    longest = 0.0
    for i in range(rows.shape[0]):
        longest = max(longest, _sq_length(rows[i]))
    return math.sqrt(longest)


@njit(nogil=True, cache=True)
def dots(rows: Float32Array, directions: Float32Array, out: Float32Array) -> None:
    """Set out[i, j] = rows[i] · directions[j], summed in an order independent of the batch."""
    last = directions.shape[0] - 1
    for first in range(0, rows.shape[0], _BLOCK_ROWS):
        stop = min(first + _BLOCK_ROWS, rows.shape[0])
        for j in range(0, last + 1, _TILE):
            k, l, m = min(j + 1, last), min(j + 2, last), min(j + 3, last)  # noqa: E741
            a, b, c, d = directions[j], directions[k], directions[l], directions[m]
            for i in range(first, stop):
                p, q, r, s = dot_tile(rows[i], a, b, c, d)
                out[i, m], out[i, l], out[i, k], out[i, j] = s, r, q, p
    reach = _longest(directions)
    for i in range(rows.shape[0]):
        if not math.sqrt(_sq_length(rows[i])) * reach < _MAX_PRODUCT:
            for j in range(last + 1):
                out[i, j] = _dot_in_double(rows[i], directions[j])


@njit(nogil=True, cache=True)
def sq_distances(rows: Float32Array, points: Float32Array, out: Float32Array) -> None:
    """Set out[i, j] = |rows[i] - points[j]|², summed in a fixed order; infinite on overflow."""
    last = points.shape[0] - 1
    for first in range(0, rows.shape[0], _BLOCK_ROWS):
        stop = min(first + _BLOCK_ROWS, rows.shape[0])
        for j in range(0, last + 1, _TILE):
            k, l, m = min(j + 1, last), min(j + 2, last), min(j + 3, last)  # noqa: E741
            a, b, c, d = points[j], points[k], points[l], points[m]
            for i in range(first, stop):
                p, q, r, s = sq_distance_tile(rows[i], a, b, c, d)
                out[i, m], out[i, l], out[i, k], out[i, j] = s, r, q, p


@njit(nogil=True, cache=True)
def orthonormalize(rows: Float32Array) -> None:
    """Make rows orthogonal and of unit length, one after another (Gram and Schmidt)."""
    for i in range(rows.shape[0]):
        row = rows[i]
        for _ in range(2):  # the second pass removes what the rounding of the first one left
            row /= np.float32(max(math.sqrt(dot(row, row)), _TINY))
            for j in range(i):
                share = dot(row, rows[j])
                for c in range(row.shape[0]):
                    row[c] -= share * rows[j, c]
        row /= np.float32(max(math.sqrt(dot(row, row)), _TINY))


@njit(nogil=True, cache=True)
def signs(
    rows: Float32Array,
    products: Float32Array,
    directions: Float32Array,
    lengths: Float32Array,
    thresholds: Float32Array,
    packed: UInt8Array,
) -> None:
    """Pack the bits rows[i] · directions[j] > thresholds[j], with products as from ``dots``.

    ``products`` are the same inner products from a matrix product, summed in any order;
    ``lengths`` are those of the directions. The most significant bit is first, and padding is 0.
    """
    n_features, n_bits = rows.shape[1], directions.shape[0]
    # The largest error of two float32 sums of this length (Higham, Sec. 3.1), with a margin.
    unit = 2 * 2.0**-24 * (n_features + 32)
    reach = _longest(directions)  # as in dots
    floor = np.float32(unit * _TINY)
    marks = np.zeros(8 * packed.shape[1], np.uint8)
    for i in range(rows.shape[0]):
        length = math.sqrt(_sq_length(rows[i]))
        slack = np.float32(unit * length)
        if not length * reach < _MAX_PRODUCT:
            dots(rows[i : i + 1], directions, products[i : i + 1])
        elif _count_unclear(products[i], lengths, thresholds, slack, floor):
            for j in range(n_bits):
                if not abs(products[i, j] - thresholds[j]) > slack * lengths[j] + floor:
                    products[i, j] = dot(rows[i], directions[j])
        _pack(products[i], thresholds, marks, packed[i])


@njit(nogil=True, cache=True)
def _count_unclear(
    values: Float32Array,
    lengths: Float32Array,
    thresholds: Float32Array,
    slack: float,
    floor: float,
) -> int:
    """Count the values whose sign could be wrong, because they are close to their threshold."""
    # A count of the same width as the values is computed with wide instructions.
    count = np.int32(0)
    for j in range(len(values)):
        is_clear = abs(values[j] - thresholds[j]) > slack * lengths[j] + floor
        count += np.int32(0) if is_clear else np.int32(1)
    return int(count)


@njit(nogil=True, cache=True)
def _pack(
    values: Float32Array, thresholds: Float32Array, marks: UInt8Array, packed: UInt8Array
) -> None:
    """Pack whether values exceed thresholds; ``marks`` has a byte per bit, zeros at the end."""
    for j in range(len(values)):
        marks[j] = values[j] > thresholds[j]
    eights = marks.view(np.uint64)
    for byte in range(len(packed)):
        # One product moves the lowest bits of eight bytes into the highest byte, first bit first.
        packed[byte] = (eights[byte] * _GATHER_BITS) >> _HIGHEST_BYTE
