"""Self-taught hashing: eigenvectors against their definition, and how well bits are predicted."""

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
from bitfold._linalg.graph import cosine_graph, gaussian_graph
from bitfold.errors import DataError, ParameterError
from bitfold.hashers import PCAH, STH
from bitfold.hashers import sth as module
from bitfold.hashers.sth import (
    laplacian_eigenvectors,
    median_bits,
    neighbor_graph,
)

Array = NDArray[Any]
X, y = load_digits(return_X_y=True)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Use one thread: on small problems, threads that wait for each other take ten times longer."""
    with threadpool_limits(1):
        yield


@pytest.mark.parametrize("max_dense_rows", [0, 1000])
def test_eigenvectors_solve_the_generalized_problem(
    monkeypatch: pytest.MonkeyPatch, max_dense_rows: int
) -> None:
    monkeypatch.setattr(module, "_MAX_DENSE_ROWS", max_dense_rows)
    W = gaussian_graph(X[:300], 10)
    D = np.diag(W.toarray().sum(axis=1))
    values = eigh(D - W.toarray(), D, eigvals_only=True)
    Y = laplacian_eigenvectors(W, 6)
    for column, value in zip(Y.T, values[1:], strict=False):
        np.testing.assert_allclose((D - W.toarray()) @ column, value * D @ column, atol=1e-6)
    np.testing.assert_allclose(Y.T @ D @ Y, np.eye(6), atol=1e-8)
    np.testing.assert_allclose(D.sum(axis=0) @ Y, 0, atol=1e-6)


def test_both_solvers_find_the_same_eigenvectors(monkeypatch: pytest.MonkeyPatch) -> None:
    W = gaussian_graph(X[:300], 10)
    dense = laplacian_eigenvectors(W, 6)
    monkeypatch.setattr(module, "_MAX_DENSE_ROWS", 0)
    np.testing.assert_allclose(np.abs(laplacian_eigenvectors(W, 6)), np.abs(dense), atol=1e-6)


def test_bits_of_the_sample_are_balanced() -> None:
    bits = median_bits(np.random.default_rng(0).normal(size=(100, 5)) ** 2)
    assert bits.sum(axis=0).tolist() == [50] * 5


GRAPHS = {"cosine": cosine_graph(X, 25), "gaussian": gaussian_graph(X - X.mean(axis=0), 25)}


@pytest.mark.parametrize("affinity", GRAPHS)
def test_the_first_bits_of_the_sample_are_predicted(affinity: str) -> None:
    ours = STH(16, affinity=affinity, random_state=0).fit(X)
    expected = median_bits(laplacian_eigenvectors(GRAPHS[affinity], 16))
    agreement = (ours.transform(X) == expected).mean(axis=0)
    # Rounding may decide the sign of an eigenvector, which inverts the bit.
    agreement = np.maximum(agreement, 1 - agreement)
    assert agreement[:8].mean() > 0.9
    # Later eigenvectors vary too fast for a hyperplane.
    assert 0.8 < agreement.mean() < 0.9


@pytest.mark.parametrize("C", [1e15, 1e308])
def test_a_huge_penalty_is_possible(C: float) -> None:
    bits = STH(8, C=C, n_samples=200, random_state=0).fit(X).transform(X)
    assert len(np.unique(bits, axis=0)) > 10


def test_codes_do_not_depend_on_the_number_of_threads() -> None:
    alone = STH(8, n_samples=300, random_state=0).fit(X)
    with threadpool_limits(2):
        threaded = STH(8, n_samples=300, random_state=0).fit(X)
    np.testing.assert_array_equal(threaded.directions_, alone.directions_)
    np.testing.assert_array_equal(threaded.thresholds_, alone.thresholds_)


def test_the_scale_of_the_data_does_not_matter() -> None:
    # A power of two does not round.
    ours, scaled = (STH(8, n_samples=300, random_state=0).fit(c * X) for c in (1, 1024))
    np.testing.assert_array_equal(ours.transform(X), scaled.transform(1024 * X))


def test_a_larger_penalty_makes_fewer_errors() -> None:
    expected = median_bits(laplacian_eigenvectors(GRAPHS["cosine"], 8))
    loose, strict = (STH(8, C=C, random_state=0).fit(X).transform(X) for C in (0.001, 10))
    assert (strict == expected).mean() > (loose == expected).mean() + 0.05


def test_codes_are_better_than_those_of_pca() -> None:
    ours = metrics.map_scorer(STH(16, n_samples=1000, random_state=0).fit(X), X, y)
    assert ours > metrics.map_scorer(PCAH(16).fit(X), X, y) + 0.1


def test_only_cosines_ignore_the_lengths_of_rows() -> None:
    lengths = np.random.default_rng(0).uniform(1, 4, (len(X), 1))

    def graph(affinity: str, points: Array) -> Array:
        center = points.mean(axis=0)
        weights = neighbor_graph(points - center, center.astype(np.float32), 25, affinity)
        return np.asarray(weights.toarray())

    few = X[:200]
    for affinity, is_same in (("cosine", True), ("gaussian", False)):
        scaled = graph(affinity, lengths[:200] * few)
        assert np.allclose(scaled, graph(affinity, few), atol=1e-4) == is_same


def test_an_unknown_affinity_raises() -> None:
    with pytest.raises(ParameterError, match=r"affinity of STH .* 'dot'"):
        STH(affinity="dot").fit(X)


def test_the_sample_limits_the_bits() -> None:
    assert STH(n_samples=10, n_neighbors=3, random_state=0).fit(X).n_bits_ == 9
    with pytest.raises(ParameterError, match=r"n_bits of STH must be at most .* 9, got 10"):
        STH(10, n_samples=10).fit(X)


def test_equal_rows_raise() -> None:
    with pytest.raises(DataError, match="STH"):
        STH(3).fit(np.ones((10, 3)))


def test_values_too_small_for_float32_are_an_error() -> None:
    X = load_digits().data[:200].astype(np.float32) * np.float32(1e-42)
    with pytest.raises(DataError, match="directions_ is not finite"):
        STH(2, random_state=0).fit(X)
