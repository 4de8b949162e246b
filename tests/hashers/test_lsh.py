"""Random hyperplanes: the fraction of different bits estimates angles."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from bitfold.errors import ParameterError
from bitfold.hashers import LSH
from bitfold.hashers.lsh import draw_directions

DIGITS = load_digits().data
ANGLES = np.pi * np.array([0, 0.02, 0.1, 0.25, 0.5, 0.8, 1])
BITS = 20_000
"""With this number of bits, 3 standard deviations of a fraction of bits are 0.012."""


def rotated(n_features: int) -> NDArray[np.float64]:
    """Return vectors at these angles to the first one, in a random plane."""
    rng = np.random.default_rng(0)
    plane = np.linalg.qr(rng.standard_normal((n_features, 2)))[0].T
    return np.outer(np.cos(ANGLES), plane[0]) + np.outer(np.sin(ANGLES), plane[1])


@pytest.mark.parametrize("n_features", [2, 10])
def test_fraction_of_different_bits_is_angle_over_pi(n_features: int) -> None:
    vectors = rotated(n_features)
    # Fitted far away, because the mean of the data does not matter for center=False.
    hasher = LSH(BITS, center=False, random_state=0).fit(vectors + 3)
    bits = hasher.transform(vectors * np.geomspace(0.1, 10, len(vectors))[:, None])
    np.testing.assert_allclose((bits != bits[0]).mean(axis=1), ANGLES / np.pi, atol=0.012)


def test_angles_are_measured_at_the_center() -> None:
    vectors, center = rotated(10), np.linspace(-4, 7, 10)
    hasher = LSH(BITS, random_state=0).fit([center + 1, center - 1])
    bits = hasher.transform(center + vectors)
    np.testing.assert_allclose((bits != bits[0]).mean(axis=1), ANGLES / np.pi, atol=0.012)


def test_length_does_not_matter_without_center() -> None:
    hasher = LSH(64, center=False, random_state=0).fit(DIGITS)
    exact = DIGITS @ hasher.directions_.T.astype(np.float64)
    np.testing.assert_allclose(hasher.embed(DIGITS), exact, atol=2e-3)
    clear = (np.abs(exact) > 2e-3).all(axis=1)
    assert clear.mean() > 0.9
    assert hasher.encode(8 * DIGITS[clear]) == hasher.encode(DIGITS[clear])
    centered = LSH(64, random_state=0).fit(DIGITS)
    np.testing.assert_array_equal(centered.directions_, hasher.directions_)
    assert centered.encode(8 * DIGITS) != centered.encode(DIGITS)


def test_hyperplanes_pass_through_the_mean() -> None:
    hasher = LSH(32, random_state=0).fit(DIGITS)
    np.testing.assert_allclose(hasher.embed(DIGITS).mean(axis=0), 0, atol=1e-3)


def test_directions_are_uniform() -> None:
    W = draw_directions(30_000, 4, np.random.default_rng(0))
    units = W / np.linalg.norm(W, axis=1, keepdims=True)
    np.testing.assert_allclose(units.mean(axis=0), 0, atol=0.012)
    np.testing.assert_allclose(units.T @ units / len(units), np.eye(4) / 4, atol=0.006)
    np.testing.assert_allclose((units**4).mean(axis=0), 1 / 8, atol=0.006)


def test_invalid_center_raises() -> None:
    with pytest.raises(ParameterError, match=r"center of LSH .*'mean'"):
        LSH(center="mean").fit(DIGITS)  # type: ignore[arg-type]
