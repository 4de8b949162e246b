"""Centering and a look for what is not finite, in one reading of the rows."""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._types import Float32Array


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def center(part: Float32Array, center: Float32Array, out: Float32Array) -> float:
    """Take rows relative to ``center``; return the sum of squares, finite only if all values are.

    It may overflow for finite values as well.
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
