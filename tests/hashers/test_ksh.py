"""Supervised hashing with kernels: residual, gradient, and bits that explain the labels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import approx_fprime
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from bitfold._linalg.spectral import signs, whiten_columns
from bitfold.errors import DataError
from bitfold.hashers import ITQ, KSH, ksh
from bitfold.hashers.base.kernel import center_kernel, gaussian_kernel, root_mean_sq_distance
from bitfold.hashers.ksh import (
    Residual,
    descend,
    learn_bits,
    smooth_loss,
    smooth_sign,
)
from bitfold.metrics import map_scorer

Array = NDArray[Any]


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


class Sample(NamedTuple):
    """Centered kernels of labeled rows."""

    K: Array
    classes: Array


@cache
def sample() -> Sample:
    X, y = load_digits(return_X_y=True)
    rows = np.ascontiguousarray(X[:300], np.float32)
    anchors = np.ascontiguousarray(X[300:360], np.float32)
    K = gaussian_kernel(rows, anchors, root_mean_sq_distance(rows, anchors))
    return Sample(center_kernel(K, "KSH").values, y[:300].astype(np.int64))


def pair_labels(classes: Array) -> Array:
    """Return S as in the paper."""
    return np.where(classes[:, None] == classes, 1.0, -1.0)


def half_explained(n_bits: int = 6) -> tuple[Residual, Array]:
    """Return a residual after two random bits, and the same as a matrix."""
    K, classes = sample()
    rng = np.random.default_rng(0)
    residual, R = Residual(classes, n_bits), n_bits * pair_labels(classes)
    for _ in range(2):
        h = signs(rng.standard_normal(len(K)))
        residual.subtract(h)
        R -= np.outer(h, h)
    return residual, R


def test_residual_is_the_matrix_of_the_paper() -> None:
    K = sample().K
    residual, R = half_explained()
    v = np.random.default_rng(1).standard_normal(len(K))
    np.testing.assert_allclose(residual.multiply(v), R @ v)
    np.testing.assert_allclose(residual.measure_fit(v), v @ R @ v)
    np.testing.assert_allclose(residual.project(K), K.T @ R @ K, atol=1e-6)
    np.testing.assert_allclose(residual.sq_norm, (R * R).sum())


def test_smooth_sign_is_the_sigmoid_of_the_paper() -> None:
    x = np.linspace(-20, 20, 101)
    np.testing.assert_allclose(smooth_sign(x), 2 / (1 + np.exp(-x)) - 1, atol=1e-15)
    assert np.isfinite(smooth_sign(np.array([-1e300, 1e300]))).all()


def test_gradient_agrees_with_finite_differences() -> None:
    K = sample().K
    residual, R = half_explained()
    a = np.random.default_rng(2).normal(0, 2, K.shape[1:])
    loss, gradient = smooth_loss(a, K, residual)
    phi = 2 / (1 + np.exp(-K @ a)) - 1
    np.testing.assert_allclose(loss, -phi @ R @ phi)
    numeric = approx_fprime(a, lambda at: smooth_loss(at, K, residual)[0], 1e-6)
    np.testing.assert_allclose(gradient, numeric, atol=1e-4 * np.abs(gradient).max())


def test_descent_decreases_the_smooth_loss() -> None:
    K, _ = sample()
    Z = K @ whiten_columns(K, 1e-7)
    residual, _ = half_explained()
    start = np.random.default_rng(3).normal(0, 0.1, Z.shape[1:])
    losses = [smooth_loss(descend(start, Z, residual, n), Z, residual)[0] for n in (0, 1, 3, 8)]
    assert losses[0] == smooth_loss(start, Z, residual)[0]
    assert (np.diff(losses) < 0).all()
    _, slope = smooth_loss(descend(start, Z, residual), Z, residual)
    _, at_first = smooth_loss(start, Z, residual)
    assert np.linalg.norm(slope) < 0.2 * np.linalg.norm(at_first)


def test_descent_never_increases_the_smooth_loss() -> None:
    K, _ = sample()
    Z = K @ whiten_columns(K, 1e-7)
    residual, _ = half_explained()
    for seed in range(5):
        start = np.random.default_rng(seed).normal(0, 0.01, Z.shape[1:])
        losses = [smooth_loss(descend(start, Z, residual, n), Z, residual)[0] for n in range(20)]
        assert (np.diff(losses) <= 1e-12 * np.abs(losses[1:])).all()


def test_momentum_that_overshoots_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    # The steps are scripted, so that no rounding decides which of them overshoots.
    script = [(1.0, 90.0), (3.0, 80.0), (9.0, 85.0), (4.0, 70.0), (8.0, 70.0), (7.0, 70.0)]
    starts: list[float] = []

    def scripted_step(a: Array, K: Array, residual: Residual, step: float) -> Any:
        starts.append(float(a[0]))
        point, loss = script[len(starts) - 1]
        return np.array([point]), loss, step

    monkeypatch.setattr(ksh, "_step_downhill", scripted_step)
    monkeypatch.setattr(ksh, "smooth_loss", lambda a, K, residual: (100.0, np.ones(1)))
    end = descend(np.zeros(1), np.ones((1, 1)), Residual(np.zeros(1, np.int64), 1))
    # The third step starts beyond the best point, 3, because it has momentum.
    assert starts[:2] == [0, 1]
    assert starts[2] > 3
    # It raises the loss from 80 to 85: the fourth step starts at 3, and the momentum is gone, so
    # that the fifth starts where the fourth ended.
    assert starts[3:5] == [3, 4]
    # The fifth gains nothing. The sixth is plain and gains nothing either: the descent is over.
    assert starts[5:] == [4]
    assert end == 4


def test_start_is_the_largest_generalized_eigenvector() -> None:
    K, classes = sample()
    W = whiten_columns(K, 1e-7)
    np.testing.assert_allclose((K @ W).T @ (K @ W), len(K) * np.eye(W.shape[1]), atol=1e-5)
    S = pair_labels(classes)
    expected = eigh(K.T @ S @ K, K.T @ K)[1][:, -1]
    values, vectors = np.linalg.eigh(W.T @ K.T @ S @ K @ W)
    ours = K @ W @ vectors[:, -1]
    assert values[-1] > 0
    cosine = ours @ (K @ expected) / np.linalg.norm(ours) / np.linalg.norm(K @ expected)
    assert abs(cosine) > 1 - 1e-6


def test_every_bit_decreases_the_objective_of_the_paper() -> None:
    K, classes = sample()
    A, objectives = learn_bits(K, classes, 16)
    R = 16 * pair_labels(classes)
    assert len(objectives) == 17
    for bit, objective in enumerate(objectives):
        np.testing.assert_allclose(objective, (R * R).sum())
        if bit < 16:
            h = signs(K @ A[bit])
            R -= np.outer(h, h)
    assert (np.diff(objectives) < 0).all()
    assert objectives[-1] < 0.8 * objectives[0]


def test_start_is_kept_if_the_descent_is_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    K, classes = sample()
    monkeypatch.setattr(ksh, "descend", lambda start, K, residual: np.zeros_like(start))
    A, _ = learn_bits(K, classes, 8)
    residual = Residual(classes, 8)
    for a in A:
        start = eigh(residual.project(K), K.T @ K)[1][:, -1]
        h = signs(K @ a)
        assert abs(h @ signs(K @ start)) == len(K)
        residual.subtract(h)


def test_repeated_anchors_change_nothing() -> None:
    K, classes = sample()
    twice = learn_bits(np.hstack([K, K]), classes, 6)
    once = learn_bits(K, classes, 6)
    np.testing.assert_allclose(twice.objectives, once.objectives)


def test_labels_improve_retrieval() -> None:
    X, y = load_digits(return_X_y=True)
    ours = KSH(24, n_samples=600, random_state=0).fit(X[:1200], y[:1200])
    theirs = ITQ(24, random_state=0).fit(X[:1200])
    score = map_scorer(ours, X[1200:], y[1200:])
    assert score > 0.8
    assert score > map_scorer(theirs, X[1200:], y[1200:]) + 0.1


def test_some_labels_are_enough() -> None:
    X, y = load_digits(return_X_y=True)
    some = np.where(np.arange(len(y)) % 3 == 0, y, -1)
    ours = KSH(16, random_state=0).fit(X, some)
    assert map_scorer(ours, X[some == -1], y[some == -1]) > 0.7


def test_embedding_of_the_sample_is_standardized() -> None:
    X, y = load_digits(return_X_y=True)
    ours = KSH(16, n_samples=len(X), random_state=0).fit(X, y)
    reals = ours.embed(X)
    np.testing.assert_allclose(reals.mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose((reals**2).mean(axis=0), 1, rtol=1e-2)


@pytest.mark.parametrize("labels", [np.arange(60) % 3, np.arange(60) // 30, np.arange(60) % 2])
def test_two_distinct_rows_are_too_few(labels: Any) -> None:
    X = np.repeat(load_digits().data[:2], 30, axis=0)
    with pytest.raises(DataError, match="at least 3 different rows"):
        KSH(2, random_state=0).fit(X, labels)
