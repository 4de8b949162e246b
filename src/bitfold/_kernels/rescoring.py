"""Exact distances between queries and the kept vectors of their candidates.

Rows are read where they lie, usually in a memory map, so only those of the candidates are touched.
There is one kernel per format in which vectors are kept; each decodes a row to float32 and
measures it. The distance of a candidate depends on the two vectors alone, not on the batch.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from bitfold._kernels.fixed_order import dot, sq_distance
from bitfold._types import (
    AnyArray,
    Float32Array,
    Float64Array,
    Int8Array,
    Int64Array,
    UInt16Array,
)

_HALF_SHIFT = np.uint32(13)
_HALF_SIGN = np.uint32(0x8000)
_HALF_REST = np.uint32(0x7FFF)
_HALF_SCALE = np.float32(2.0**112)
"""What the exponent of a half lacks in the place of that of a float: 127 - 15 powers of two."""


@njit(nogil=True, cache=True)
def _measure_cosine(query: Float32Array, x: Float32Array) -> float:
    """Return 1 - cosine for a query of unit length; 1 if x has no direction."""
    sq_length = dot(x, x)
    if sq_length <= 0:
        return 1.0
    # Rounding may make the cosine slightly larger than 1.
    return float(np.maximum(0.0, 1.0 - dot(query, x) / math.sqrt(sq_length)))


@njit(nogil=True, cache=True)
def _measure(query: Float32Array, x: Float32Array, is_cosine: bool) -> float:
    return _measure_cosine(query, x) if is_cosine else math.sqrt(sq_distance(query, x))


@njit(nogil=True, cache=True)
def measure_float32(
    vectors: Float32Array,
    scales: Float32Array,
    rows: Int64Array,
    queries: Float32Array,
    is_cosine: bool,
    out: Float32Array,
) -> None:
    """Set out[i, j] to the distance between query i and row ``rows[i, j]`` of the vectors."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[i, j] = _measure(queries[i], vectors[rows[i, j]], is_cosine)


@njit(nogil=True, cache=True)
def measure_float16(
    vectors: UInt16Array,
    scales: Float32Array,
    rows: Int64Array,
    queries: Float32Array,
    is_cosine: bool,
    out: Float32Array,
) -> None:
    """Do the same for vectors whose bits are those of finite halves."""
    bits = np.empty(vectors.shape[1], np.uint32)
    x = bits.view(np.float32)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            stored = vectors[rows[i, j]]
            for c in range(stored.shape[0]):
                half = np.uint32(stored[c])
                bits[c] = (half & _HALF_REST) << _HALF_SHIFT | (half & _HALF_SIGN) << np.uint32(16)
            # Exact, also for subnormal halves: a power of two changes the exponent only.
            for c in range(stored.shape[0]):
                x[c] *= _HALF_SCALE
            out[i, j] = _measure(queries[i], x, is_cosine)


@njit(nogil=True, cache=True)
def measure_int8(
    vectors: Int8Array,
    scales: Float32Array,
    rows: Int64Array,
    queries: Float32Array,
    is_cosine: bool,
    out: Float32Array,
) -> None:
    """Do the same for vectors that are integers times the scale of their row."""
    x = np.empty(vectors.shape[1], np.float32)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            stored, scale = vectors[rows[i, j]], scales[rows[i, j]]
            for c in range(stored.shape[0]):
                x[c] = np.float32(stored[c]) * scale
            out[i, j] = _measure(queries[i], x, is_cosine)


@njit(nogil=True, cache=True)
def measure_rows(
    vectors: AnyArray, rows: Int64Array, query: Float64Array, out: Float64Array
) -> None:
    """Set out[i] to the squared distance in float64 between the query and row ``rows[i]``."""
    for i in range(rows.shape[0]):
        out[i] = sq_distance(query, vectors[rows[i]])


@njit(nogil=True, cache=True)
def select_nearest(
    rows: Int64Array, measured: Float32Array, nearest: Int64Array, distances: Float32Array
) -> None:
    """Write the candidates of smallest distance, ties by row, as many as there are columns."""
    k = nearest.shape[1]
    for i in range(rows.shape[0]):
        count = 0
        for j in range(rows.shape[1]):
            row, distance = rows[i, j], measured[i, j]
            if count == k:
                last = distances[i, k - 1]
                if distance > last or (distance == last and row > nearest[i, k - 1]):
                    continue
            else:
                count += 1
            at = count - 1
            while at > 0 and (
                distances[i, at - 1] > distance
                or (distances[i, at - 1] == distance and nearest[i, at - 1] > row)
            ):
                distances[i, at], nearest[i, at] = distances[i, at - 1], nearest[i, at - 1]
                at -= 1
            distances[i, at], nearest[i, at] = distance, row
