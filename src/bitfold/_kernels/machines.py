"""Linear support vector machines for many targets of the same rows.

liblinear holds dense rows as sparse ones and reads all of them again for each machine. Here a block
of machines goes down at once, by Newton's method (Chapelle 2007, *Training a support vector machine
in the primal*), and every product reads the rows for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from bitfold._threads import map_blocks, serial_blas
from bitfold._types import BoolArray, Float64Array

_BLOCK = 16
"""Machines that go down together: enough for a matrix product to be quick, and never more, so that
the number of cores does not change how anything is rounded."""

_TOLERANCE = 1e-5
"""A machine is done when its gradient is this part of the one it started with."""

_STEPS = 50
_PRODUCTS = 50
_HALVINGS = 20

_ROUGHLY = 0.1
"""How near a step comes to Newton's: nearer would not save any."""

_HARD = 1e15
"""A price that no row pays if it can be helped: beside more of it |w|² is lost in rounding."""

_TINY = np.finfo(np.float64).tiny


def planes(X: Float64Array, targets: BoolArray, C: float) -> Iterator[Float64Array]:
    """Yield for each column of targets the plane's w and, behind it, its offset b.

    They have the least ½ (|w|² + b²) + C Σ max(0, 1 - y (x·w + b))², where y is 1 for targets that
    are true and -1 for others: the problem of scikit-learn's ``LinearSVC``.
    """
    C = min(C, _HARD)
    with serial_blas():
        rows, back = _in_their_span(X)
        rows = np.column_stack([rows, np.ones(len(rows))])
        most = _most_curved(rows, C)
    blocks = (targets[:, i : i + _BLOCK] for i in range(0, targets.shape[1], _BLOCK))
    for found in map_blocks(partial(_lowest, rows, most, C), blocks):
        for w in found.T:
            yield w if back is None else np.append(back @ w[:-1], w[-1])


def _most_curved(rows: Float64Array, C: float) -> tuple[Float64Array, bool]:
    """Factor the curvature with every row inside its margin; elsewhere it is less, but alike."""
    curvature = 2 * C * rows.T @ rows
    # A huge C leaves nothing of the 1 in rounding.
    lost = len(curvature) * np.finfo(np.float64).eps * np.trace(curvature)
    curvature[np.diag_indices_from(curvature)] += 1 + lost
    factor: tuple[Float64Array, bool] = cho_factor(curvature)
    return factor


def _in_their_span(X: Float64Array) -> tuple[Float64Array, Float64Array | None]:
    """Return rows in no more dimensions than there are rows, and the basis that leads back."""
    if X.shape[1] <= len(X):
        return X, None
    basis, coordinates = np.linalg.qr(X.T)
    return np.ascontiguousarray(coordinates.T), basis


def _lowest(
    rows: Float64Array, most: tuple[Float64Array, bool], C: float, targets: BoolArray
) -> Float64Array:
    """Return the lowest points of a block of machines, as columns."""
    signs = np.where(targets, 1.0, -1.0)
    w = np.zeros((rows.shape[1], signs.shape[1]))
    # How far a row is inside its margin.
    inside = np.ones_like(signs)
    for step in range(_STEPS):
        gradient = w - 2 * C * rows.T @ (signs * np.maximum(inside, 0))
        size = np.linalg.norm(gradient, axis=0)
        if step == 0:
            enough = _TOLERANCE * size
        if (size <= enough).all():
            break
        direction = _newton(rows, most, C, inside > 0, gradient)
        change = signs * (rows @ direction)
        length = _descent(w, direction, inside, change, C, (gradient * direction).sum(axis=0))
        w += length * direction
        inside -= length * change
    return w


def _newton(
    rows: Float64Array,
    most: tuple[Float64Array, bool],
    C: float,
    active: BoolArray,
    gradient: Float64Array,
) -> Float64Array:
    """Return Newton's directions, nearly: conjugate gradients that ``most`` sets right."""
    direction, residual = np.zeros_like(gradient), -gradient
    along = cho_solve(most, residual)
    left = first = (residual * along).sum(axis=0)
    for _ in range(_PRODUCTS):
        curved = along + 2 * C * rows.T @ (active * (rows @ along))
        far = left / np.maximum((along * curved).sum(axis=0), _TINY)
        direction += far * along
        residual -= far * curved
        solved = cho_solve(most, residual)
        before, left = left, (residual * solved).sum(axis=0)
        if (left <= _ROUGHLY**2 * first).all():
            break
        along = solved + left / np.maximum(before, _TINY) * along
    return direction


def _descent(
    w: Float64Array,
    direction: Float64Array,
    inside: Float64Array,
    change: Float64Array,
    C: float,
    slope: Float64Array,
) -> Float64Array:
    """Return how far each machine goes: all the way, or half as far until that is lower."""

    def objective(length: Float64Array) -> Float64Array:
        weight = np.square(w + length * direction).sum(axis=0)
        loss = np.square(np.maximum(inside - length * change, 0)).sum(axis=0)
        value: Float64Array = weight / 2 + C * loss
        return value

    length = np.ones(w.shape[1])
    now = objective(np.zeros_like(length))
    for _ in range(_HALVINGS):
        high = objective(length) > now + 1e-4 * length * slope
        if not high.any():
            break
        length[high] /= 2
    return length
