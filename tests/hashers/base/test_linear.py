"""Linear hash functions: fast bits equal the signs of the exact reals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from bitfold._types import ProgressCallback
from bitfold.hashers.base import LinearHasher, Rows

DIGITS = load_digits().data


class FixedHyperplanes(LinearHasher):
    """Hyperplanes that are parameters."""

    def __init__(self, directions: Any = None, thresholds: Any = None, n_bits: int = 1) -> None:
        self.directions = directions
        self.thresholds = thresholds
        self.n_bits = n_bits

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        return self._fitted_hyperplanes(self.directions, self.thresholds)


def around_zero(n_features: int) -> NDArray[np.float64]:
    """Return training rows with mean zero."""
    return np.vstack([np.ones(n_features), -np.ones(n_features)])


def assert_bits_are_signs(hasher: FixedHyperplanes, rows: NDArray[Any]) -> None:
    reals = hasher.embed(rows)
    assert np.isfinite(reals).all()
    np.testing.assert_array_equal(hasher.transform(rows), reals > 0)
    for i in (0, len(rows) - 1):
        np.testing.assert_array_equal(hasher.transform(rows[i : i + 1])[0], reals[i] > 0)


def test_a_bit_is_the_side_of_a_hyperplane() -> None:
    rng = np.random.default_rng(0)
    W, t = rng.standard_normal((11, 64)), rng.standard_normal(11)
    hasher = FixedHyperplanes(W, t).fit(DIGITS)
    exact = (DIGITS - DIGITS.mean(axis=0)) @ W.T - t
    np.testing.assert_allclose(hasher.embed(DIGITS), exact, atol=1e-3)
    clear = np.abs(exact) > 1e-3
    np.testing.assert_array_equal(hasher.transform(DIGITS)[clear], (exact > 0)[clear])


def test_without_thresholds_hyperplanes_pass_through_the_center() -> None:
    hasher = FixedHyperplanes(np.eye(64)).fit(DIGITS)
    assert not hasher.thresholds_.any()
    assert not hasher.transform(hasher.center_[None]).any()


@pytest.mark.parametrize("n_bits", [1, 7, 8, 9, 64, 65, 130])
@pytest.mark.parametrize("n_features", [1, 5, 64, 300])
def test_bits_are_signs_of_the_reals(n_bits: int, n_features: int) -> None:
    rng = np.random.default_rng(n_bits)
    rows = rng.standard_normal((4100, n_features))
    W = rng.standard_normal((n_bits, n_features))
    # Every hyperplane passes through a row, where the sign is a rounding error.
    aim = FixedHyperplanes(W).fit(around_zero(n_features)).embed(rows[:1])[0]
    hasher = FixedHyperplanes(W, aim).fit(around_zero(n_features))
    assert not hasher.transform(rows[:1]).any()
    assert_bits_are_signs(hasher, rows)


@pytest.mark.parametrize("far", [1e18, 1e30, 8e37])
def test_far_rows_have_the_right_side(far: float) -> None:
    rng = np.random.default_rng(0)
    W, rows = rng.standard_normal((20, 30)), rng.uniform(-far, far, (50, 30))
    hasher = FixedHyperplanes(W, rng.standard_normal(20)).fit(around_zero(30))
    assert_bits_are_signs(hasher, rows)
    exact = rows @ W.T
    clear = np.abs(exact) > 1e-4 * far
    np.testing.assert_array_equal(hasher.transform(rows)[clear], (exact > 0)[clear])


def test_reals_of_far_rows_are_finite() -> None:
    hasher = FixedHyperplanes(np.ones((2, 30)), np.array([1e38, -1e38])).fit(around_zero(30))
    largest = float(np.finfo(np.float32).max)
    rows = np.array([np.full(30, -8e37), np.full(30, 8e37)])
    with np.errstate(over="ignore"):
        assert_bits_are_signs(hasher, rows)
        np.testing.assert_allclose(hasher.embed(rows).ravel()[[0, 3]], [-largest, largest])


def test_a_zero_direction_gives_constant_bits() -> None:
    hasher = FixedHyperplanes(np.zeros((3, 64)), np.array([0.0, 1.0, -1.0])).fit(DIGITS)
    np.testing.assert_array_equal(hasher.transform(DIGITS), np.tile([0, 0, 1], (len(DIGITS), 1)))


def test_refitting_replaces_the_directions() -> None:
    hasher = FixedHyperplanes(np.eye(64)[:8]).fit(DIGITS)
    first = hasher.transform(DIGITS)
    hasher.set_params(directions=-np.eye(64)[:8]).fit(DIGITS)
    assert_bits_are_signs(hasher, DIGITS)
    assert (hasher.transform(DIGITS) != first).any()
