"""Sums of the rows of each cluster, without a copy of the rows in float64."""

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
    """Add weighted rows to the total of the cluster that each belongs to, and count them."""
    for i in range(values.shape[0]):
        row, target, weight = values[i], totals[nearest[i]], weights[i]
        counts[nearest[i]] += weight
        for c in range(row.shape[0]):
            target[c] += weight * row[c]
