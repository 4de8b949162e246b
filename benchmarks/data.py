"""Vectors that several groups measure with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from reproduction.data.sift_photos import load_sift_photos
from reproduction.data.text_set import load_text

import bitfold as bf
from bitfold import datasets
from bitfold.errors import MissingDataError


def load_mnist_vectors() -> NDArray[np.float32]:
    """Return 69,000 × 784 float32 values: MNIST if it is available, else noise."""
    try:
        return datasets.mnist().database.astype(np.float32) / np.float32(255)
    except MissingDataError:
        return np.random.default_rng(0).random((69000, 784), dtype=np.float32)


def load_sift_vectors() -> NDArray[np.uint8] | None:
    """Return a million SIFT descriptors of 128 bytes, or None if they are not available."""
    try:
        database: NDArray[np.uint8] = load_sift_photos(n_queries=1).database
        return database
    except MissingDataError:
        return None


def load_text_vectors() -> NDArray[np.float32] | None:
    """Return 58,979 sentence vectors of 256 numbers, or None if they are not available."""
    try:
        database: NDArray[np.float32] = load_text().database
        return database
    except MissingDataError:
        return None


def load_text_queries() -> NDArray[np.float32] | None:
    """Return 1,000 sentence vectors that are not in the database, or None if not available."""
    try:
        queries: NDArray[np.float32] = load_text().queries
        return queries
    except MissingDataError:
        return None


def make_random_codes(n: int, n_bits: int, seed: int) -> bf.Codes:
    """Return random codes, which are almost certainly distinct."""
    packed = np.random.default_rng(seed).integers(0, 256, (n, n_bits // 8), np.uint8)
    return bf.Codes(packed, n_bits)


def make_hasher(n_base_points: int | str = 400) -> bf.IMH:
    """Return IMH with 64 bits."""
    return bf.IMH(64, base=bf.KMeansBase(n_base_points), random_state=0)
