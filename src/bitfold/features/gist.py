"""GIST: the shape of a scene in 512 numbers (Oliva and Torralba, 2001).

A bank of Gabor filters, 4 scales of 8 orientations, is applied in the frequency domain to the
contrast-normalised grey picture; the magnitude of each response is averaged over 4 × 4 blocks.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from bitfold import _checks
from bitfold._kernels.threads import n_threads

FloatArray = NDArray[np.float32]

N_SCALES, N_ORIENTATIONS, N_BLOCKS = 4, 8, 4
_BATCH = 512


def gist(images: NDArray[Any]) -> FloatArray:
    """Describe square grey pictures.

    Parameters
    ----------
    images
        (n, side, side), values from 0 to 255; the side a multiple of 4.

    Returns
    -------
    (n, 512): filter by filter, the 4 × 4 block means of its response.
    """
    images = np.asarray(images)
    if images.ndim != 3 or images.shape[1] != images.shape[2] or images.shape[1] % N_BLOCKS:
        demand = "grey pictures (n, side, side), the side a multiple of 4"
        _checks.refuse("images", "gist", demand, f"shape {images.shape}")
    out = np.empty((len(images), N_SCALES * N_ORIENTATIONS * N_BLOCKS**2), np.float32)
    for start in range(0, len(images), _BATCH):
        normalised = _normalise_contrast(images[start : start + _BATCH].astype(np.float32))
        out[start : start + _BATCH] = _responses(normalised)
    return out


def _normalise_contrast(images: FloatArray) -> FloatArray:
    """Whiten the spectrum and divide by the local contrast."""
    pad = 5
    padded = _pad(np.log1p(images), pad)
    low_pass = _low_pass(padded.shape[1])
    detail = padded - _filtered(padded, low_pass)
    contrast = np.sqrt(np.abs(_filtered(detail * detail, low_pass)))
    normalised: FloatArray = np.divide(detail, contrast + np.float32(0.2), dtype=np.float32)
    return normalised[:, pad:-pad, pad:-pad]


def _responses(images: FloatArray) -> FloatArray:
    """Block means of the magnitude of every filter's response."""
    side = images.shape[1]
    pad = side // 2
    spectrum = fft.fft2(_pad(images, pad), workers=n_threads())
    blocks = side // N_BLOCKS
    out = []
    for transfer in gabor_bank(side + 2 * pad):
        response = np.abs(fft.ifft2(spectrum * transfer, workers=n_threads(), overwrite_x=True))
        inner = response[:, pad:-pad, pad:-pad]
        cells = inner.reshape(len(images), N_BLOCKS, blocks, N_BLOCKS, blocks)
        out.append(cells.mean(axis=(2, 4)).reshape(len(images), -1))
    return np.concatenate(out, axis=1).astype(np.float32)


@cache
def gabor_bank(side: int) -> list[FloatArray]:
    """Transfer functions of the filters: rings of frequency cut into sectors of orientation."""
    frequency = fft.fftfreq(side, 1 / side)
    radius = np.hypot(frequency[:, None], frequency[None, :]) / side
    angle = np.arctan2(frequency[:, None], frequency[None, :])
    bank = []
    for scale in range(N_SCALES):
        ring = -3.5 * (radius / (0.3 / 1.85**scale) - 1) ** 2
        for orientation in range(N_ORIENTATIONS):
            turned = angle + np.pi / N_ORIENTATIONS * orientation
            turned = (turned + np.pi) % (2 * np.pi) - np.pi
            width = 2 * np.pi * 16 * N_ORIENTATIONS**2 / 32**2
            bank.append(np.exp(ring - width * turned**2).astype(np.float32))
    return bank


@cache
def _low_pass(side: int) -> FloatArray:
    """Gaussian of 4 cycles a picture at half height."""
    frequency = fft.fftfreq(side, 1 / side)
    width = 16 / np.log(2)
    radius = frequency[:, None] ** 2 + frequency[None, :] ** 2
    gaussian: FloatArray = np.exp(-radius / width).astype(np.float32)
    return gaussian


def _filtered(images: FloatArray, transfer: FloatArray) -> FloatArray:
    spectrum = fft.fft2(images, workers=n_threads())
    real: FloatArray = fft.ifft2(spectrum * transfer, workers=n_threads()).real
    return real


def _pad(images: FloatArray, by: int) -> FloatArray:
    return np.pad(images, ((0, 0), (by, by), (by, by)), mode="symmetric")
