"""Random walks along a sparse graph, and the strongest links of each node."""

from __future__ import annotations

import numpy as np
from numba import njit

from bitfold._types import Float64Array, Int32Array, Int64Array


@njit(nogil=True, cache=True)
def _insert(
    columns: Int64Array, values: Float64Array, filled: int, column: int, value: float
) -> int:
    """Insert a link into a list that descends by value, ties by column; return its length."""
    at = filled
    while at > 0 and (
        values[at - 1] < value or (values[at - 1] == value and columns[at - 1] > column)
    ):
        at -= 1
    if at == columns.shape[0]:
        return filled
    filled = min(filled + 1, columns.shape[0])
    for i in range(filled - 1, at, -1):
        columns[i], values[i] = columns[i - 1], values[i - 1]
    columns[at], values[at] = column, value
    return filled


@njit(nogil=True, cache=True)
def _step(
    row: Float64Array,
    touched: Int64Array,
    n_touched: int,
    indptr: Int32Array,
    indices: Int32Array,
    links: Float64Array,
    weights: Float64Array,
    out: Float64Array,
    reached: Int64Array,
) -> int:
    """Follow the links of the touched nodes; clear ``row`` and return the number reached."""
    n_reached = 0
    for t in range(n_touched):
        j = touched[t]
        mass = row[j] * weights[j]
        row[j] = 0.0
        for e in range(indptr[j], indptr[j + 1]):
            if out[indices[e]] == 0.0:
                reached[n_reached] = indices[e]
                n_reached += 1
            out[indices[e]] += mass * links[e]
    return n_reached


@njit(nogil=True, cache=True)
def strongest_links(
    indptr: Int32Array,
    indices: Int32Array,
    links: Float64Array,
    weights: Float64Array,
    n_steps: int,
    first: int,
    columns: Int64Array,
    values: Float64Array,
    counts: Int64Array,
) -> None:
    """Write the strongest links of the nodes from ``first``, one row per node.

    ``links`` is a symmetric matrix A with positive values, ``weights`` is 1 / its row sums D. The
    strength of a link is its entry in W + Wᵀ for W = (D⁻¹ A)ⁿ, the probabilities of a walk of n
    steps in either direction. As A is symmetric, that is S_ij (1 / D_i + 1 / D_j) with
    S = A (D⁻¹ A)ⁿ⁻¹, one row at a time.
    """
    m = indptr.shape[0] - 1
    row, out = np.zeros(m), np.zeros(m)
    touched, reached = np.empty(m, np.int64), np.empty(m, np.int64)
    for r in range(columns.shape[0]):
        i = first + r
        n_touched = 0
        for e in range(indptr[i], indptr[i + 1]):
            row[indices[e]] = links[e]
            touched[n_touched] = indices[e]
            n_touched += 1
        for _ in range(n_steps - 1):
            n_touched = _step(
                row, touched, n_touched, indptr, indices, links, weights, out, reached
            )
            row, out = out, row
            touched, reached = reached, touched
        filled = 0
        for t in range(n_touched):
            j = touched[t]
            if j != i:
                strength = row[j] * (weights[i] + weights[j])
                filled = _insert(columns[r], values[r], filled, j, strength)
            row[j] = 0.0
        counts[r] = filled
