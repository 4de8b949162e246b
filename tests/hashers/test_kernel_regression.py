"""Regression on kernels from sums, against least squares; the bandwidth from held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge as SklearnRidge

from bitfold.errors import DataError, ParameterError
from bitfold.hashers._kernel_regression import (
    WIDTHS,
    choose_anchors,
    factor_ridge,
    learn_bandwidth,
)
from bitfold.hashers._labels import find_labeled_rows
from bitfold.hashers.base.kernel import root_mean_sq_distance
from bitfold.io.rows import Rows

X, Y = load_digits(return_X_y=True)


def test_regression_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    K = (rng.random((200, 7)) + 3).astype(np.float32)
    targets = rng.standard_normal((200, 3)).astype(np.float32)
    gram, total = (K.T @ K).astype(np.float64), K.sum(axis=0, dtype=np.float64)
    fit = factor_ridge(gram, total, 200, 0.5).solve(
        (K.T @ targets).astype(np.float64), targets.sum(axis=0, dtype=np.float64)
    )
    ridge = 0.5 * 200 * K.var(axis=0, dtype=np.float64).mean()
    theirs = SklearnRidge(alpha=ridge).fit(K.astype(np.float64), targets)
    np.testing.assert_allclose(fit.coefficients.T, theirs.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(fit.predict(K), theirs.predict(K), rtol=1e-2, atol=1e-3)


def test_regression_without_variance_is_the_mean() -> None:
    ones = np.ones((2, 2))
    fit = factor_ridge(5 * ones, 5 * np.ones(2), 5, 1e-3).solve(2 * ones, np.array([2.0, 2.0]))
    np.testing.assert_allclose(fit.predict(np.ones((1, 2), np.float32)), [[0.4, 0.4]], rtol=1e-5)


def test_bandwidth_is_the_best_for_held_out_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    sample, anchors = X[:600].astype(np.float32), X[600:700].astype(np.float32)
    scale = root_mean_sq_distance(sample, anchors)
    tried: list[float] = []

    def pretend(K: Any, targets: Any, kept: Any, held_out: Any, regularization: float) -> Any:
        assert len(kept) + len(held_out) == 600
        assert not set(kept.tolist()) & set(held_out.tolist())
        tried.append(float(K.mean()))
        # Only the third bandwidth predicts the classes.
        return targets[held_out] if len(tried) == 3 else 1 - targets[held_out]

    monkeypatch.setattr("bitfold.hashers._kernel_regression._predict_held_out", pretend)
    found = learn_bandwidth(sample, Y[:600], anchors, 1e-4, np.random.default_rng(0))
    assert found == pytest.approx(WIDTHS[2] * scale)
    assert tried == sorted(tried)
    assert len(tried) == len(WIDTHS)


def test_few_rows_have_a_bandwidth() -> None:
    rows = np.eye(2, 3, dtype=np.float32)
    found = learn_bandwidth(rows, np.array([0, 1]), rows, 1e-4, np.random.default_rng(0))
    assert found == pytest.approx(root_mean_sq_distance(rows, rows) / 2)


def test_anchors_are_rows_and_kernels_are_centered() -> None:
    rows, labeled = Rows.centered(X, "test"), find_labeled_rows(Y, len(X), "test")
    anchors = choose_anchors(rows, labeled, 50, 20.0, 1e-4, np.random.default_rng(0))
    assert anchors.bandwidth == 20
    known = {row.tobytes() for row in rows.block(0, len(X))}
    assert all(point.tobytes() in known for point in anchors.points)
    np.testing.assert_allclose(
        anchors.compute_kernels(rows.block(0, len(X))).mean(axis=0), 0, atol=1e-6
    )


def test_equal_kernels_raise() -> None:
    rows = Rows.centered(np.ones((20, 3)), "test")
    labeled = find_labeled_rows(np.arange(20) % 2, 20, "test")
    with pytest.raises(DataError, match="equal under the kernel"):
        choose_anchors(rows, labeled, 5, None, 1e-4, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="bandwidth of test"):
        choose_anchors(rows, labeled, 5, -1.0, 1e-4, np.random.default_rng(0))
