"""Random maximum margin hashing: balanced random labels, separated with the widest margin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from bitfold.errors import ParameterError
from bitfold.hashers import RMMH
from bitfold.hashers.base.kernel import gaussian_kernel
from bitfold.hashers.rmmh import draw_labels, maximize_kernel_margin, maximize_margin
from bitfold.metrics import map_scorer

Array = NDArray[Any]

HARD = 1e6
"""Penalty C that is large enough for a hard margin."""


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


def points(n: int, d: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(0, 5, (n, d)).astype(np.float32)


def gap(X: Array, labels: Array) -> float:
    """Return the distance between the convex hulls of the two labels: twice the widest margin."""

    def mix(a: Array) -> Array:
        weights = np.abs(a)
        ours, theirs = weights * (labels == 1), weights * (labels == -1)
        difference: Array = (ours / ours.sum() - theirs / theirs.sum()) @ X
        return difference

    start = np.ones(len(X))
    found = minimize(lambda a: (mix(a) ** 2).sum(), start, method="L-BFGS-B", tol=1e-15)
    return float(np.sqrt(found.fun))


def test_labels_are_balanced_and_random() -> None:
    rng = np.random.default_rng(0)
    drawn = np.array([draw_labels(10, rng) for _ in range(2000)])
    assert set(np.unique(drawn)) == {-1, 1}
    np.testing.assert_array_equal(drawn.sum(axis=1), 0)
    np.testing.assert_allclose(drawn.mean(axis=0), 0, atol=0.1)
    assert draw_labels(7, rng).sum() == -1


@pytest.mark.parametrize("seed", range(5))
def test_any_labels_of_few_points_are_separated(seed: int) -> None:
    X = points(32, 40, seed)
    labels = draw_labels(32, np.random.default_rng(seed))
    normal, threshold = maximize_margin(X, labels, HARD)
    assert np.linalg.norm(normal) == pytest.approx(1)
    np.testing.assert_array_equal(np.sign(X @ normal - threshold), labels)


@pytest.mark.parametrize("seed", range(5))
def test_margin_is_half_of_the_gap(seed: int) -> None:
    X = points(12, 16, seed) + 3
    labels = draw_labels(12, np.random.default_rng(seed))
    normal, threshold = maximize_margin(X, labels, HARD)
    margins = labels * (X @ normal - threshold)
    for side in (1, -1):
        assert margins[labels == side].min() == pytest.approx(gap(X, labels) / 2, rel=1e-2)


def test_scale_of_the_data_does_not_matter() -> None:
    X = points(20, 8)
    labels = draw_labels(20, np.random.default_rng(0))
    normal, threshold = maximize_margin(X, labels, 1.0)
    # A power of two does not round.
    finer = maximize_margin(1024 * X, labels, 1.0)
    np.testing.assert_allclose(finer.direction, normal, atol=1e-12)
    assert finer.threshold == pytest.approx(1024 * threshold)


def test_equal_points_have_no_normal() -> None:
    normal, threshold = maximize_margin(
        np.zeros((6, 3)), draw_labels(6, np.random.default_rng(0)), 1
    )
    np.testing.assert_array_equal(normal, 0)
    assert np.isfinite(threshold)


def test_bits_are_maximum_margin_hyperplanes() -> None:
    X = load_digits().data[:40].astype(np.float32)
    ours = RMMH(12, n_samples=40, C=0.5, random_state=0).fit(X)
    rng = np.random.default_rng(0).spawn(2)[1]
    for bit, reals in enumerate(ours.embed(X).T):
        normal, threshold = maximize_margin(X - ours.center_, draw_labels(40, rng), 0.5)
        np.testing.assert_allclose(ours.directions_[bit], normal, atol=1e-5)
        np.testing.assert_allclose(reals, (X - ours.center_) @ normal - threshold, atol=1e-3)


def test_hyperplanes_of_bits_differ() -> None:
    X = load_digits().data
    W = RMMH(16, n_samples=10, random_state=0).fit(X).directions_
    assert np.abs(W @ W.T - np.eye(16)).max() < 0.95


def test_longer_codes_are_better_and_bits_nearly_balanced() -> None:
    X, y = load_digits(return_X_y=True)
    scores = [map_scorer(RMMH(b, random_state=0).fit(X), X[:600], y[:600]) for b in (8, 64)]
    assert scores[1] > scores[0] + 0.1
    assert scores[1] > 0.5
    balance = RMMH(64, random_state=0).fit(X).transform(X).mean(axis=0)
    assert np.abs(balance - 0.5).mean() < 0.2


# The kernel


def test_kernel_plane_of_inner_products_is_the_hyperplane() -> None:
    X = points(20, 8)
    X /= np.sqrt((X * X).sum(axis=1).mean())
    labels = draw_labels(20, np.random.default_rng(0))
    normal, threshold = maximize_margin(X, labels, 1.0)
    found = maximize_kernel_margin(X @ X.T, labels, 1.0)
    np.testing.assert_allclose(found.coefficients @ X, normal, atol=1e-3)
    assert found.threshold == pytest.approx(threshold, abs=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_a_kernel_separates_more_points_than_features(seed: int) -> None:
    X = points(32, 3, seed)
    K = gaussian_kernel(X, X, 2.0)
    labels = draw_labels(32, np.random.default_rng(seed))
    a, threshold = maximize_kernel_margin(K, labels, HARD)
    assert a @ K @ a == pytest.approx(1)
    np.testing.assert_array_equal(np.sign(K @ a - threshold), labels)
    # The margin is half of the gap between the convex hulls in the feature space.
    values, vectors = np.linalg.eigh(K.astype(np.float64))
    features = vectors * np.sqrt(np.maximum(values, 0))
    margin = (labels * (K @ a - threshold)).min()
    assert margin == pytest.approx(gap(features, labels) / 2, rel=1e-2)


def test_kernel_bits_are_maximum_margin_hyperplanes() -> None:
    X = load_digits().data[:40].astype(np.float32)
    ours = RMMH(6, kernel="rbf", n_samples=20, bandwidth=20.0, C=0.5, random_state=0).fit(X)
    K = gaussian_kernel(X, X, 20.0)
    _, sample_rng, label_rng = np.random.default_rng(0).spawn(3)
    for reals in ours.embed(X).T:
        chosen = sample_rng.choice(40, 20, replace=False)
        part = K[np.ix_(chosen, chosen)]
        a, threshold = maximize_kernel_margin(part, draw_labels(20, label_rng), 0.5)
        np.testing.assert_allclose(reals, K[:, chosen] @ a - threshold, atol=1e-3)
    assert ours.directions_ is None


def test_longer_kernel_codes_are_better() -> None:
    X, y = load_digits(return_X_y=True)
    scores = [
        map_scorer(RMMH(b, kernel="rbf", random_state=0).fit(X), X[:600], y[:600]) for b in (8, 64)
    ]
    assert scores[1] > scores[0] + 0.1
    assert scores[1] > 0.5


def test_another_fit_replaces_the_kernel() -> None:
    X = load_digits().data[:100]
    ours = RMMH(8, kernel="rbf", random_state=0).fit(X)
    ours.set_params(kernel="linear").fit(X)
    assert ours.anchors_ is None
    assert ours.coefficients_ is None
    assert ours.bandwidth_ == 0
    np.testing.assert_array_equal(ours.transform(X), RMMH(8, random_state=0).fit(X).transform(X))


@pytest.mark.parametrize(
    ("name", "value"), [("kernel", "poly"), ("n_anchors", 1), ("bandwidth", -1.0)]
)
def test_invalid_parameters_raise(name: str, value: Any) -> None:
    params = {"kernel": "rbf", name: value}
    with pytest.raises(ParameterError) as caught:
        RMMH(**params).fit(load_digits().data)
    assert (caught.value.name, caught.value.owner) == (name, "RMMH")
