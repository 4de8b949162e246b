"""GIST: the shape of a scene in 512 or 960 numbers (Oliva and Torralba, 2001).

A bank of Gabor filters is applied in the frequency domain to the contrast-normalized image; the
magnitude of each response is averaged over 4 × 4 blocks. There are two layouts: gray, with 4 scales
of 8 orientations, 512 numbers (Sec. IV of the paper); and color as in GIST1M, with 3 scales of 8, 8
and 4 orientations for each of three channels, 960 numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy import fft

from bitfold import _validation
from bitfold._threads import map_blocks
from bitfold._types import AnyArray, Float32Array, UInt8Array

GRAY_ORIENTATIONS = (8, 8, 8, 8)
"""Orientations per scale of the gray layout, finest scale first."""

COLOR_ORIENTATIONS = (8, 8, 4)
"""Orientations per scale of the color layout, finest scale first."""

GIST_VERSION = 2
"""Incremented when the numbers change, so that cached descriptors are computed again."""

_N_BLOCKS = 4
"""Blocks per side that responses are averaged over."""

_MIN_SIDE = 8
_IMAGES_PER_BATCH = 32
_CONTRAST_PADDING = 5


def gist(images: AnyArray) -> Float32Array:
    """Compute the GIST descriptors of square gray images.

    Parameters
    ----------
    images
        (n, side, side), values from 0 to 255; the side is a multiple of 4, at least 8.

    Returns
    -------
    (n, 512): for each filter the 4 × 4 block means of its response, row by row.

    Raises
    ------
    ParameterError
        If the images have another shape, or values that are negative or not finite.

    References
    ----------
    A. Oliva and A. Torralba, *Modeling the shape of the scene: a holistic representation of the
    spatial envelope*, IJCV 2001.

    Examples
    --------
    >>> gist(np.zeros((2, 32, 32), np.uint8)).shape
    (2, 512)
    """
    images = _check_images(images, "gist", 3, "gray images (n, side, side)")
    return _map_batches(images, _describe_gray, sum(GRAY_ORIENTATIONS) * _N_BLOCKS**2)


def color_gist(images: AnyArray) -> Float32Array:
    """Compute the GIST descriptors of square color images, as for GIST1M.

    Parameters
    ----------
    images
        (n, side, side, 3), values from 0 to 255; the side is a multiple of 4, at least 8.

    Returns
    -------
    (n, 960): for each channel and filter the 4 × 4 block means of its response, column by column.

    Raises
    ------
    ParameterError
        If the images have another shape, or values that are negative or not finite.

    References
    ----------
    M. Douze, H. Jégou, H. Sandhawalia, L. Amsaleg and C. Schmid, *Evaluation of GIST descriptors
    for web-scale image search*, CIVR 2009.

    Examples
    --------
    >>> color_gist(np.zeros((2, 32, 32, 3), np.uint8)).shape
    (2, 960)
    """
    images = _check_images(images, "color_gist", 4, "color images (n, side, side, 3)")
    return _map_batches(images, _describe_color, 3 * sum(COLOR_ORIENTATIONS) * _N_BLOCKS**2)


def to_gray(images: UInt8Array) -> UInt8Array:
    """Convert color images to gray by ITU-R 601, with the same integers as Pillow.

    Parameters
    ----------
    images
        Bytes (n, height, width, 3).

    Returns
    -------
    Bytes (n, height, width).

    Examples
    --------
    >>> to_gray(np.full((1, 1, 1, 3), 200, np.uint8)).item()
    200
    """
    red, green, blue = np.moveaxis(images.astype(np.uint32), 3, 0)
    gray: UInt8Array = ((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16).astype(np.uint8)
    return gray


def _check_images(images: AnyArray, owner: str, n_dims: int, layout: str) -> AnyArray:
    images = np.asarray(images)
    side = images.shape[1] if images.ndim == n_dims else 0
    has_channels = images.shape[3:] in ((), (3,))
    if side < _MIN_SIDE or side % _N_BLOCKS or images.shape[2] != side or not has_channels:
        requirement = f"{layout}, the side a multiple of {_N_BLOCKS} and at least {_MIN_SIDE}"
        _validation.raise_invalid("images", owner, requirement, f"shape {images.shape}")
    if images.dtype.kind != "u" and not ((images >= 0) & (images < np.inf)).all():
        _validation.raise_invalid("images", owner, "finite and not negative", "other values")
    return images


def _map_batches(
    images: AnyArray, describe: Callable[[Float32Array], Float32Array], width: int
) -> Float32Array:
    """Describe the images on all cores, in batches that fit in the cache of a core."""
    out = np.empty((len(images), width), np.float32)

    def fill(start: int) -> None:
        batch = images[start : start + _IMAGES_PER_BATCH].astype(np.float32)
        out[start : start + len(batch)] = describe(batch)

    for _ in map_blocks(fill, range(0, len(images), _IMAGES_PER_BATCH)):
        pass
    return out


def _describe_gray(images: Float32Array) -> Float32Array:
    side = images.shape[1]
    # Mirrored edges: the Fourier transform would otherwise join opposite sides.
    extended = _pad(_normalize_contrast(images[:, None]), side // 2)
    return _mean_responses(extended, GRAY_ORIENTATIONS, side).reshape(len(images), -1)


def _describe_color(images: Float32Array) -> Float32Array:
    normalized = _normalize_contrast(np.moveaxis(images, 3, 1))
    means = _mean_responses(normalized, COLOR_ORIENTATIONS, images.shape[1])
    return means.swapaxes(-1, -2).reshape(len(images), -1)


def _normalize_contrast(images: Float32Array) -> Float32Array:
    """Whiten the spectrum and divide by the local contrast, which the channels share."""
    pad = _CONTRAST_PADDING
    padded = _pad(np.log1p(images), pad)
    low_pass = _low_pass(padded.shape[-1])
    detail = padded - _filter(padded, low_pass)
    lightness = detail.mean(axis=1, keepdims=True)
    contrast = np.sqrt(np.abs(_filter(lightness * lightness, low_pass)))
    normalized: Float32Array = np.divide(detail, contrast + np.float32(0.2), dtype=np.float32)
    return normalized[..., pad:-pad, pad:-pad]


def _mean_responses(images: Float32Array, orientations: tuple[int, ...], side: int) -> Float32Array:
    """Return the block means of the magnitudes of all responses, inside the padding."""
    extended = images.shape[-1]
    first = (extended - side) // 2
    middle = slice(first, first + side)
    spectrum = fft.fft2(images)
    bank = gabor_bank(extended, orientations)
    out = np.empty((*images.shape[:2], len(bank), _N_BLOCKS, _N_BLOCKS), np.float32)
    averaging = np.repeat(np.eye(_N_BLOCKS, dtype=np.float32), side // _N_BLOCKS, axis=1)
    averaging *= np.float32(_N_BLOCKS / side)
    for i, transfer in enumerate(bank):
        # Only the rows inside the padding need the second half of the transform.
        halfway = fft.ifft(spectrum * transfer, axis=-2, overwrite_x=True)[..., middle, :]
        response = np.abs(fft.ifft(halfway, axis=-1)[..., middle])
        out[:, :, i] = averaging @ (response @ averaging.T)
    return out


@cache
def gabor_bank(side: int, orientations: tuple[int, ...] = GRAY_ORIENTATIONS) -> list[Float32Array]:
    """Return the transfer functions of the filters: rings of frequency, cut into sectors."""
    frequency = fft.fftfreq(side, 1 / side)
    radius = np.hypot(frequency[:, None], frequency[None, :]) / side
    angle = np.arctan2(frequency[:, None], frequency[None, :])
    bank = []
    for scale, n_sectors in enumerate(orientations):
        ring = -3.5 * (radius / (0.3 / 1.85**scale) - 1) ** 2
        width = 2 * np.pi * 16 * n_sectors**2 / 32**2
        for sector in range(n_sectors):
            turned = angle + np.pi / n_sectors * sector
            turned = (turned + np.pi) % (2 * np.pi) - np.pi
            bank.append(np.exp(ring - width * turned**2).astype(np.float32))
    return bank


@cache
def _low_pass(side: int) -> Float32Array:
    """Return a Gaussian of 4 cycles per image at half height, for the frequencies of rfft2."""
    frequency = fft.fftfreq(side, 1 / side)
    width = 16 / np.log(2)
    radius = frequency[:, None] ** 2 + fft.rfftfreq(side, 1 / side) ** 2
    gaussian: Float32Array = np.exp(-radius / width).astype(np.float32)
    return gaussian


def _filter(images: Float32Array, transfer: Float32Array) -> Float32Array:
    real: Float32Array = fft.irfft2(fft.rfft2(images) * transfer, s=images.shape[-2:])
    return real


def _pad(images: Float32Array, by: int) -> Float32Array:
    return np.pad(images, ((0, 0), (0, 0), (by, by), (by, by)), mode="symmetric")
