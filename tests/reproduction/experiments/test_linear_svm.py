"""The SVMs are those of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from reproduction.experiments.linear_svm import (
    fit_machine,
    predict_one_versus_one,
    predict_one_versus_rest,
)
from sklearn.datasets import load_digits
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import LinearSVC


def load_halves() -> tuple[Any, ...]:
    X, y = load_digits(return_X_y=True)
    signs = np.where(X > 7, 1.0, -1.0)
    return signs[:900], y[:900], signs[900:], y[900:]


def test_a_machine_is_that_of_scikit_learn() -> None:
    X, labels, _, _ = load_halves()
    y = np.where(labels == 3, 1.0, -1.0)
    w = fit_machine(np.column_stack([X, np.ones(len(X))]), y, 0.1)
    theirs = LinearSVC(C=0.1, dual=False, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(w[:-1], theirs.coef_[0], atol=1e-6)
    assert w[-1] == pytest.approx(theirs.intercept_[0], abs=1e-6)


@pytest.mark.parametrize(
    ("predict", "combine"),
    [(predict_one_versus_rest, lambda m: m), (predict_one_versus_one, OneVsOneClassifier)],
)
def test_classes_are_those_of_scikit_learn(
    predict: Callable[..., Any], combine: Callable[[Any], Any]
) -> None:
    X, labels, test, truth = load_halves()
    theirs = combine(LinearSVC(C=0.1, dual=False, tol=1e-8, max_iter=10_000))
    expected = theirs.fit(X, labels).predict(test)
    np.testing.assert_array_equal(predict(X, labels, test, 0.1), expected)
    assert np.mean(expected == truth) > 0.8


def test_rows_that_cannot_be_separated_have_a_minimum() -> None:
    X = np.ones((10, 1))
    w = fit_machine(X, np.repeat([1.0, -1.0], 5), C=1.0)
    assert w == pytest.approx(0, abs=1e-9)
