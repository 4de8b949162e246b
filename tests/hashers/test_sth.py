"""Self-taught hashing: eigenmaps against their definition, and how well the machines learn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from bitfold import metrics
from bitfold._linalg.graph import gaussian_graph
from bitfold.hashers import PCAH, STH
from bitfold.hashers import sth as module
from bitfold.hashers.sth import laplacian_eigenvectors, median_bits

Array = NDArray[Any]
X, y = load_digits(return_X_y=True)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Small problems on busy cores: threads that wait for each other take ten times as long."""
    with threadpool_limits(1):
        yield


@pytest.mark.parametrize("dense", [0, 1000])
def test_eigenvectors_solve_the_generalized_problem(
    monkeypatch: pytest.MonkeyPatch, dense: int
) -> None:
    monkeypatch.setattr(module, "_DENSE", dense)
    W = gaussian_graph(X[:300], 10)
    D = np.diag(W.toarray().sum(axis=1))
    values = eigh(D - W.toarray(), D, eigvals_only=True)
    Y = laplacian_eigenvectors(W, 6)
    for column, value in zip(Y.T, values[1:], strict=False):
        np.testing.assert_allclose((D - W.toarray()) @ column, value * D @ column, atol=1e-6)
    np.testing.assert_allclose(Y.T @ D @ Y, np.eye(6), atol=1e-8)
    np.testing.assert_allclose(D.sum(axis=0) @ Y, 0, atol=1e-6)


def test_both_ways_find_the_same_eigenvectors(monkeypatch: pytest.MonkeyPatch) -> None:
    W = gaussian_graph(X[:300], 10)
    dense = laplacian_eigenvectors(W, 6)
    monkeypatch.setattr(module, "_DENSE", 0)
    np.testing.assert_allclose(np.abs(laplacian_eigenvectors(W, 6)), np.abs(dense), atol=1e-6)


def test_bits_of_the_sample_are_balanced() -> None:
    bits = median_bits(np.random.default_rng(0).normal(size=(100, 5)) ** 2)
    assert bits.sum(axis=0).tolist() == [50] * 5


def test_the_machines_agree_with_nine_of_ten_of_the_samples_first_bits() -> None:
    ours = STH(16, random_state=0).fit(X)
    taught = median_bits(laplacian_eigenvectors(gaussian_graph(X - X.mean(axis=0), 25), 16))
    agree = (ours.transform(X) == taught).mean(axis=0)
    # A sign that hangs on rounding turns a bit over.
    agree = np.maximum(agree, 1 - agree)
    assert agree[:8].mean() > 0.9
    # Later eigenvectors vary faster than any plane can follow.
    assert 0.8 < agree.mean() < 0.9


def test_the_scale_of_the_data_does_not_matter() -> None:
    # By a power of two, which does not round.
    ours, scaled = (STH(8, n_samples=300, random_state=0).fit(c * X) for c in (1, 1024))
    np.testing.assert_array_equal(ours.transform(X), scaled.transform(1024 * X))


def test_more_of_a_penalty_makes_fewer_errors() -> None:
    taught = median_bits(laplacian_eigenvectors(gaussian_graph(X - X.mean(axis=0), 25), 8))
    loose, strict = (STH(8, C=C, random_state=0).fit(X).transform(X) for C in (0.001, 10))
    assert (strict == taught).mean() > (loose == taught).mean() + 0.05


def test_it_is_better_than_principal_directions() -> None:
    ours = metrics.map_scorer(STH(16, n_samples=1000, random_state=0).fit(X), X, y)
    assert ours > metrics.map_scorer(PCAH(16).fit(X), X, y) + 0.1


def test_a_sample_limits_the_bits() -> None:
    assert STH(n_samples=10, n_neighbors=3, random_state=0).fit(X).n_bits_ == 9
    says = r"n_bits of STH must be at most sampled rows - 1 = 9, got 10\."
    with pytest.raises(ValueError, match=says):
        STH(10, n_samples=10).fit(X)
    with pytest.raises(ValueError, match=r"X of STH must be at least 2 rows that differ, got eq"):
        STH(3).fit(np.ones((10, 3)))
