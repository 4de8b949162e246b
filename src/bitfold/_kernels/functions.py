"""The exponential, the logarithm and the cosine, with the same bits on every processor.

Those of numpy and of the C library have several versions, for processors with and without certain
instructions, which differ in the last bit. These use additions and multiplications only, which are
rounded by the same rule everywhere. Their errors are below 1e-14, except for huge angles.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from bitfold._types import Float32Array

_MIN_EXPONENT = -151 * math.log(2)
"""Number below which the exponential is zero in float32."""

_INVERSE_FACTORIALS = np.array([1 / math.factorial(n) for n in range(18)])

_INVERSE_ODD = np.array([1 / (2 * n + 1) for n in range(11)])

_LOG2_E = 1 / math.log(2)
_LN_2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
"""ln 2 in two parts; products of the first with small integers are exact."""

_MAX_ANGLE = 1e5
"""Angle up to which subtracting multiples of π/2 loses no digit."""

_HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
"""π/2 in three parts; products of the first two with integers up to 2²⁰ are exact."""


def _shift_exponent(typing_context: Any, k: Any) -> Any:
    """Return 2 to the k, for k from -1022 to 1023: its bits are those of the exponent."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer = ir.IntType(64)
        exponent = builder.add(arguments[0], ir.Constant(integer, 1023))
        bits = builder.shl(exponent, ir.Constant(integer, 52))
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(types.int64), generate


def _bitcast_to_integer(typing_context: Any, x: Any) -> Any:
    """Return the bits of a number as an integer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


# Called with the number alone, which the type of the decorator does not express.
_power_of_2: Any = intrinsic(_shift_exponent)
_bits_of: Any = intrinsic(_bitcast_to_integer)


@njit(nogil=True, cache=True)
def exp_of_negative(x: float) -> float:
    """Return the exponential of a number that is not positive; it may be too large below 2⁻¹⁵⁰."""
    # Without branches, so that loops over it are vectorized.
    x = x if x > _MIN_EXPONENT else _MIN_EXPONENT
    k = math.floor(x * _LOG2_E + 0.5)
    r = (x - k * _LN_2[0]) - k * _LN_2[1]
    # The Taylor series; |r| is at most ln(2) / 2.
    total = 0.0
    for n in range(12, -1, -1):
        total = total * r + _INVERSE_FACTORIALS[n]
    return total * _power_of_2(np.int64(k))


@njit(nogil=True, cache=True)
def log(x: float) -> float:
    """Return the natural logarithm of a number from 1 to 1e307; that of ∞ is ∞."""
    # Without branches, as above. x is scaled to lie between √½ and √2.
    k = (_bits_of(x) >> 52) - 1023
    scaled = x * _power_of_2(-k)
    is_large = scaled > math.sqrt(2)
    scaled = 0.5 * scaled if is_large else scaled
    k = k + 1 if is_large else k
    # ln x = 2 artanh s, as a series; |s| is at most 0.172.
    s = (scaled - 1) / (scaled + 1)
    square = s * s
    total = 0.0
    for n in range(10, -1, -1):
        total = total * square + _INVERSE_ODD[n]
    result = k * _LN_2[0] + (k * _LN_2[1] + 2 * s * total)
    return result if x < math.inf else x


@njit(nogil=True, cache=True)
def cosine(x: float) -> float:
    """Return the cosine of an angle in radians."""
    if not abs(x) < _MAX_ANGLE:
        x = np.fmod(x, 2 * math.pi)  # exact
    k = math.floor(x / (math.pi / 2) + 0.5)
    r = ((x - k * _HALF_PI[0]) - k * _HALF_PI[1]) - k * _HALF_PI[2]
    # The Taylor series of both, in -r²; |r| is at most π/4.
    square = -r * r
    even = odd = 0.0
    for n in range(16, -1, -2):
        even = even * square + _INVERSE_FACTORIALS[n]
        odd = odd * square + _INVERSE_FACTORIALS[n + 1]
    quarter = int(k) % 4
    value = odd * r if quarter % 2 else even
    return -value if quarter in (1, 2) else value


@njit(nogil=True, cache=True, error_model="numpy")
def gaussians(sq_distances: Float32Array, bandwidth: float) -> None:
    """Replace each d² by exp(-d²/2σ²)."""
    for i in range(sq_distances.shape[0]):
        row = sq_distances[i]
        for j in range(row.shape[0]):
            # Divided twice, because the square of σ may underflow or overflow.
            row[j] = exp_of_negative(row[j] / -bandwidth / (2 * bandwidth))


@njit(nogil=True, cache=True)
def waves(angles: Float32Array, phases: Float32Array, thresholds: Float32Array) -> None:
    """Replace each angle by cos(angle + phase) - threshold, with a phase per column."""
    for i in range(angles.shape[0]):
        row = angles[i]
        for j in range(row.shape[0]):
            # In float64, because the phase still matters many turns away from the center.
            angle = np.float64(row[j]) + np.float64(phases[j])
            row[j] = cosine(angle) - np.float64(thresholds[j])
