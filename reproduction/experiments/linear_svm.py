"""Linear SVMs on many rows and few features, by Newton's method.

The minimum is that of scikit-learn's ``LinearSVC``, which takes about six times as long on codes:
its solver passes over all rows hundreds of times. Here a step is the solution of a small linear
system over the rows inside the margin. Keerthi and DeCoste, *A modified finite Newton method for
fast solution of large scale linear SVMs*, JMLR 2005.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from reproduction.shared_types import AnyArray, BoolArray, Float64Array

_MAX_STEPS = 100
_MAX_HALVINGS = 30


def fit_machine(
    X: Float64Array, y: AnyArray, C: float, products: Float64Array | None = None
) -> Float64Array:
    """Return w that minimizes |w|² / 2 + C Σ max(0, 1 - y_i w·x_i)².

    Parameters
    ----------
    X
        Rows; the intercept is the weight of a column of ones, as in ``LinearSVC``.
    y
        The class of each row, 1 or -1.
    C
        Weight of the loss.
    products
        Xᵀ X, if it is known.

    Returns
    -------
    One weight per column.
    """
    inside, products = np.ones(len(X), bool), X.T @ X if products is None else products
    w = np.zeros(X.shape[1])
    margins = np.zeros(len(X))
    cost = _measure_cost(w, margins, C)
    for _ in range(_MAX_STEPS):
        before, inside = inside, margins < 1
        products = _update_products(products, X, before, inside)
        hessian = 2 * C * products
        hessian[np.diag_indices_from(hessian)] += 1
        target = np.linalg.solve(hessian, 2 * C * ((y * inside) @ X))
        target_margins = y * (X @ target)
        if np.array_equal(target_margins < 1, inside):
            return np.asarray(target, np.float64)  # the cost is quadratic here; this is its minimum
        step = 1.0
        for _ in range(_MAX_HALVINGS):
            next_w = w + step * (target - w)
            next_margins = margins + step * (target_margins - margins)
            next_cost = _measure_cost(next_w, next_margins, C)
            if next_cost < cost:
                break
            step /= 2
        else:
            return w  # rounding prevents progress
        w, margins, cost = next_w, next_margins, next_cost
    return w


def _update_products(
    products: Float64Array, X: Float64Array, before: BoolArray, after: BoolArray
) -> Float64Array:
    """Return Xᵀ X of other rows; fewer rows change than remain, after the first steps."""
    if 2 * np.count_nonzero(before ^ after) > np.count_nonzero(after):
        rows = X[after]
        return np.asarray(rows.T @ rows)
    entered, left = X[after & ~before], X[before & ~after]
    return np.asarray(products + entered.T @ entered - left.T @ left)


def _measure_cost(w: Float64Array, margins: Float64Array, C: float) -> float:
    return float(w @ w / 2 + C * np.square(np.maximum(0, 1 - margins)).sum())


def predict_one_versus_rest(
    train: AnyArray, labels: AnyArray, test: AnyArray, C: float
) -> AnyArray:
    """Train one machine per class, and return the class with the largest output for each row."""
    X, queries = _add_ones(train), _add_ones(test)
    classes = np.unique(labels)
    products = X.T @ X
    machines = [
        fit_machine(X, np.where(labels == each, 1.0, -1.0), C, products) for each in classes
    ]
    return np.asarray(classes[np.argmax(queries @ np.array(machines).T, axis=1)])


def predict_one_versus_one(train: AnyArray, labels: AnyArray, test: AnyArray, C: float) -> AnyArray:
    """Train one machine per pair of classes, and return the class with the most votes.

    Ties are broken by the sum of the outputs, each squeezed into less than a third of a vote, as in
    scikit-learn's ``OneVsOneClassifier``.
    """
    X, queries = _add_ones(train), _add_ones(test)
    classes = np.unique(labels)
    votes = np.zeros((len(test), len(classes)))
    outputs = np.zeros_like(votes)
    for a, b in combinations(range(len(classes)), 2):
        is_pair = (labels == classes[a]) | (labels == classes[b])
        y = np.where(labels[is_pair] == classes[b], 1.0, -1.0)
        output = queries @ fit_machine(X[is_pair], y, C)
        votes[:, b] += output > 0
        votes[:, a] += output <= 0
        outputs[:, b] += output
        outputs[:, a] -= output
    return np.asarray(classes[np.argmax(votes + outputs / (3 * (np.abs(outputs) + 1)), axis=1)])


def _add_ones(rows: AnyArray) -> Float64Array:
    return np.column_stack([np.asarray(rows, np.float64), np.ones(len(rows))])
