"""GIST on pictures whose answer is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bitfold.features import color_gist, gist
from bitfold.features.gist import COLOR, GRAY, gabor_bank

RNG = np.random.default_rng(0)


def stripes(period: float, degrees: float, side: int = 32) -> NDArray[Any]:
    y, x = np.mgrid[:side, :side]
    turn = np.deg2rad(degrees)
    phase = 2 * np.pi * (x * np.cos(turn) + y * np.sin(turn)) / period
    return np.asarray(128 + 100 * np.sin(phase))


def colored(picture: NDArray[Any]) -> NDArray[Any]:
    return np.repeat(picture[..., None], 3, axis=-1)


def energy(picture: NDArray[Any]) -> NDArray[Any]:
    """Mean response, scale by orientation."""
    return np.asarray(gist(picture[None])[0].reshape(4, 8, 16).mean(axis=2))


def test_a_constant_picture_has_no_shape() -> None:
    assert np.abs(gist(np.full((2, 32, 32), 77))).max() < 1e-3
    assert np.abs(color_gist(np.full((2, 32, 32, 3), [0, 77, 255]))).max() < 1e-3


def test_contrast_hardly_matters() -> None:
    picture = stripes(6, 20)
    half = 128 + (picture - 128) / 2
    strong, weak = energy(picture), energy(half)
    assert np.corrcoef(strong.ravel(), weak.ravel())[0, 1] > 0.99
    assert 0.5 < weak.sum() / strong.sum() < 1
    strong, weak = (color_gist(colored(x)[None])[0] for x in (picture, half))
    assert np.corrcoef(strong, weak)[0, 1] > 0.99


def test_brightness_matters_less() -> None:
    """The logarithm makes of a factor a shift, which the filters do not see."""
    picture = RNG.integers(60, 120, (1, 32, 32))
    bright = gist(2 * (picture + 1) - 1)
    assert np.allclose(bright, gist(picture), atol=1e-4)


def test_orientation_and_scale_are_told_apart() -> None:
    across, upright = energy(stripes(6, 0)), energy(stripes(6, 90))
    assert across.sum(axis=0).argmax() != upright.sum(axis=0).argmax()
    fine, coarse = energy(stripes(3.5, 0)), energy(stripes(16, 0))
    assert fine.sum(axis=1).argmax() < coarse.sum(axis=1).argmax()


def test_place_is_told_apart() -> None:
    picture = np.full((32, 32), 128.0)
    picture[:8, 8:16] = stripes(4, 0)[:8, :8]
    cells = gist(picture[None])[0].reshape(32, 16).sum(axis=0)
    assert cells.argmax() == 1
    # In GIST1M's layout block means go column by column.
    cells = color_gist(colored(picture)[None])[0].reshape(60, 16).sum(axis=0)
    assert cells.argmax() == 4


def test_channels_come_one_after_the_other() -> None:
    picture = np.full((1, 32, 32, 3), 128.0)
    picture[0, :, :, 1] = stripes(5, 30)
    energies = color_gist(picture)[0].reshape(3, 320).sum(axis=1)
    assert energies[1] > 100 * max(energies[0], energies[2])


@pytest.mark.parametrize("orientations", [GRAY, COLOR])
def test_filters_tile_the_spectrum(orientations: tuple[int, ...]) -> None:
    side = 64
    bank = np.array(gabor_bank(side, orientations))
    assert len(bank) == sum(orientations)
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(side), np.fft.fftfreq(side)))
    # A real picture's spectrum is symmetric: a filter and its mirror image see the same.
    covered = (bank + np.roll(bank[:, ::-1, ::-1], 1, axis=(1, 2))).sum(axis=0)
    band = (frequency > 0.06 * 1.85 ** (4 - len(orientations))) & (frequency < 0.35)
    assert covered[band].min() > 0.3
    assert bank[:, 0, 0].max() < 0.05  # not the mean gray


def literally(picture: NDArray[Any]) -> NDArray[Any]:
    """Color GIST of one picture, step by step in double precision, as GIST1M's was computed."""
    side = len(picture)
    padded = np.pad(np.log(picture + 1.0), ((5, 5), (5, 5), (0, 0)), mode="symmetric")
    at = np.fft.fftfreq(side + 10, 1 / (side + 10))
    low = np.exp(-(at[:, None] ** 2 + at**2) / (4 / np.sqrt(np.log(2))) ** 2)[..., None]

    def smooth(x: NDArray[Any]) -> NDArray[Any]:
        return np.fft.ifft2(np.fft.fft2(x, axes=(0, 1)) * low, axes=(0, 1)).real

    detail = padded - smooth(padded)
    contrast = np.sqrt(np.abs(smooth(detail.mean(axis=2, keepdims=True) ** 2)))
    normal = (detail / (0.2 + contrast))[5:-5, 5:-5]
    at = np.fft.fftfreq(side, 1 / side)
    radius, angle = np.hypot(at[:, None], at), np.arctan2(at[:, None], at)
    out = []
    for channel in range(3):
        spectrum = np.fft.fft2(normal[..., channel])
        for scale, n in enumerate((8, 8, 4)):
            for j in range(n):
                turned = angle + np.pi / n * j
                turned -= 2 * np.pi * (turned > np.pi)
                center, narrow = 0.3 / 1.85**scale, 16 * n**2 / 32**2
                ring = -10 * 0.35 * (radius / side / center - 1) ** 2
                transfer = np.exp(ring - 2 * narrow * np.pi * turned**2)
                response = np.abs(np.fft.ifft2(spectrum * transfer))
                size = side // 4
                for x in range(4):
                    for y in range(4):
                        block = response[y * size : (y + 1) * size, x * size : (x + 1) * size]
                        out.append(block.mean())
    return np.array(out)


@pytest.mark.parametrize("side", [8, 24, 32])
def test_color_gist_is_what_it_says(side: int) -> None:
    pictures = RNG.integers(0, 256, (2, side, side, 3)).astype(np.uint8)
    expected = np.array([literally(picture) for picture in pictures])
    assert np.allclose(color_gist(pictures), expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("describe", "channels"), [(gist, ()), (color_gist, (3,))])
def test_one_by_one_equals_all_at_once(
    describe: Callable[[NDArray[Any]], NDArray[Any]], channels: tuple[int, ...]
) -> None:
    pictures = RNG.integers(0, 256, (70, 16, 16, *channels))
    alone = np.concatenate([describe(picture[None]) for picture in pictures])
    np.testing.assert_allclose(describe(pictures), alone, rtol=1e-4, atol=1e-6)
    assert alone.shape == (70, 960 if channels else 512)
    assert describe(pictures[:0]).shape == (0, alone.shape[1])


@pytest.mark.parametrize("shape", [(32, 32), (2, 32, 28), (2, 30, 30), (1, 32, 32, 3), (1, 4, 4)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="images of gist must be gray pictures"):
        gist(np.zeros(shape))


@pytest.mark.parametrize("shape", [(2, 32, 32), (2, 32, 28, 3), (1, 32, 32, 1)])
def test_other_color_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="images of color_gist must be color pictures"):
        color_gist(np.zeros(shape))


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_other_values_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="images of gist must be of finite values of at least 0"):
        gist(np.full((1, 8, 8), value))
