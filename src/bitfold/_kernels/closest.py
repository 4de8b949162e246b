"""The k closest of many rows, k large: a matrix product proposes, direct distances decide."""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._types import AnyArray, Float32Array, Float64Array, Int64Array

_LOOSE = {"reassoc", "contract", "nsz"}
"""Sums may be vectorized, but infinity and NaN keep their meaning."""


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def _sq_distance(x: Float64Array, b: AnyArray) -> float:
    """|x - b|² by differences in double precision: exact for integers."""
    total = 0.0
    for c in range(x.shape[0]):
        difference = x[c] - np.float64(b[c])
        total += difference * difference
    return total


@njit(nogil=True, cache=True)
def collect(
    queries: Float64Array,
    rows: AnyArray,
    first_id: int,
    sq_norms: Float32Array,
    products: Float32Array,
    bounds: Float32Array,
    limits: Float64Array,
    distances: Float64Array,
    ids: AnyArray,
    filled: Int64Array,
) -> None:
    """Append to each query's list the rows whose squared distance is below its limit.

    Only those are measured whose score ``|b|² - 2 x·b`` from the matrix product is within
    ``bounds``: the limit less |x|², and more by what rounding may come to.
    """
    for q in range(queries.shape[0]):
        query, scores, limit, bound = queries[q], products[q], limits[q], bounds[q]
        count = filled[q]
        for i in range(scores.shape[0]):
            if sq_norms[i] - np.float32(2) * scores[i] <= bound:
                distance = _sq_distance(query, rows[i])
                if distance < limit:
                    distances[q, count] = distance
                    ids[q, count] = first_id + i
                    count += 1
        filled[q] = count
