"""Data sets built from images and their labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray, Float32Array, ProgressCallback, UInt8Array
from bitfold.datasets.dataset import Dataset, split_dataset
from bitfold.features import color_gist, gist, to_gray
from bitfold.features.gist import GIST_VERSION
from bitfold.io.cache import cache_rows, hash_arrays, make_cache_folder

_IMAGES_PER_BLOCK = 2048

_DESCRIPTORS: dict[str, tuple[Callable[[UInt8Array], Float32Array], int]] = {
    "gist512": (lambda images: gist(to_gray(images)), 512),
    "gist960": (color_gist, 960),
}
"""Functions of color images, and the number of features that they return."""


def image_dataset(
    images: UInt8Array,
    labels: AnyArray,
    n_queries: int,
    seed: int = 0,
    *,
    features: str = "gist512",
    name: str = "images",
    progress: ProgressCallback | None = None,
) -> Dataset:
    """Build a data set from color images and their labels.

    Descriptors are computed once and kept in the cache folder, named by the content of the images.

    Parameters
    ----------
    images
        Bytes (n, side, side, 3).
    labels
        One label per image.
    n_queries
        Number of queries, chosen at random.
    seed
        Seed of the split.
    features
        ``"gist512"`` (gray), ``"gist960"`` (color), or ``"pixels"`` (the colors of each pixel
        together).
    name
        Name of the data set; that of the features is appended.
    progress
        Called with (stage, done, total).

    Returns
    -------
    The data set.

    Raises
    ------
    ParameterError
        If ``features`` is unknown, the images have the wrong shape, or there are not fewer queries
        than images.

    Examples
    --------
    >>> images = np.zeros((5, 8, 8, 3), np.uint8)
    >>> image_dataset(images, np.arange(5), 2, features="pixels")
    Dataset(images pixels: 3 x 192, 2 queries)
    """
    choices = (*_DESCRIPTORS, "pixels")
    _validation.check_choice(features, "features", "image_dataset", choices)
    if features == "pixels":
        X: AnyArray = images.reshape(len(images), -1)
    else:
        X = _describe_images(images, features, progress)
    return split_dataset(X, labels, n_queries, seed, f"{name} {features}")


def _describe_images(
    images: UInt8Array, features: str, progress: ProgressCallback | None
) -> Float32Array:
    """Return the descriptors of all images, in their order, from the cache if possible."""
    describe, n_features = _DESCRIPTORS[features]
    key = f"{features}-v{GIST_VERSION}-{hash_arrays(images)}"
    return cache_rows(
        make_cache_folder("features") / f"{key}.npy",
        (len(images), n_features),
        np.float32,
        lambda rows: describe(images[rows]),
        step=_IMAGES_PER_BLOCK,
        stage="GIST",
        progress=progress,
    )
