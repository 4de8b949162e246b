"""GIST: the shape of a scene in 512 or 960 numbers (Oliva and Torralba, 2001).

A bank of Gabor filters is applied in the frequency domain to the contrast-normalized picture; the
magnitude of each response is averaged over 4 × 4 blocks. Two layouts are in use: gray, 4 scales of
8 orientations, 512 numbers (Sec. 4 of the paper); and color as in GIST1M, for each of three
channels 3 scales of 8, 8 and 4 orientations, 960 numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy import fft

from bitfold import _validation
from bitfold._threads import map_blocks
from bitfold._types import AnyArray, Float32Array

GRAY, COLOR = (8, 8, 8, 8), (8, 8, 4)
"""Orientations of each scale, finest first."""

N_BLOCKS = 4
VERSION = 2
"""Rises when the numbers change, so that kept descriptors are computed anew."""

_BATCH = 32


def gist(images: AnyArray) -> Float32Array:
    """Describe square gray pictures.

    Parameters
    ----------
    images
        (n, side, side), values from 0 to 255; the side a multiple of 4, at least 8.

    Returns
    -------
    (n, 512): filter by filter, the 4 × 4 block means of its response, row by row.

    References
    ----------
    A. Oliva and A. Torralba, *Modeling the shape of the scene: a holistic representation of the
    spatial envelope*, IJCV 2001.
    """
    images = _checked(images, "gist", 3, "gray pictures (n, side, side)")
    return _in_batches(images, _describe_gray, sum(GRAY) * N_BLOCKS**2)


def color_gist(images: AnyArray) -> Float32Array:
    """Describe square color pictures as those of GIST1M were.

    Parameters
    ----------
    images
        (n, side, side, 3), values from 0 to 255; the side a multiple of 4, at least 8.

    Returns
    -------
    (n, 960): channel by channel and filter by filter, the 4 × 4 block means of its response,
    column by column.

    References
    ----------
    M. Douze, H. Jégou, H. Sandhawalia, L. Amsaleg and C. Schmid, *Evaluation of GIST descriptors
    for web-scale image search*, CIVR 2009.
    """
    images = _checked(images, "color_gist", 4, "color pictures (n, side, side, 3)")
    return _in_batches(images, _describe_color, 3 * sum(COLOR) * N_BLOCKS**2)


def _checked(images: AnyArray, owner: str, ndim: int, demand: str) -> AnyArray:
    images = np.asarray(images)
    side = images.shape[1] if images.ndim == ndim else 0
    channels = images.shape[3:] in ((), (3,))
    if side < 8 or side % N_BLOCKS or images.shape[2] != side or not channels:
        demand = f"{demand}, the side a multiple of 4 and at least 8"
        _validation.raise_invalid("images", owner, demand, f"shape {images.shape}")
    if images.dtype.kind != "u" and not ((images >= 0) & (images < np.inf)).all():
        _validation.raise_invalid("images", owner, "of finite values of at least 0", "others")
    return images


def _in_batches(
    images: AnyArray, describe: Callable[[Float32Array], Float32Array], width: int
) -> Float32Array:
    """Describe a few pictures at a time, which stay in a core's cache, on all cores."""
    out = np.empty((len(images), width), np.float32)

    def fill(start: int) -> None:
        batch = images[start : start + _BATCH].astype(np.float32)
        out[start : start + len(batch)] = describe(batch)

    for _ in map_blocks(fill, range(0, len(images), _BATCH)):
        pass
    return out


def _describe_gray(images: Float32Array) -> Float32Array:
    side = images.shape[1]
    # Mirrored at its edges, a picture does not meet its own other side there.
    extended = _pad(_normalize_contrast(images[:, None]), side // 2)
    return _responses(extended, GRAY, side).reshape(len(images), -1)


def _describe_color(images: Float32Array) -> Float32Array:
    normalized = _normalize_contrast(np.moveaxis(images, 3, 1))
    means = _responses(normalized, COLOR, images.shape[1])
    return means.swapaxes(-1, -2).reshape(len(images), -1)


def _normalize_contrast(images: Float32Array) -> Float32Array:
    """Whiten the spectrum and divide by the local contrast, which all channels share."""
    pad = 5
    padded = _pad(np.log1p(images), pad)
    low_pass = _low_pass(padded.shape[-1])
    detail = padded - _filtered(padded, low_pass)
    lightness = detail.mean(axis=1, keepdims=True)
    contrast = np.sqrt(np.abs(_filtered(lightness * lightness, low_pass)))
    normalized: Float32Array = np.divide(detail, contrast + np.float32(0.2), dtype=np.float32)
    return normalized[..., pad:-pad, pad:-pad]


def _responses(images: Float32Array, orientations: tuple[int, ...], side: int) -> Float32Array:
    """Block means of the magnitude of every filter's response in the middle of each picture."""
    extended = images.shape[-1]
    first = (extended - side) // 2
    middle = slice(first, first + side)
    spectrum = fft.fft2(images)
    bank = gabor_bank(extended, orientations)
    out = np.empty((*images.shape[:2], len(bank), N_BLOCKS, N_BLOCKS), np.float32)
    averaging = np.repeat(np.eye(N_BLOCKS, dtype=np.float32), side // N_BLOCKS, axis=1)
    averaging *= np.float32(N_BLOCKS / side)
    for i, transfer in enumerate(bank):
        # Only the rows of the middle go through the second half of the transform.
        halfway = fft.ifft(spectrum * transfer, axis=-2, overwrite_x=True)[..., middle, :]
        response = np.abs(fft.ifft(halfway, axis=-1)[..., middle])
        out[:, :, i] = averaging @ (response @ averaging.T)
    return out


@cache
def gabor_bank(side: int, orientations: tuple[int, ...] = GRAY) -> list[Float32Array]:
    """Transfer functions of the filters: rings of frequency cut into sectors of orientation."""
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
    """Gaussian of 4 cycles a picture at half height, for the non-negative frequencies of rows."""
    frequency = fft.fftfreq(side, 1 / side)
    width = 16 / np.log(2)
    radius = frequency[:, None] ** 2 + fft.rfftfreq(side, 1 / side) ** 2
    gaussian: Float32Array = np.exp(-radius / width).astype(np.float32)
    return gaussian


def _filtered(images: Float32Array, transfer: Float32Array) -> Float32Array:
    real: Float32Array = fft.irfft2(fft.rfft2(images) * transfer, s=images.shape[-2:])
    return real


def _pad(images: Float32Array, by: int) -> Float32Array:
    return np.pad(images, ((0, 0), (0, 0), (by, by), (by, by)), mode="symmetric")
