"""GIST of images whose descriptors are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from bitfold.errors import ParameterError
from bitfold.features import color_gist, gist, to_gray
from bitfold.features.gist import COLOR_ORIENTATIONS, GRAY_ORIENTATIONS, gabor_bank

RNG = np.random.default_rng(0)


def stripes(period: float, degrees: float, side: int = 32) -> NDArray[Any]:
    y, x = np.mgrid[:side, :side]
    turn = np.deg2rad(degrees)
    phase = 2 * np.pi * (x * np.cos(turn) + y * np.sin(turn)) / period
    return np.asarray(128 + 100 * np.sin(phase))


def to_color(image: NDArray[Any]) -> NDArray[Any]:
    return np.repeat(image[..., None], 3, axis=-1)


def energy(image: NDArray[Any]) -> NDArray[Any]:
    """Return the mean response by scale and orientation."""
    return np.asarray(gist(image[None])[0].reshape(4, 8, 16).mean(axis=2))


def test_constant_image_has_zero_gist() -> None:
    assert np.abs(gist(np.full((2, 32, 32), 77))).max() < 1e-3
    assert np.abs(color_gist(np.full((2, 32, 32, 3), [0, 77, 255]))).max() < 1e-3


def test_contrast_has_little_effect() -> None:
    image = stripes(6, 20)
    half = 128 + (image - 128) / 2
    strong, weak = energy(image), energy(half)
    assert np.corrcoef(strong.ravel(), weak.ravel())[0, 1] > 0.99
    assert 0.5 < weak.sum() / strong.sum() < 1
    strong, weak = (color_gist(to_color(x)[None])[0] for x in (image, half))
    assert np.corrcoef(strong, weak)[0, 1] > 0.99


def test_brightness_has_no_effect() -> None:
    """The logarithm turns a factor into a constant, which the filters remove."""
    image = RNG.integers(60, 120, (1, 32, 32))
    bright = gist(2 * (image + 1) - 1)
    assert np.allclose(bright, gist(image), atol=1e-4)


def test_orientation_and_scale_are_distinguished() -> None:
    across, upright = energy(stripes(6, 0)), energy(stripes(6, 90))
    assert across.sum(axis=0).argmax() != upright.sum(axis=0).argmax()
    fine, coarse = energy(stripes(3.5, 0)), energy(stripes(16, 0))
    assert fine.sum(axis=1).argmax() < coarse.sum(axis=1).argmax()


def test_position_is_distinguished() -> None:
    image = np.full((32, 32), 128.0)
    image[:8, 8:16] = stripes(4, 0)[:8, :8]
    cells = gist(image[None])[0].reshape(32, 16).sum(axis=0)
    assert cells.argmax() == 1
    # In the layout of GIST1M, block means are in column order.
    cells = color_gist(to_color(image)[None])[0].reshape(60, 16).sum(axis=0)
    assert cells.argmax() == 4


def test_channels_are_separate() -> None:
    image = np.full((1, 32, 32, 3), 128.0)
    image[0, :, :, 1] = stripes(5, 30)
    energies = color_gist(image)[0].reshape(3, 320).sum(axis=1)
    assert energies[1] > 100 * max(energies[0], energies[2])


@pytest.mark.parametrize("orientations", [GRAY_ORIENTATIONS, COLOR_ORIENTATIONS])
def test_filters_tile_the_spectrum(orientations: tuple[int, ...]) -> None:
    side = 64
    bank = np.array(gabor_bank(side, orientations))
    assert len(bank) == sum(orientations)
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(side), np.fft.fftfreq(side)))
    # The spectrum of a real image is symmetric, so a filter and its mirror image are equivalent.
    covered = (bank + np.roll(bank[:, ::-1, ::-1], 1, axis=(1, 2))).sum(axis=0)
    band = (frequency > 0.06 * 1.85 ** (4 - len(orientations))) & (frequency < 0.35)
    assert covered[band].min() > 0.3
    assert bank[:, 0, 0].max() < 0.05  # the mean gray is removed


def compute_literally(image: NDArray[Any]) -> NDArray[Any]:
    """Compute the color GIST of one image step by step, in float64, as for GIST1M."""
    side = len(image)
    padded = np.pad(np.log(image + 1.0), ((5, 5), (5, 5), (0, 0)), mode="symmetric")
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
def test_color_gist_equals_its_definition(side: int) -> None:
    images = RNG.integers(0, 256, (2, side, side, 3)).astype(np.uint8)
    expected = np.array([compute_literally(image) for image in images])
    assert np.allclose(color_gist(images), expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("describe", "channels"), [(gist, ()), (color_gist, (3,))])
def test_one_by_one_equals_all_at_once(
    describe: Callable[[NDArray[Any]], NDArray[Any]], channels: tuple[int, ...]
) -> None:
    images = RNG.integers(0, 256, (70, 16, 16, *channels))
    alone = np.concatenate([describe(image[None]) for image in images])
    np.testing.assert_allclose(describe(images), alone, rtol=1e-4, atol=1e-6)
    assert alone.shape == (70, 960 if channels else 512)
    assert describe(images[:0]).shape == (0, alone.shape[1])


@pytest.mark.parametrize("shape", [(32, 32), (2, 32, 28), (2, 30, 30), (1, 32, 32, 3), (1, 4, 4)])
def test_invalid_gray_shape_is_rejected(shape: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="images of gist must be gray images"):
        gist(np.zeros(shape))


@pytest.mark.parametrize("shape", [(2, 32, 32), (2, 32, 28, 3), (1, 32, 32, 1)])
def test_invalid_color_shape_is_rejected(shape: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="images of color_gist must be color images"):
        color_gist(np.zeros(shape))


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_invalid_values_are_rejected(value: float) -> None:
    with pytest.raises(ParameterError, match="images of gist must be finite"):
        gist(np.full((1, 8, 8), value))


def test_to_gray_equals_pillow() -> None:
    images = RNG.integers(0, 256, (5, 9, 7, 3)).astype(np.uint8)
    expected = [np.asarray(Image.fromarray(image).convert("L")) for image in images]
    assert np.array_equal(to_gray(images), expected)
