"""Periodic hash functions: the sign of a cosine, near and far from the center."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bitfold._types import ProgressCallback
from bitfold.hashers.base import PeriodicHasher, Rows

DIGITS = load_digits().data


class FixedWaves(PeriodicHasher):
    """Waves that are parameters."""

    def __init__(
        self, frequencies: Any = None, phases: Any = None, thresholds: Any = None, n_bits: int = 1
    ) -> None:
        self.frequencies = frequencies
        self.phases = phases
        self.thresholds = thresholds
        self.n_bits = n_bits

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        return self._fitted_waves(self.frequencies, self.phases, self.thresholds)


def test_a_bit_is_whether_the_cosine_exceeds_the_threshold() -> None:
    rng = np.random.default_rng(0)
    w, phases = 0.05 * rng.standard_normal((13, 64)), rng.uniform(0, 7, 13)
    thresholds = rng.uniform(-1, 1, 13)
    hasher = FixedWaves(w, phases, thresholds).fit(DIGITS)
    exact = np.cos((DIGITS - DIGITS.mean(axis=0)) @ w.T + phases) - thresholds
    np.testing.assert_allclose(hasher.embed(DIGITS), exact, atol=1e-4)
    clear = np.abs(exact) > 1e-4
    np.testing.assert_array_equal(hasher.transform(DIGITS)[clear], (exact > 0)[clear])


def test_without_thresholds_a_bit_is_the_sign_of_the_cosine() -> None:
    hasher = FixedWaves(np.eye(2), np.zeros(2)).fit([[1.0, 1.0], [-1.0, -1.0]])
    assert not hasher.thresholds_.any()
    angles = np.array([[0.0, 1.5], [1.6, 3.0], [-1.5, 4.8], [6.2, -1.6]])
    np.testing.assert_array_equal(hasher.transform(angles), np.cos(angles) > 0)


@pytest.mark.parametrize("turns", [1000, 100_000, 1_000_000])
def test_waves_repeat_far_from_the_center(turns: int) -> None:
    # Whole turns that float32 represents exactly: a period of 8 has the frequency π/4.
    hasher = FixedWaves(np.full((1, 1), np.pi / 4), np.array([0.7])).fit([[1.0], [-1.0]])
    places = 8.0 * turns + np.arange(8)[:, None]
    frequency = np.float64(np.float32(np.pi / 4))
    exact = np.cos((frequency * places).astype(np.float32) + np.float64(np.float32(0.7)))
    np.testing.assert_allclose(hasher.embed(places), exact, atol=1e-6)


@pytest.mark.parametrize("far", [1e10, 1e30, 8e37])
@pytest.mark.parametrize("frequency", [1e-30, 1.0, 1e30])
def test_reals_of_far_rows_are_finite(far: float, frequency: float) -> None:
    hasher = FixedWaves(np.full((3, 2), frequency), np.zeros(3)).fit([[1.0, 1.0], [-1.0, -1.0]])
    reals = hasher.embed([[far, far], [-far, far], [far, 0.0]])
    assert (np.abs(reals) <= 1).all()
