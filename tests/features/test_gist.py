"""GIST on pictures whose answer is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bitfold.features import gist
from bitfold.features.gist import gabor_bank

RNG = np.random.default_rng(0)


def stripes(period: float, degrees: float, side: int = 32) -> NDArray[Any]:
    y, x = np.mgrid[:side, :side]
    turn = np.deg2rad(degrees)
    phase = 2 * np.pi * (x * np.cos(turn) + y * np.sin(turn)) / period
    return np.asarray(128 + 100 * np.sin(phase))


def energy(picture: NDArray[Any]) -> NDArray[Any]:
    """Mean response, scale by orientation."""
    return np.asarray(gist(picture[None])[0].reshape(4, 8, 16).mean(axis=2))


def test_a_constant_picture_has_no_shape() -> None:
    assert np.abs(gist(np.full((2, 32, 32), 77))).max() < 1e-3


def test_contrast_hardly_matters() -> None:
    picture = stripes(6, 20)
    strong, weak = energy(picture), energy(128 + (picture - 128) / 2)
    assert np.corrcoef(strong.ravel(), weak.ravel())[0, 1] > 0.99


def test_orientation_and_scale_are_told_apart() -> None:
    across, upright = energy(stripes(6, 0)), energy(stripes(6, 90))
    assert across.sum(axis=0).argmax() != upright.sum(axis=0).argmax()
    fine, coarse = energy(stripes(3.5, 0)), energy(stripes(16, 0))
    assert fine.sum(axis=1).argmax() < coarse.sum(axis=1).argmax()


def test_place_is_told_apart() -> None:
    picture = np.full((32, 32), 128.0)
    picture[:8, :8] = stripes(4, 0)[:8, :8]
    cells = gist(picture[None])[0].reshape(32, 16).sum(axis=0)
    assert cells.argmax() == 0


def test_filters_tile_the_spectrum() -> None:
    side = 64
    bank = np.array(gabor_bank(side))
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(side), np.fft.fftfreq(side)))
    # A real picture's spectrum is symmetric: a filter and its mirror image see the same.
    covered = (bank + np.roll(bank[:, ::-1, ::-1], 1, axis=(1, 2))).sum(axis=0)
    band = (frequency > 0.06) & (frequency < 0.35)
    assert covered[band].min() > 0.3
    assert bank[:, 0, 0].max() < 0.05  # not the mean grey


def test_one_by_one_equals_all_at_once() -> None:
    pictures = RNG.integers(0, 256, (5, 32, 32))
    alone = np.concatenate([gist(picture[None]) for picture in pictures])
    np.testing.assert_allclose(gist(pictures), alone, rtol=1e-4, atol=1e-6)
    assert gist(pictures).shape == (5, 512)


@pytest.mark.parametrize("shape", [(32, 32), (2, 32, 30), (2, 30, 30), (1, 32, 32, 3)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="images of gist must be grey pictures"):
        gist(np.zeros(shape))
