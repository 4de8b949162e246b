"""Sum the rows of each cluster in float64, without a copy of the rows."""

from __future__ import annotations

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
