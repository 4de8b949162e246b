"""Linear support vector machines: the same as scikit-learn's, and at a lowest point."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from bitfold._kernels import machines
from bitfold._kernels.machines import planes

X, y = load_digits(return_X_y=True)
X = X / 16
TARGETS = y[:, None] == np.arange(10)


@pytest.mark.parametrize("C", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("n", [1797, 40])
def test_machines_are_those_of_liblinear(monkeypatch: pytest.MonkeyPatch, C: float, n: int) -> None:
    """With 40 rows there are more dimensions than rows."""
    monkeypatch.setattr(machines, "_TOLERANCE", 1e-9)
    rows, targets = X[:n], TARGETS[:n]
    for plane, target in zip(planes(rows, targets, C), targets.T, strict=True):
        theirs = LinearSVC(C=C, dual=False, tol=1e-8, max_iter=10_000).fit(rows, target)
        expected = np.append(theirs.coef_[0], theirs.intercept_)
        np.testing.assert_allclose(plane, expected, atol=1e-4 * np.abs(expected).max())


def test_the_gradient_vanishes() -> None:
    signs = np.where(TARGETS, 1.0, -1.0)
    w = np.stack(list(planes(X, TARGETS, 1.0)), axis=1)
    inside = np.maximum(1 - signs * (X @ w[:-1] + w[-1]), 0)
    rows = np.column_stack([X, np.ones(len(X))])
    gradient = w - 2 * rows.T @ (signs * inside)
    assert np.linalg.norm(gradient) < 1e-5 * np.linalg.norm(2 * rows.T @ signs)


def test_rows_are_parted_by_the_plane_between_them() -> None:
    rows = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    target = rows @ [1.0, 2.0, -1.0] > 0.3
    (plane,) = planes(rows, target[:, None], 100.0)
    assert np.mean((rows @ plane[:-1] + plane[-1] > 0) == target) > 0.99


@pytest.mark.parametrize("target", [True, False])
def test_a_target_that_is_always_the_same_is_found_everywhere(target: bool) -> None:
    (plane,) = planes(X, np.full((len(X), 1), target), 1.0)
    assert ((X @ plane[:-1] + plane[-1] > 0) == target).all()


@pytest.mark.parametrize("C", [1e15, 1e308])
def test_a_price_beyond_rounding_is_no_error(C: float) -> None:
    copies = np.column_stack([X, X])
    for plane, target in zip(planes(copies, TARGETS, C), TARGETS.T, strict=True):
        assert np.mean((copies @ plane[:-1] + plane[-1] > 0) == target) > 0.95


def test_a_machine_does_not_depend_on_how_many_there_are() -> None:
    many = np.hstack([TARGETS, ~TARGETS])
    alone = next(planes(X, TARGETS[:, :1], 1.0))
    np.testing.assert_allclose(next(planes(X, many, 1.0)), alone, atol=0.01 * np.abs(alone).max())
