"""Anchor graph hashing: graph, eigenvectors and thresholds against their dense definitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from bitfold import metrics
from bitfold.base_set import KMeansBase, RandomBase
from bitfold.errors import ParameterError
from bitfold.hashers import AGH, SH
from bitfold.hashers.agh import anchor_graph, anchor_projection, second_layer

Array = NDArray[Any]


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Use one thread: on busy cores, the threads of a small problem wait for each other."""
    with threadpool_limits(1):
        yield


class Dense(NamedTuple):
    """The matrices of the paper, dense."""

    Z: Array
    degrees: Array
    L: Array


def dense(ours: AGH, X: Array) -> Dense:
    """Return Z of Sec. 3.1, its degrees Λ, and L = I - ZΛ⁻¹Zᵀ."""
    sq = np.square(X[:, None] - ours.base_points_).sum(axis=2)
    Z = np.zeros_like(sq)
    for row, distances in zip(Z, sq, strict=True):
        near = np.argsort(distances)[: ours.n_neighbors_]
        weights = np.exp(-distances[near] / ours.bandwidth_**2)
        row[near] = weights / weights.sum()
    degrees = Z.sum(axis=0)
    return Dense(Z, degrees, np.eye(len(X)) - Z / degrees @ Z.T)


def small(**params: Any) -> AGH:
    quick: dict[str, Any] = {"n_bits": 8, "base": KMeansBase(30, max_iter=5), "random_state": 0}
    return AGH(**quick | params)


X: Array = load_digits().data[:400]


@pytest.mark.parametrize("k", [2, 4])
def test_reals_are_eigenvectors_of_the_whole_graph(k: int) -> None:
    ours = small(n_bits=5, n_layers=1, n_neighbors=k).fit(X)
    Y = ours.embed(X).astype(np.float64)
    L = dense(ours, X).L
    values = np.linalg.eigvalsh(L)
    for y, value in zip(Y.T, values[1:], strict=False):
        np.testing.assert_allclose(L @ y, value * y, atol=2e-3)
    np.testing.assert_allclose(Y.T @ Y / len(Y), np.eye(5), atol=1e-3)
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-3)


def test_the_graph_does_not_depend_on_the_blocks() -> None:
    Z = sparse.csr_array(dense(small().fit(X), X).Z)
    whole, parts = anchor_graph([Z], 30), anchor_graph([Z[:7], Z[7:300], Z[300:]], 30)
    np.testing.assert_allclose(whole.products, (Z.T @ Z).toarray())
    np.testing.assert_allclose(parts.products, whole.products)
    np.testing.assert_allclose(parts.degrees, Z.toarray().sum(axis=0))
    assert parts.n == whole.n == 400


def test_thresholds_are_the_smoothest_balanced_ones() -> None:
    Z, _, L = dense(small(n_neighbors=4).fit(X), X)
    rows = sparse.csr_array(Z)
    graph = anchor_graph([rows], 30)
    W = anchor_projection(graph, 6)
    ours = second_layer([rows[:77], rows[77:]], graph, W)
    for b, (y, above, below) in enumerate(zip((Z @ W).T, *ours, strict=True)):

        def f(cuts: Array, y: Array = y) -> Array:
            values: Array = np.where(y > 0, y - cuts[0], cuts[1] - y)
            return values

        def roughness(cuts: Array, f: Any = f) -> float:
            return float(f(cuts) @ L @ f(cuts))

        balanced = {"type": "eq", "fun": lambda cuts, f=f: f(cuts).mean()}
        found = minimize(roughness, [1, -1], constraints=balanced, tol=1e-12)
        np.testing.assert_allclose([above, below], found.x, atol=1e-3, err_msg=str(b))
        assert abs(f(np.array([above, below])).mean()) < 1e-9


def test_the_second_layer_divides_both_sides() -> None:
    ours = small().fit(X)
    reals = ours.embed(X)
    y, second = reals[:, :4], reals[:, 4:]
    above, below = ours.thresholds_.T
    np.testing.assert_array_equal(second > 0, np.where(y > 0, y > above, y < below))
    np.testing.assert_allclose(second.mean(axis=0), 0, atol=1e-3)
    for side in (y > 0, y <= 0):
        share = np.sum(side & (second > 0), axis=0) / np.sum(side, axis=0)
        assert ((share > 0) & (share < 1)).mean() >= 0.75


def test_the_first_layer_does_not_depend_on_the_second() -> None:
    one, two = small(n_bits=5, n_layers=1).fit(X), small(n_bits=9).fit(X)
    np.testing.assert_array_equal(two.embed(X)[:, :5], one.embed(X))
    even = small(n_bits=10).fit(X)
    np.testing.assert_array_equal(two.embed(X), even.embed(X)[:, :9])


def test_a_disconnected_graph_has_thresholds() -> None:
    Z = sparse.csr_array(np.repeat(np.eye(3), [4, 5, 6], axis=0))
    graph = anchor_graph([Z], 3)
    W = anchor_projection(graph, 2)
    cuts = second_layer([Z], graph, W)
    sizes = np.abs(Z @ W).mean(axis=0)
    np.testing.assert_allclose(cuts.above, sizes)
    np.testing.assert_allclose(cuts.below, -sizes)


def test_an_anchor_without_points_is_ignored() -> None:
    Z = sparse.csr_array(np.array([[0.6, 0.4, 0], [0.3, 0.7, 0], [1, 0, 0]]))
    graph = anchor_graph([Z], 3)
    W = anchor_projection(graph, 1)
    assert np.isfinite(W).all()
    assert np.isfinite(second_layer([Z], graph, W)).all()


def test_map_exceeds_that_of_spectral_hashing() -> None:
    X, y = load_digits(return_X_y=True)
    base = KMeansBase(150, max_iter=5)
    ours = metrics.map_scorer(AGH(16, base=base, random_state=0).fit(X), X, y)
    assert ours > metrics.map_scorer(SH(16).fit(X), X, y) + 0.15


def test_n_bits_is_limited_by_the_anchors() -> None:
    assert small(n_bits=None).fit(X).n_bits_ == 58
    with pytest.raises(ParameterError, match=r"n_layers \* \(anchors - 1\) = 58"):
        small(n_bits=59).fit(X)
    with pytest.raises(ParameterError, match=r"\(anchors - 1\) = 29"):
        small(n_bits=30, n_layers=1).fit(X)
    with pytest.raises(ParameterError, match="n_layers of AGH must be at most 2"):
        small(n_layers=3).fit(X)


def test_invalid_parameters() -> None:
    for params in ({"n_neighbors": 0}, {"bandwidth": -1}, {"base": "grid"}, {"n_bits": 0}):
        with pytest.raises(ParameterError) as caught:
            small(**params).fit(X)
        assert (caught.value.name, caught.value.owner) == (next(iter(params)), "AGH")


def test_a_failed_fit_changes_nothing() -> None:
    hasher = small().fit(X)
    before = dict(vars(hasher))
    with pytest.raises(ParameterError):
        hasher.set_params(n_bits=59).fit(X[:, :9])
    assert vars(hasher) == before | {"n_bits": 59}


def test_anchors_can_be_random_rows() -> None:
    ours = small(base=RandomBase(20)).fit(X)
    distances = np.abs(X[:, None] - ours.base_points_).max(axis=2).min(axis=0)
    np.testing.assert_allclose(distances, 0, atol=1e-5)
