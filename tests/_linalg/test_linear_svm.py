"""Linear support vector machines for many bits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from bitfold._linalg.linear_svm import fit_linear_svms
from bitfold._types import BoolArray, Float64Array

X, y = load_digits(return_X_y=True)
X = X / 16
BITS = np.arange(10) == y[:, None]


def compute_objective(
    points: Float64Array, bit: BoolArray, C: float, weights: Float64Array
) -> float:
    margins = np.where(bit, 1.0, -1.0) * (points @ weights[:-1] + weights[-1])
    slack = np.maximum(1 - margins, 0)
    return float(weights @ weights / 2 + C * (slack @ slack))


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_the_objective_is_as_low_as_that_of_scikit_learn(C: float) -> None:
    for bit, weights in zip(BITS.T, fit_linear_svms(X, BITS, C), strict=True):
        theirs = LinearSVC(C=C, dual=False, tol=1e-8).fit(X, bit)
        expected = compute_objective(X, bit, C, np.append(theirs.coef_, theirs.intercept_))
        assert compute_objective(X, bit, C, weights) < expected * (1 + 1e-4)


def test_more_machines_than_a_block() -> None:
    bits = np.tile(BITS, (1, 4))
    found = list(fit_linear_svms(X, bits, 1.0))
    costs = [compute_objective(X, *pair) for pair in zip(bits.T, [1.0] * 40, found, strict=True)]
    np.testing.assert_allclose(costs[:10], costs[30:], rtol=1e-4)


def test_more_features_than_points() -> None:
    points, bits = X[:40], BITS[:40]
    for bit, weights in zip(bits.T, fit_linear_svms(points, bits, 1.0), strict=True):
        theirs = LinearSVC(C=1.0, dual=False, tol=1e-8).fit(points, bit)
        np.testing.assert_allclose(weights[:-1], theirs.coef_[0], atol=1e-3)


def test_points_are_separated() -> None:
    points = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    bit = points @ [1.0, 2.0, -1.0] > 0.3
    [weights] = fit_linear_svms(points, bit[:, None], 100.0)
    assert np.mean((points @ weights[:-1] + weights[-1] > 0) == bit) > 0.99


@pytest.mark.parametrize("value", [True, False])
def test_a_constant_bit_is_predicted_everywhere(value: bool) -> None:
    [weights] = fit_linear_svms(X, np.full((len(X), 1), value), 1.0)
    assert ((X @ weights[:-1] + weights[-1] > 0) == value).all()
