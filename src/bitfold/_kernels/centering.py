"""Center rows and detect values that are not finite, in one pass."""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._types import Float32Array


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def center(part: Float32Array, center: Float32Array, out: Float32Array) -> float:
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
