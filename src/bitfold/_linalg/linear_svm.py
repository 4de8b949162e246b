"""Linear support vector machines that predict many bits of the same rows.

Ours, because liblinear stores dense rows as sparse ones and reads all of them again for each bit:
128 bits of 5,000 images take minutes. Here, every product with the rows serves a block of machines.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from bitfold._threads import map_blocks, serial_blas
from bitfold._types import BoolArray, Float64Array

_BLOCK_BITS = 16
"""Machines per block. It does not depend on the number of cores, and so neither does rounding."""

_TOLERANCE = 1e-5
"""A machine is done if its gradient is smaller than this fraction of the first one."""

_MAX_STEPS = 50
_MAX_PRODUCTS = 50
_MAX_HALVINGS = 20

_MAX_RESIDUAL = 0.1
"""Relative residual of a Newton step; a smaller one does not save steps."""

_MAX_C = 1e15
"""Upper bound of C; beyond it the regularizer is lost in rounding."""

_TINY = np.finfo(np.float64).tiny


class _Problem(NamedTuple):
    """Rows with a column of ones, the penalty, and the factors of the largest Hessian matrix."""

    rows: Float64Array
    C: float
    factors: tuple[Float64Array, bool]


def fit_linear_svms(X: Float64Array, bits: BoolArray, C: float) -> Iterator[Float64Array]:
    """Yield a weight per feature and a bias, for each column of ``bits``.

    They minimize (|w|² + b²) / 2 + C Σ max(0, 1 - s (x·w + b))², where s is 1 for bits that are
    set and -1 for others: the problem that scikit-learn's ``LinearSVC`` solves. The method is that
    of Chapelle, *Training a support vector machine in the primal*, Neural Computation 2007.

    Parameters
    ----------
    X
        Points, one per row.
    bits
        Bits to predict, one column per machine.
    C
        Penalty of points on the wrong side of their margin.
    """
    C = min(C, _MAX_C)
    with serial_blas():
        rows, basis = _reduce_width(X)
        rows = np.column_stack([rows, np.ones(len(rows))])
        problem = _Problem(rows, C, _factor_hessian(rows, C))
    blocks = (bits[:, i : i + _BLOCK_BITS] for i in range(0, bits.shape[1], _BLOCK_BITS))
    for weights in map_blocks(partial(_minimize, problem), blocks):
        for w in weights.T:
            yield w if basis is None else np.append(basis @ w[:-1], w[-1])


def _reduce_width(X: Float64Array) -> tuple[Float64Array, Float64Array | None]:
    """Return points with at most as many features as points, and the basis of these features."""
    if X.shape[1] <= len(X):
        return X, None
    basis, coordinates = np.linalg.qr(X.T)
    return np.ascontiguousarray(coordinates.T), basis


def _factor_hessian(rows: Float64Array, C: float) -> tuple[Float64Array, bool]:
    """Factor the Hessian matrix of a machine with all rows within its margin, the largest one."""
    hessian = 2 * C * rows.T @ rows
    # With a huge C, rounding loses the 1 of the regularizer.
    rounding = len(hessian) * np.finfo(np.float64).eps * np.trace(hessian)
    hessian[np.diag_indices_from(hessian)] += 1 + rounding
    factors: tuple[Float64Array, bool] = cho_factor(hessian)
    return factors


def _minimize(problem: _Problem, bits: BoolArray) -> Float64Array:
    """Return the weights of a block of machines as columns, by Newton's method."""
    rows, C = problem.rows, problem.C
    signs = np.where(bits, 1.0, -1.0)
    w = np.zeros((rows.shape[1], signs.shape[1]))
    slack = np.ones_like(signs)
    limits = np.zeros(signs.shape[1])
    for step in range(_MAX_STEPS):
        gradient = w - 2 * C * rows.T @ (signs * np.maximum(slack, 0))
        norms = np.linalg.norm(gradient, axis=0)
        if step == 0:
            limits = _TOLERANCE * norms
        if (norms <= limits).all():
            break
        direction = _find_direction(problem, slack > 0, gradient)
        change = signs * (rows @ direction)
        slope = (gradient * direction).sum(axis=0)
        length = _find_length(problem, w, direction, slack, change, slope)
        w += length * direction
        slack -= length * change
    return w


def _find_direction(
    problem: _Problem, is_active: BoolArray, gradient: Float64Array
) -> Float64Array:
    """Solve for the Newton step by conjugate gradients, preconditioned by the largest Hessian."""
    rows, C, factors = problem
    direction, residual = np.zeros_like(gradient), -gradient
    along = cho_solve(factors, residual)
    left = first = (residual * along).sum(axis=0)
    for _ in range(_MAX_PRODUCTS):
        product = along + 2 * C * rows.T @ (is_active * (rows @ along))
        distance = left / np.maximum((along * product).sum(axis=0), _TINY)
        direction += distance * along
        residual -= distance * product
        solved = cho_solve(factors, residual)
        before, left = left, (residual * solved).sum(axis=0)
        if (left <= _MAX_RESIDUAL**2 * first).all():
            break
        along = solved + left / np.maximum(before, _TINY) * along
    return direction


def _find_length(
    problem: _Problem,
    w: Float64Array,
    direction: Float64Array,
    slack: Float64Array,
    change: Float64Array,
    slope: Float64Array,
) -> Float64Array:
    """Return the length of each machine's step: 1, halved until the step lowers the objective."""

    def compute_objective(length: Float64Array) -> Float64Array:
        regularizer = np.square(w + length * direction).sum(axis=0)
        loss = np.square(np.maximum(slack - length * change, 0)).sum(axis=0)
        objective: Float64Array = regularizer / 2 + problem.C * loss
        return objective

    length = np.ones(w.shape[1])
    now = compute_objective(np.zeros_like(length))
    for _ in range(_MAX_HALVINGS):
        is_high = compute_objective(length) > now + 1e-4 * length * slope
        if not is_high.any():
            break
        length[is_high] /= 2
    return length
