"""Shift-invariant kernel LSH: how often codes differ, and where the bandwidth comes from."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from bitfold.hashers import SKLSH
from bitfold.hashers.sklsh import neighbor_distance
from bitfold.io.rows import Rows

BITS = 20_000
"""Enough for the share of differing bits to be within 0.01 of what is expected: 3 deviations."""

DISTANCES = np.array([0.05, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 6.0])


def differing_share(offsets: NDArray[Any], bandwidth: float) -> NDArray[np.float64]:
    """Share of bits in which x and x + offset differ."""
    x = np.full(offsets.shape[1], 0.3)
    hasher = SKLSH(BITS, bandwidth=bandwidth, random_state=0).fit(np.vstack([x, x + 1, x - 2]))
    bits = hasher.transform(np.vstack([x, x + offsets]))
    share: NDArray[np.float64] = (bits[1:] != bits[0]).mean(axis=1)
    return share


def along_a_line(bandwidth: float, direction: NDArray[Any]) -> NDArray[np.float64]:
    unit = direction / np.linalg.norm(direction)
    return differing_share(bandwidth * DISTANCES[:, None] * unit, bandwidth)


def lemma(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """8/π² Σ (1 - K(m d)) / (4m² - 1) for the Gaussian kernel of σ = 1 (their Lemma 2.1)."""
    m = np.arange(1, 2000)
    terms = (1 - np.exp(-((m * distances[:, None]) ** 2) / 2)) / (4 * m**2 - 1)
    return np.asarray(8 / np.pi**2 * terms.sum(axis=1))


@pytest.mark.parametrize("bandwidth", [0.5, 4.0])
def test_bits_differ_as_often_as_the_lemma_says(bandwidth: float) -> None:
    share = along_a_line(bandwidth, np.array([1.0, -2.0, 0.5, 3.0]))
    np.testing.assert_allclose(share, lemma(DISTANCES), atol=0.012)


def test_only_the_distance_counts() -> None:
    rng = np.random.default_rng(0)
    shares = [along_a_line(1.5, rng.standard_normal(6)) for _ in range(3)]
    np.testing.assert_allclose(shares[1:], shares[:1] * np.ones((2, 1)), atol=0.02)


def test_the_share_is_within_the_papers_bounds() -> None:
    share = along_a_line(1.0, np.ones(5))
    kernel = np.exp(-(DISTANCES**2) / 2)
    lower = 4 / np.pi**2 * (1 - kernel)
    upper = np.minimum(np.sqrt(1 - kernel) / 2, 4 / np.pi**2 * (1 - 2 / 3 * kernel))
    assert (share > lower - 0.012).all()
    assert (share < upper + 0.012).all()


def test_thresholds_and_phases_are_spread_evenly() -> None:
    hasher = SKLSH(BITS, random_state=0).fit(load_digits().data[:50])
    for values, low, high in ((hasher.phases_, 0, 2 * np.pi), (hasher.thresholds_, -1, 1)):
        shares = np.histogram(values, np.linspace(low, high, 11))[0] / BITS
        np.testing.assert_allclose(shares, 0.1, atol=0.01)


def test_the_bandwidth_is_the_mean_distance_to_the_50th_neighbor() -> None:
    X = load_digits().data[:300]
    distances = np.sort(np.linalg.norm(X[:, None] - X, axis=2), axis=1)
    assert SKLSH(random_state=0).fit(X).bandwidth_ == pytest.approx(distances[:, 50].mean())


def test_the_bandwidth_follows_the_scale_of_the_data() -> None:
    X = load_digits().data[:300]
    first, second = (SKLSH(random_state=0).fit(rows) for rows in (X, 1024 * X))
    assert second.bandwidth_ == pytest.approx(1024 * first.bandwidth_)
    assert first.encode(X) == second.encode(1024 * X)


@pytest.mark.parametrize("p", [1, 2])
def test_few_rows_have_their_farthest_for_the_50th_neighbor(p: int) -> None:
    X = np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]])
    rows = Rows(X, np.zeros(2, np.float32), "test")
    farthest = np.array([3, 2, 3]) * {1: 2, 2: np.sqrt(2)}[p]
    distance = neighbor_distance(rows, np.random.default_rng(0), p)
    assert distance == pytest.approx(farthest.mean())


@pytest.mark.parametrize("X", [np.ones((9, 3)), np.eye(3) * 1e-32])
def test_rows_without_distances_have_bandwidth_one(X: NDArray[Any]) -> None:
    assert SKLSH(random_state=0).fit(X).bandwidth_ == 1.0


@pytest.mark.parametrize("bandwidth", [1e-30, 1e30])
def test_any_bandwidth_in_the_range_has_finite_waves(bandwidth: float) -> None:
    X = load_digits().data[:50]
    hasher = SKLSH(bandwidth=bandwidth, random_state=0).fit(X)
    assert hasher.bandwidth_ == bandwidth
    assert np.isfinite(hasher.frequencies_).all()
    assert np.isfinite(hasher.embed(X)).all()


@pytest.mark.parametrize(
    ("bandwidth", "kind", "says"),
    [
        (0, ValueError, "must be a finite number above 0, got 0."),
        (np.nan, ValueError, "must be a finite number above 0, got nan."),
        (1e-31, ValueError, "must be between 1e-30 and 1e30, got 1e-31."),
        (1e31, ValueError, "must be between 1e-30 and 1e30, got 1e+31."),
        ("wide", TypeError, "must be a number, got 'wide'."),
    ],
)
def test_a_wrong_bandwidth_is_named(bandwidth: Any, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(f'bandwidth of SKLSH {says}')}$"):
        SKLSH(bandwidth=bandwidth).fit(np.eye(3))
