"""Steps of k-means: assign rows to clusters, and sum the rows of each in float64."""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._types import Float32Array, Float64Array, Int32Array


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
