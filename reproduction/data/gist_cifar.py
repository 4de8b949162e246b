"""GIST-960-CIFAR: a stand-in for GIST1M, made of CIFAR-10."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bitfold.datasets import Dataset
from bitfold.errors import ParameterError
from bitfold.features import color_gist
from bitfold.features.gist import GIST_VERSION
from bitfold.io.cache import cache_rows, make_cache_folder
from reproduction.data.cifar10 import load_images, split_images
from reproduction.shared_types import Float32Array, Int64Array, ProgressCallback, UInt8Array

SIDE = 32
PATCH_SIDE = 24
N_POSITIONS = (SIDE - PATCH_SIDE + 1) ** 2
"""Positions of a patch in an image."""

N_VIEWS = 1 + 2 * N_POSITIONS
"""Views of an image: the whole image, its patches, and the mirrored patches."""

_NAME = "GIST-960-CIFAR"
_ROWS_PER_BLOCK = 2048


def load_gist_cifar(
    n_rows: int = 1_000_000,
    n_queries: int = 1000,
    seed: int = 0,
    *,
    progress: ProgressCallback | None = None,
) -> Dataset:
    """Load GIST-960-CIFAR: color GIST of the images and of patches of them.

    A stand-in for GIST1M, never to be reported as GIST1M. The rows are the images and patches of
    24 × 24 pixels at distinct positions, mirrored or not, in random order. Queries are images that
    are not in the database, so that no query finds a patch of itself. A million rows take 3.8 GB in
    the cache folder and about nine minutes on two cores, once. A label is that of the image.

    Parameters
    ----------
    n_rows
        Rows of the database, at least one per image.
    n_queries
        Images that are used as queries.
    seed
        Seed of the patches, the order and the split.
    progress
        Called with (stage, done, total).
    """
    images, labels, digest = load_images(progress)
    views = draw_views(len(images), n_rows, n_queries, seed)
    name = f"patches-{n_rows}-{n_queries}-{seed}-v{GIST_VERSION}-{digest}.npy"
    X = cache_rows(
        make_cache_folder("cifar10") / name,
        (len(views.image), 960),
        np.float32,
        lambda rows: _describe_views(images, views.image[rows], views.view[rows]),
        step=_ROWS_PER_BLOCK,
        stage="GIST",
        progress=progress,
    )
    y = labels[views.image]
    return Dataset(X[n_queries:], X[:n_queries], y[n_queries:], y[:n_queries], _NAME)


class Views(NamedTuple):
    """Image and view of each row; view 0 is the whole image, the others are patches."""

    image: Int64Array
    view: Int64Array


def draw_views(n_images: int, n_rows: int, n_queries: int, seed: int) -> Views:
    """Draw the queries, which are whole images; then views of other images in random order."""
    n_left = n_images - n_queries
    if not n_left <= n_rows <= n_left * N_VIEWS:
        requirement = f"from {n_left} to {n_left * N_VIEWS}, the views of {n_left} images"
        raise ParameterError("n_rows", "load_gist_cifar", requirement, n_rows)
    rng = np.random.default_rng(seed)
    order = rng.permutation(n_images)
    patches = rng.choice(n_left * (N_VIEWS - 1), n_rows - n_left, replace=False)
    numbers = rng.permutation(np.concatenate([np.arange(n_left), n_left + patches]))
    return Views(
        np.concatenate([order[:n_queries], order[n_queries:][numbers % n_left]]),
        np.concatenate([np.zeros(n_queries, np.int64), numbers // n_left]),
    )


def cut_patches(images: UInt8Array, numbers: Int64Array) -> UInt8Array:
    """Cut one patch out of each image; its number gives the position and the mirroring."""
    mirrored, position = np.divmod(numbers, N_POSITIONS)
    y, x = np.divmod(position, SIDE - PATCH_SIDE + 1)
    steps = np.arange(PATCH_SIDE)
    columns = np.where(mirrored[:, None] == 1, steps[::-1], steps) + x[:, None]
    each = np.arange(len(images))[:, None, None]
    patches: UInt8Array = images[each, (y[:, None] + steps)[:, :, None], columns[:, None, :]]
    return patches


def _describe_views(images: UInt8Array, image: Int64Array, view: Int64Array) -> Float32Array:
    out = np.empty((len(image), 960), np.float32)
    whole = view == 0
    out[whole] = color_gist(images[image[whole]])
    out[~whole] = color_gist(cut_patches(images[image[~whole]], view[~whole] - 1))
    return out


def load_few_images(n_rows: int, n_queries: int) -> Dataset:
    """Return the color GIST of a few whole images, which takes seconds instead of minutes."""
    images = split_images(n_queries)
    return Dataset(color_gist(images.database[:n_rows]), color_gist(images.queries), name=_NAME)
