"""Random hyperplanes: differing bits estimate angles."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from bitfold.hashers import LSH
from bitfold.hashers.lsh import random_directions

DIGITS = load_digits().data
ANGLES = np.pi * np.array([0, 0.02, 0.1, 0.25, 0.5, 0.8, 1])
BITS = 20_000
"""Enough for a share of bits to be within 0.012 of what is expected: 3 deviations."""


def turned(n_features: int) -> NDArray[np.float64]:
    """Vectors at these angles from the first, in a plane of no particular direction."""
    rng = np.random.default_rng(0)
    plane = np.linalg.qr(rng.standard_normal((n_features, 2)))[0].T
    return np.outer(np.cos(ANGLES), plane[0]) + np.outer(np.sin(ANGLES), plane[1])


@pytest.mark.parametrize("n_features", [2, 10])
def test_the_share_of_differing_bits_is_the_angle_over_pi(n_features: int) -> None:
    vectors = turned(n_features)
    # Fitted far away: through the origin, the data's mean has no say.
    hasher = LSH(BITS, center=False, random_state=0).fit(vectors + 3)
    bits = hasher.transform(vectors * np.geomspace(0.1, 10, len(vectors))[:, None])
    np.testing.assert_allclose((bits != bits[0]).mean(axis=1), ANGLES / np.pi, atol=0.012)


def test_with_a_center_angles_are_seen_from_there() -> None:
    vectors, center = turned(10), np.linspace(-4, 7, 10)
    hasher = LSH(BITS, random_state=0).fit([center + 1, center - 1])
    bits = hasher.transform(center + vectors)
    np.testing.assert_allclose((bits != bits[0]).mean(axis=1), ANGLES / np.pi, atol=0.012)


def test_through_the_origin_length_does_not_matter() -> None:
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


def test_no_direction_is_preferred() -> None:
    W = random_directions(30_000, 4, np.random.default_rng(0))
    units = W / np.linalg.norm(W, axis=1, keepdims=True)
    np.testing.assert_allclose(units.mean(axis=0), 0, atol=0.012)
    np.testing.assert_allclose(units.T @ units / len(units), np.eye(4) / 4, atol=0.006)
    np.testing.assert_allclose((units**4).mean(axis=0), 1 / 8, atol=0.006)


def test_a_center_is_wanted_or_not() -> None:
    with pytest.raises(
        ValueError, match=r"^center of LSH must be one of True, False, got 'mean'\.$"
    ):
        LSH(center="mean").fit(DIGITS)  # type: ignore[arg-type]
