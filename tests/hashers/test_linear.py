"""Linear hash functions: bits at a matrix product's speed are those of the exact reals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from bitfold._types import ProgressCallback
from bitfold.hashers.base.linear import LinearHasher
from bitfold.io.rows import Rows

DIGITS = load_digits().data


class Given(LinearHasher):
    """Hyperplanes handed over, for what every linear hasher shares."""

    def __init__(self, directions: Any = None, thresholds: Any = None, n_bits: int = 1) -> None:
        self.directions = directions
        self.thresholds = thresholds
        self.n_bits = n_bits

    def _learn(
        self, rows: Rows, y: NDArray[Any] | None, progress: ProgressCallback
    ) -> dict[str, Any]:
        return self._fitted_hyperplanes(self.directions, self.thresholds)


def around_zero(n_features: int) -> NDArray[np.float64]:
    """Rows to fit on, with mean zero."""
    return np.vstack([np.ones(n_features), -np.ones(n_features)])


def assert_bits_are_signs(hasher: Given, rows: NDArray[Any]) -> None:
    reals = hasher.embed(rows)
    assert np.isfinite(reals).all()
    np.testing.assert_array_equal(hasher.transform(rows), reals > 0)
    for i in (0, len(rows) - 1):
        np.testing.assert_array_equal(hasher.transform(rows[i : i + 1])[0], reals[i] > 0)


def test_a_bit_is_the_side_of_a_hyperplane() -> None:
    rng = np.random.default_rng(0)
    W, t = rng.standard_normal((11, 64)), rng.standard_normal(11)
    hasher = Given(W, t).fit(DIGITS)
    exact = (DIGITS - DIGITS.mean(axis=0)) @ W.T - t
    np.testing.assert_allclose(hasher.embed(DIGITS), exact, atol=1e-3)
    clear = np.abs(exact) > 1e-3
    np.testing.assert_array_equal(hasher.transform(DIGITS)[clear], (exact > 0)[clear])


def test_without_thresholds_hyperplanes_pass_through_the_center() -> None:
    hasher = Given(np.eye(64)).fit(DIGITS)
    assert not hasher.thresholds_.any()
    assert not hasher.transform(hasher.center_[None]).any()


@pytest.mark.parametrize("n_bits", [1, 7, 8, 9, 64, 65, 130])
@pytest.mark.parametrize("n_features", [1, 5, 64, 300])
def test_bits_are_signs_of_the_reals(n_bits: int, n_features: int) -> None:
    rng = np.random.default_rng(n_bits)
    rows = rng.standard_normal((4100, n_features))
    W = rng.standard_normal((n_bits, n_features))
    # Every hyperplane passes through a row, bit for bit: there the sign is rounding.
    aim = Given(W).fit(around_zero(n_features)).embed(rows[:1])[0]
    hasher = Given(W, aim).fit(around_zero(n_features))
    assert not hasher.transform(rows[:1]).any()
    assert_bits_are_signs(hasher, rows)


@pytest.mark.parametrize("far", [1e18, 1e30, 8e37])
def test_far_rows_have_their_side(far: float) -> None:
    rng = np.random.default_rng(0)
    W, rows = rng.standard_normal((20, 30)), rng.uniform(-far, far, (50, 30))
    hasher = Given(W, rng.standard_normal(20)).fit(around_zero(30))
    assert_bits_are_signs(hasher, rows)
    exact = rows @ W.T
    clear = np.abs(exact) > 1e-4 * far
    np.testing.assert_array_equal(hasher.transform(rows)[clear], (exact > 0)[clear])


def test_a_far_row_and_a_far_threshold_leave_a_finite_real() -> None:
    hasher = Given(np.ones((2, 30)), np.array([1e38, -1e38])).fit(around_zero(30))
    largest = float(np.finfo(np.float32).max)
    rows = np.array([np.full(30, -8e37), np.full(30, 8e37)])
    with np.errstate(over="ignore"):
        assert_bits_are_signs(hasher, rows)
        np.testing.assert_allclose(hasher.embed(rows).ravel()[[0, 3]], [-largest, largest])


def test_a_direction_of_zeros_is_never_exceeded() -> None:
    hasher = Given(np.zeros((3, 64)), np.array([0.0, 1.0, -1.0])).fit(DIGITS)
    np.testing.assert_array_equal(hasher.transform(DIGITS), np.tile([0, 0, 1], (len(DIGITS), 1)))


def test_new_directions_are_used_at_once() -> None:
    hasher = Given(np.eye(64)[:8]).fit(DIGITS)
    first = hasher.transform(DIGITS)
    hasher.set_params(directions=-np.eye(64)[:8]).fit(DIGITS)
    assert_bits_are_signs(hasher, DIGITS)
    assert (hasher.transform(DIGITS) != first).any()
