"""Semi-supervised hashing: the adjusted covariance, and each variant as in the paper."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from bitfold.errors import ParameterError
from bitfold.hashers import PCAH, SSH
from bitfold.hashers.ssh import (
    deflate,
    emphasize_errors,
    learn_nonorthogonal,
    learn_orthogonal,
    learn_sequential,
    measure_agreement,
    pair_labels,
)
from bitfold.metrics import map_scorer

Array = NDArray[Any]

VARIANTS = ("sequential", "nonorthogonal", "orthogonal")


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


class Problem(NamedTuple):
    """Labeled rows, the labels of their pairs, and the covariance of all rows."""

    X: Array
    S: Array
    C: Array


@cache
def problem() -> Problem:
    X, y = load_digits(return_X_y=True)
    X = (X - X.mean(axis=0)).astype(np.float32)
    some = np.random.default_rng(0).choice(len(X), 150, replace=False)
    return Problem(X[some], pair_labels(y[some]), (X.T.astype(np.float64) @ X) / len(X))


def test_agreement_is_a_mean_over_pairs() -> None:
    X, S, _ = problem()
    w = np.random.default_rng(0).standard_normal(X.shape[1:])
    p = X @ w
    pairs = [S[i, j] * p[i] * p[j] for i in range(len(X)) for j in range(len(X))]
    assert w @ measure_agreement(X, S) @ w == pytest.approx(np.mean(pairs), rel=1e-4)


def test_pair_labels() -> None:
    expected = [[1, -1, 1], [-1, 1, -1], [1, -1, 1]]
    np.testing.assert_array_equal(pair_labels(np.array([4, 0, 4])), expected)


def test_orthogonal_directions_maximize_the_objective() -> None:
    X, S, C = problem()
    M = measure_agreement(X, S) + 0.1 * C
    W = learn_orthogonal(M, 8)
    np.testing.assert_allclose(W @ W.T, np.eye(8), atol=1e-9)
    best = np.trace(W @ M @ W.T)
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = np.linalg.qr(W.T + rng.normal(0, 0.1, W.T.shape))[0]
        assert np.trace(other.T @ M @ other) < best


def test_nonorthogonal_directions_follow_the_paper() -> None:
    X, S, C = problem()
    M = measure_agreement(X, S) + 0.1 * C
    values, vectors = np.linalg.eigh(M)
    rho = max(0.01 * values[-1], -2 * values[0])
    Q = np.eye(len(M)) + M / rho
    L = np.linalg.cholesky(Q)
    np.testing.assert_allclose(L @ L.T, Q, atol=1e-9)
    expected = (L @ vectors[:, ::-1][:, :6]).T
    ours = learn_nonorthogonal(M, 6)
    signs = np.sign((ours * expected).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(ours, signs * expected, atol=1e-8)
    cosines = ours @ ours.T / np.outer(*[np.linalg.norm(ours, axis=1)] * 2)
    assert np.abs(cosines - np.eye(6)).max() > 0.1


def test_nonorthogonal_directions_with_negative_eigenvalues() -> None:
    M = np.diag([1.0, 0.5, -3.0, -4.0])
    assert np.isfinite(learn_nonorthogonal(M, 2)).all()
    assert np.isfinite(learn_nonorthogonal(-M, 4)).all()
    np.testing.assert_array_equal(np.abs(learn_nonorthogonal(np.zeros((3, 3)), 3)).sum(axis=0), 1)


def test_wrong_pairs_get_more_weight() -> None:
    X, S, _ = problem()
    S = S * np.random.default_rng(1).uniform(1, 2, S.shape).astype(np.float32)
    p = X @ np.random.default_rng(0).standard_normal(X.shape[1:], np.float32)
    unit = p / np.sqrt(np.mean(p**2))
    ours = emphasize_errors(S, p, 0.7)
    for i in range(0, len(X), 7):
        for j in range(len(X)):
            product = unit[i] * unit[j]
            T = product if product * S[i, j] < 0 else 0
            assert ours[i, j] == pytest.approx(S[i, j] - 0.7 * T, rel=1e-5)
    assert (np.abs(ours) >= np.abs(S)).all()
    assert (np.sign(ours) == np.sign(S)).all()
    # The scale does not matter, and a constant bit changes nothing.
    np.testing.assert_allclose(emphasize_errors(S, 1000 * p, 0.7), ours, rtol=1e-4)
    np.testing.assert_array_equal(emphasize_errors(S, 0 * p), S)


def test_deflated_covariance_is_that_of_the_residuals() -> None:
    X = problem().X.astype(np.float64)
    w = np.random.default_rng(0).standard_normal(X.shape[1:])
    w /= np.linalg.norm(w)
    residuals = X - np.outer(X @ w, w)
    rest = deflate(X.T @ X, w)
    np.testing.assert_allclose(rest, residuals.T @ residuals, atol=1e-6)
    np.testing.assert_allclose(rest @ w, 0, atol=1e-6)


def test_sequential_directions_follow_the_paper() -> None:
    # Explicitly, with all rows in memory: only the residuals of all rows are deflated.
    X, S, _ = problem()
    digits = load_digits().data
    everything = digits - digits.mean(axis=0)
    labels = S.astype(np.float64)
    ours = learn_sequential(X, S, everything.T @ everything / len(everything), 7, 0.1)
    rest = everything
    for w in ours:
        M = X.T @ labels @ X / len(X) ** 2 + 0.1 * rest.T @ rest / len(rest)
        expected = np.linalg.eigh(M)[1][:, -1]
        assert abs(w @ expected) == pytest.approx(1, abs=1e-5)
        p = X @ w
        p /= np.sqrt(np.mean(p**2))
        products = np.outer(p, p)
        labels = labels - 0.3 * np.where(np.sign(products) != np.sign(labels), products, 0)
        rest = rest - np.outer(rest @ w, w)


def test_sequential_directions_without_labels_are_pca() -> None:
    X, S, C = problem()
    W = learn_sequential(X, S, C, 6, 1e6)
    np.testing.assert_allclose(W @ W.T, np.eye(6), atol=1e-4)
    np.testing.assert_allclose(np.abs(W @ learn_orthogonal(C, 6).T), np.eye(6), atol=1e-2)


@pytest.mark.parametrize(("variant", "least"), [("sequential", 0.1), ("nonorthogonal", 0.05)])
def test_labels_improve_retrieval(variant: str, least: float) -> None:
    X, y = load_digits(return_X_y=True)
    ours = SSH(16, variant=variant, n_samples=600, random_state=0).fit(X[:1200], y[:1200])
    plain = PCAH(16).fit(X[:1200])
    gain = map_scorer(ours, X[1200:], y[1200:]) - map_scorer(plain, X[1200:], y[1200:])
    assert gain > least


def test_unlabeled_rows_contribute_to_the_variance() -> None:
    X, y = load_digits(return_X_y=True)
    some = np.where(np.arange(len(y)) < 300, y, -1)
    ours = SSH(8, variant="orthogonal", eta=1e6, random_state=0).fit(X, some)
    pca = PCAH(8).fit(X)
    np.testing.assert_allclose(np.abs(ours.directions_ @ pca.directions_.T), np.eye(8), atol=1e-3)


def test_only_sequential_codes_can_have_more_bits_than_features() -> None:
    X, y = load_digits(return_X_y=True)
    narrow = X[:200, 20:30]
    assert SSH(24, random_state=0).fit(narrow, y[:200]).n_bits_ == 24
    assert SSH(random_state=0).fit(narrow, y[:200]).n_bits_ == 10
    for variant in VARIANTS[1:]:
        with pytest.raises(ValueError, match=r"n_bits of SSH .*n_features=10, got 24"):
            SSH(24, variant=variant).fit(narrow, y[:200])


@pytest.mark.parametrize(("name", "value"), [("variant", "splh"), ("eta", 0)])
def test_invalid_parameters_raise(name: str, value: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        SSH(**{name: value}).fit(*load_digits(return_X_y=True))
    assert (caught.value.name, caught.value.owner) == (name, "SSH")
