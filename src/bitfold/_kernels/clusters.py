"""Sums of the rows of each cluster, without a copy of the rows in float64."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

RealArray = NDArray[np.float64]


@njit(nogil=True, cache=True)
def add_rows(
    values: NDArray[np.float32],
    nearest: NDArray[np.int32],
    weights: RealArray,
    totals: RealArray,
    counts: RealArray,
) -> None:
    """Add weighted rows to the total of the cluster that each belongs to, and count them."""
    for i in range(values.shape[0]):
        row, target, weight = values[i], totals[nearest[i]], weights[i]
        counts[nearest[i]] += weight
        for c in range(row.shape[0]):
            target[c] += weight * row[c]
