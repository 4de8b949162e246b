"""Shift-invariant kernel LSH: the expected fraction of different bits, and the bandwidth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from bitfold.errors import ParameterError
from bitfold.hashers import SKLSH
from bitfold.hashers.sklsh import learn_neighbor_distance
from bitfold.io.rows import Rows

BITS = 20_000
"""With this number of bits, 3 standard deviations of a fraction of bits are 0.01."""

DISTANCES = np.array([0.05, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 6.0])


def different_fraction(offsets: NDArray[Any], bandwidth: float) -> NDArray[np.float64]:
    """Return the fraction of bits in which x and x + offset differ."""
    x = np.full(offsets.shape[1], 0.3)
    hasher = SKLSH(BITS, bandwidth=bandwidth, random_state=0).fit(np.vstack([x, x + 1, x - 2]))
    bits = hasher.transform(np.vstack([x, x + offsets]))
    fraction: NDArray[np.float64] = (bits[1:] != bits[0]).mean(axis=1)
    return fraction


def along_a_line(bandwidth: float, direction: NDArray[Any]) -> NDArray[np.float64]:
    unit = direction / np.linalg.norm(direction)
    return different_fraction(bandwidth * DISTANCES[:, None] * unit, bandwidth)


def expected_fraction(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 8/π² Σ (1 - K(m d)) / (4m² - 1) for the Gaussian kernel of σ = 1 (Lemma 2.1)."""
    m = np.arange(1, 2000)
    terms = (1 - np.exp(-((m * distances[:, None]) ** 2) / 2)) / (4 * m**2 - 1)
    return np.asarray(8 / np.pi**2 * terms.sum(axis=1))


@pytest.mark.parametrize("bandwidth", [0.5, 4.0])
def test_fraction_of_different_bits_follows_the_lemma(bandwidth: float) -> None:
    fraction = along_a_line(bandwidth, np.array([1.0, -2.0, 0.5, 3.0]))
    np.testing.assert_allclose(fraction, expected_fraction(DISTANCES), atol=0.012)


def test_bits_depend_on_the_distance_only() -> None:
    rng = np.random.default_rng(0)
    shares = [along_a_line(1.5, rng.standard_normal(6)) for _ in range(3)]
    np.testing.assert_allclose(shares[1:], shares[:1] * np.ones((2, 1)), atol=0.02)


def test_fraction_is_within_the_bounds_of_the_paper() -> None:
    fraction = along_a_line(1.0, np.ones(5))
    kernel = np.exp(-(DISTANCES**2) / 2)
    lower = 4 / np.pi**2 * (1 - kernel)
    upper = np.minimum(np.sqrt(1 - kernel) / 2, 4 / np.pi**2 * (1 - 2 / 3 * kernel))
    assert (fraction > lower - 0.012).all()
    assert (fraction < upper + 0.012).all()


def test_thresholds_and_phases_are_uniform() -> None:
    hasher = SKLSH(BITS, random_state=0).fit(load_digits().data[:50])
    for values, low, high in ((hasher.phases_, 0, 2 * np.pi), (hasher.thresholds_, -1, 1)):
        shares = np.histogram(values, np.linspace(low, high, 11))[0] / BITS
        np.testing.assert_allclose(shares, 0.1, atol=0.01)


def test_default_bandwidth_is_the_mean_distance_to_the_50th_neighbor() -> None:
    X = load_digits().data[:300]
    distances = np.sort(np.linalg.norm(X[:, None] - X, axis=2), axis=1)
    assert SKLSH(random_state=0).fit(X).bandwidth_ == pytest.approx(distances[:, 50].mean())


def test_bandwidth_scales_with_the_data() -> None:
    X = load_digits().data[:300]
    first, second = (SKLSH(random_state=0).fit(rows) for rows in (X, 1024 * X))
    assert second.bandwidth_ == pytest.approx(1024 * first.bandwidth_)
    assert first.encode(X) == second.encode(1024 * X)


@pytest.mark.parametrize("p", [1, 2])
def test_few_rows_use_the_farthest_neighbor(p: int) -> None:
    X = np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]])
    rows = Rows(X, np.zeros(2, np.float32), "test")
    farthest = np.array([3, 2, 3]) * {1: 2, 2: np.sqrt(2)}[p]
    distance = learn_neighbor_distance(rows, np.random.default_rng(0), p)
    assert distance == pytest.approx(farthest.mean())


@pytest.mark.parametrize("X", [np.ones((9, 3)), np.eye(3) * 1e-32])
def test_equal_rows_have_bandwidth_one(X: NDArray[Any]) -> None:
    assert SKLSH(random_state=0).fit(X).bandwidth_ == 1.0


@pytest.mark.parametrize("bandwidth", [1e-30, 1e30])
def test_extreme_bandwidths_give_finite_waves(bandwidth: float) -> None:
    X = load_digits().data[:50]
    hasher = SKLSH(bandwidth=bandwidth, random_state=0).fit(X)
    assert hasher.bandwidth_ == bandwidth
    assert np.isfinite(hasher.frequencies_).all()
    assert np.isfinite(hasher.embed(X)).all()


@pytest.mark.parametrize("bandwidth", [0, np.nan, 1e-31, 1e31, "wide"])
def test_invalid_bandwidth_raises(bandwidth: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        SKLSH(bandwidth=bandwidth).fit(np.eye(3))
    assert (caught.value.name, caught.value.owner) == ("bandwidth", "SKLSH")
