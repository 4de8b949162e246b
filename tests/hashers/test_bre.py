"""Binary reconstructive embeddings: line searches against brute force, and decreasing errors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from bitfold._kernels.reconstruction import line_search, pair_costs, sweep_bit
from bitfold.errors import ParameterError
from bitfold.hashers import BRE
from bitfold.hashers._reconstruction import (
    TrainingPairs,
    draw_training_pairs,
    learn_weights,
    reconstruct,
    reconstruction_errors,
    target_distances,
)
from bitfold.hashers.base.kernel import gaussian_kernel
from bitfold.hashers.bre import normalize_kernel
from bitfold.rotation import unit_rows

Array = NDArray[Any]

N, BITS = 80, 6


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


@cache
def sample() -> Array:
    """Return the directions of some digits as seen from their mean."""
    X = load_digits().data[:N]
    return unit_rows(X - X.mean(axis=0)).astype(np.float64)


def distances(unit: Array) -> Array:
    return target_distances(unit @ unit.T)


def pairs() -> TrainingPairs:
    return draw_training_pairs(distances(sample()), 8, 8, np.random.default_rng(0))


def first_rows() -> Array:
    """Return the row that each entry of the pairs belongs to."""
    return np.repeat(np.arange(N), np.diff(pairs().starts))


def squared_error(values: Array) -> float:
    """Return the objective of the paper, Σ (d - Hamming / b)², for reals of shape (bits, rows)."""
    _, partners, targets = pairs()
    bits = values > 0
    apart = (bits[:, first_rows()] != bits[:, partners]).mean(axis=0)
    return float(((targets - apart) ** 2).sum())


def test_targets_are_distances_between_directions() -> None:
    X = sample()
    expected = ((X[:, None] - X) ** 2).sum(axis=2) / 4
    np.testing.assert_allclose(distances(X), expected, atol=1e-12)
    assert distances(X).max() <= 1


def test_pairs_are_symmetric_and_include_the_nearest() -> None:
    d = distances(sample())
    starts, partners, targets = pairs()
    mutual = np.zeros((N, N), bool)
    mutual[first_rows(), partners] = True
    np.testing.assert_array_equal(mutual, mutual.T)
    assert not mutual.diagonal().any()
    np.testing.assert_array_equal(targets, d[first_rows(), partners])
    near = np.argsort(d + np.eye(N) * 9, axis=1)[:, :8]
    assert np.take_along_axis(mutual, near, axis=1).all()
    # Random rows are farther away, and there are about as many of them.
    assert 1.5 * 8 * N < starts[-1] < 4 * 8 * N
    assert draw_training_pairs(d, 8, 0, np.random.default_rng(0)).starts[-1] < 0.7 * starts[-1]


@pytest.mark.parametrize("seed", range(8))
def test_line_search_finds_the_minimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    K = sample() @ sample().T
    values = rng.standard_normal((BITS, 10)) @ K[:10]
    starts, partners, _ = pairs()
    signs = np.where(values[2] > 0, 1, -1).astype(np.int8)
    costs = np.empty(len(partners))
    pair_costs(reconstruction_errors(values > 0, pairs()), starts, partners, signs, 1 / BITS, costs)
    t, gain = line_search(values[2], K[seed], starts, partners, costs, signs)
    np.testing.assert_array_equal(signs, np.where(values[2] > 0, 1, -1))

    def at(t: float) -> float:
        moved = values.copy()
        moved[2] += t * K[seed]
        return squared_error(moved)

    # One point in each gap between flips, and one beyond each end.
    flips = np.sort(-values[2] / K[seed])
    points = np.concatenate([[flips[0] - 1], (flips[1:] + flips[:-1]) / 2, [flips[-1] + 1]])
    assert at(t) == pytest.approx(min(map(at, points)), abs=1e-9)
    # The error counts each pair once for both of its rows.
    assert at(0) - at(t) == pytest.approx(2 * gain, abs=1e-9)
    assert gain > 0


def test_line_search_without_improvement_does_not_move() -> None:
    starts, partners, _ = pairs()
    values = np.ones(N)
    signs = np.ones(N, np.int8)
    costs = np.ones(len(partners))
    along = sample() @ sample()[0]
    assert line_search(values, along, starts, partners, costs, signs) == (0, 0)
    assert line_search(values, np.zeros(N), starts, partners, -costs, signs) == (0, 0)


def test_row_at_zero_flips_in_the_direction_of_its_slope() -> None:
    starts, partners = np.array([0, 1, 2]), np.array([1, 0])
    costs, signs = np.array([-1.0, -1.0]), np.array([-1, -1], np.int8)
    for slope in (1.0, -1.0):
        along = np.array([slope, 0.0])
        t, gain = line_search(np.array([0.0, -1.0]), along, starts, partners, costs, signs)
        assert gain == 1
        assert t * slope > 0


def test_equal_rows_flip_together() -> None:
    starts, partners = np.array([0, 1, 2]), np.array([1, 0])
    costs, signs = np.array([-1.0, -1.0]), np.array([-1, -1], np.int8)
    assert line_search(-np.ones(2), np.ones(2), starts, partners, costs, signs) == (0, 0)


def test_errors_are_updated_during_a_sweep() -> None:
    rng = np.random.default_rng(0)
    K = sample() @ sample().T
    W = rng.standard_normal((BITS, 12))
    errors = reconstruction_errors(W @ K[:12] > 0, pairs())
    starts, partners, _ = pairs()
    for bit in range(BITS):
        sweep_bit(W[bit], K[:12], errors, starts, partners, 1 / BITS)
    np.testing.assert_allclose(errors, reconstruction_errors(W @ K[:12] > 0, pairs()), atol=1e-12)
    np.testing.assert_allclose((errors**2).sum(), squared_error(W @ K[:12]))


def test_error_decreases_with_every_sweep() -> None:
    rng = np.random.default_rng(0)
    anchors = np.array([rng.choice(N, 12, replace=False) for _ in range(BITS)])
    start = rng.standard_normal((BITS, 12))
    K = sample() @ sample().T
    W, objectives = reconstruct(K, pairs(), anchors, start, 4)
    assert len(objectives) == 5
    assert (np.diff(objectives) <= 0).all()
    assert objectives[1] < 0.7 * objectives[0]
    assert objectives[-1] < objectives[1]
    for coefficients, objective in ((start, objectives[0]), (W, objectives[-1])):
        values = np.array([w @ K[chosen] for w, chosen in zip(coefficients, anchors, strict=True)])
        assert squared_error(values) == pytest.approx(objective * len(pairs().partners))


def test_hamming_distances_approximate_distances() -> None:
    X = load_digits().data
    new = X[1200:1500]
    center = X[:1200].mean(axis=0)
    d = distances(unit_rows(new - center).astype(np.float64))
    mean_errors = []
    for max_iter in (0, 3):
        ours = BRE(32, n_samples=300, max_iter=max_iter, random_state=0).fit(X[:1200])
        bits = ours.transform(new).astype(bool)
        apart = (bits[:, None] != bits).mean(axis=2)
        mean_errors.append(float(np.mean((apart - d) ** 2)))
    assert mean_errors[1] < 0.8 * mean_errors[0]


def test_directions_have_unit_length() -> None:
    ours = BRE(8, n_samples=100, random_state=0).fit(load_digits().data)
    np.testing.assert_allclose(np.linalg.norm(ours.directions_, axis=1), 1, rtol=1e-6)


# The kernel


def kernel(bandwidth: float = 20.0) -> Array:
    X = load_digits().data[:N].astype(np.float32)
    return gaussian_kernel(X, X, bandwidth)


def test_normalized_kernel_is_that_of_centered_unit_features() -> None:
    # The rows of a square root of the kernel are features with these inner products.
    values, vectors = np.linalg.eigh(kernel().astype(np.float64))
    features = vectors * np.sqrt(np.maximum(values, 0))
    features -= features.mean(axis=0)
    lengths = np.linalg.norm(features, axis=1)
    unit = features / lengths[:, None]
    found = normalize_kernel(kernel())
    np.testing.assert_allclose(found.values, unit @ unit.T, atol=1e-5)
    np.testing.assert_allclose(found.scales, lengths, rtol=1e-5)


def test_a_row_at_the_mean_of_the_features_is_zero() -> None:
    found = normalize_kernel(np.ones((4, 4), np.float32))
    np.testing.assert_array_equal(found.values, 0)


def test_kernel_bits_are_those_of_the_sample() -> None:
    X = load_digits().data[:N]
    ours = BRE(BITS, kernel="rbf", n_samples=N, n_anchors=12, bandwidth=20.0, random_state=0)
    rngs = np.random.default_rng(0).spawn(4)[1:]
    K = normalize_kernel(kernel()).values
    values = learn_weights(K, (BITS, 12), 3, rngs) @ K
    bits = ours.fit(X).transform(X)
    clear = np.abs(values.T) > 1e-4
    assert clear.mean() > 0.95
    np.testing.assert_array_equal(bits[clear], values.T[clear] > 0)
    assert ours.bandwidth_ == 20.0
    assert ours.directions_ is None
    np.testing.assert_allclose(ours.coefficients_.sum(axis=1), 0, atol=1e-4)


def test_a_wide_kernel_is_linear() -> None:
    # exp(-d²/2σ²) is 1 - d²/2σ² for large σ, whose centered form is the inner product.
    X = load_digits().data[:N]
    centered = unit_rows(X - X.mean(axis=0))
    wide = normalize_kernel(kernel(600.0)).values
    np.testing.assert_allclose(wide, centered @ centered.T, atol=0.02)


def test_kernel_bits_approximate_distances() -> None:
    X = load_digits().data
    mean_errors = []
    for max_iter in (0, 3):
        ours = BRE(32, kernel="rbf", n_samples=300, max_iter=max_iter, random_state=0).fit(X[:1200])
        new = X[1200:1400].astype(np.float32)
        K = normalize_kernel(gaussian_kernel(new, new, ours.bandwidth_)).values
        bits = ours.transform(new).astype(bool)
        apart = (bits[:, None] != bits).mean(axis=2)
        mean_errors.append(float(np.mean((apart - target_distances(K)) ** 2)))
    assert mean_errors[1] < 0.8 * mean_errors[0]


def test_unknown_kernel_raises() -> None:
    with pytest.raises(ParameterError, match=r"kernel of BRE .* 'poly'"):
        BRE(kernel="poly").fit(load_digits().data)
