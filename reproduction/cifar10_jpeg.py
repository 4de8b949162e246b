"""CIFAR-10 from a copy in which the images are stored as JPEG, and a stand-in for GIST1M.

The copy, ``cifar10/cifar10-jpeg.npz`` in ``BITFOLD_DATA``, has the images in another order than the
original that ``bitfold.datasets.cifar10`` downloads, so that the same seed draws other queries.
"""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from bitfold.datasets import Dataset, ImageSplit, draw_queries, image_dataset
from bitfold.errors import FormatError, ParameterError
from bitfold.features import color_gist
from bitfold.features.gist import GIST_VERSION
from bitfold.io.cache import cache_rows, hash_files, make_cache_folder
from bitfold.io.download import find_file, missing_error
from bitfold.io.formats.request import translate_errors

FILE = "cifar10-jpeg.npz"
SIDE = 32
PATCH_SIDE = 24
N_POSITIONS = (SIDE - PATCH_SIDE + 1) ** 2
"""Positions of a patch in an image."""

N_VIEWS = 1 + 2 * N_POSITIONS
"""Views of an image: the whole image, its patches, and the mirrored patches."""

_ROWS_PER_BLOCK = 2048


class JpegImages(NamedTuple):
    """Images (n, 32, 32, 3), their labels, and a digest of the file."""

    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    digest: str


def load_jpeg_images() -> JpegImages:
    """Load all 60,000 images; they are decoded once and kept in the cache folder."""
    path = find_file(["cifar10", ""], [FILE])
    if path is None:
        raise missing_error("cifar10", FILE)
    digest = hash_files([path])
    with translate_errors(path, "an archive of JPEG images"):
        with np.load(path, allow_pickle=False) as archive:
            data, offsets, labels = (archive[key] for key in ("data", "offsets", "labels"))
        if len(offsets) != len(labels) + 1:
            raise FormatError(f"{path} has {len(offsets) - 1} images, but {len(labels)} labels.")
        images = cache_rows(
            make_cache_folder("cifar10") / f"jpeg-{digest}.npy",
            (len(labels), SIDE, SIDE, 3),
            np.uint8,
            lambda rows: _decode_images(data, offsets[rows.start : rows.stop + 1]),
            step=_ROWS_PER_BLOCK,
            stage="JPEG",
        )
    return JpegImages(images, np.asarray(labels, np.uint8), digest)


def load_cifar10_jpeg(
    n_queries: int = 1000, seed: int = 0, *, features: str = "gist512", progress: Any = None
) -> Dataset:
    """Load the images as ``"gist512"``, ``"gist960"`` or ``"pixels"``, with their labels."""
    images, labels, _ = load_jpeg_images()
    return image_dataset(
        images, labels, n_queries, seed, features=features, name="CIFAR-10", progress=progress
    )


def split_jpeg_images(n_queries: int = 1000, seed: int = 0) -> ImageSplit:
    """Return the images in the order of the rows of :func:`load_cifar10_jpeg`."""
    images = load_jpeg_images().images
    database, queries = draw_queries(len(images), n_queries, seed, "split_jpeg_images")
    return ImageSplit(images[database], images[queries])


def load_cifar10_patches(
    n_rows: int = 1_000_000, n_queries: int = 1000, seed: int = 0, *, progress: Any = None
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
    images, labels, digest = load_jpeg_images()
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
    return Dataset(X[n_queries:], X[:n_queries], y[n_queries:], y[:n_queries], "GIST-960-CIFAR")


class Views(NamedTuple):
    """Image and view of each row; view 0 is the whole image, the others are patches."""

    image: NDArray[np.int64]
    view: NDArray[np.int64]


def draw_views(n_images: int, n_rows: int, n_queries: int, seed: int) -> Views:
    """Draw the queries, which are whole images; then views of other images in random order."""
    n_left = n_images - n_queries
    if not n_left <= n_rows <= n_left * N_VIEWS:
        requirement = f"from {n_left} to {n_left * N_VIEWS}, the views of {n_left} images"
        raise ParameterError("n_rows", "load_cifar10_patches", requirement, n_rows)
    rng = np.random.default_rng(seed)
    order = rng.permutation(n_images)
    patches = rng.choice(n_left * (N_VIEWS - 1), n_rows - n_left, replace=False)
    numbers = rng.permutation(np.concatenate([np.arange(n_left), n_left + patches]))
    return Views(
        np.concatenate([order[:n_queries], order[n_queries:][numbers % n_left]]),
        np.concatenate([np.zeros(n_queries, np.int64), numbers // n_left]),
    )


def cut_patches(images: NDArray[np.uint8], numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Cut one patch out of each image; its number gives the position and the mirroring."""
    mirrored, position = np.divmod(numbers, N_POSITIONS)
    y, x = np.divmod(position, SIDE - PATCH_SIDE + 1)
    steps = np.arange(PATCH_SIDE)
    columns = np.where(mirrored[:, None] == 1, steps[::-1], steps) + x[:, None]
    each = np.arange(len(images))[:, None, None]
    patches: NDArray[np.uint8] = images[each, (y[:, None] + steps)[:, :, None], columns[:, None, :]]
    return patches


def _describe_views(
    images: NDArray[np.uint8], image: NDArray[np.int64], view: NDArray[np.int64]
) -> NDArray[np.float32]:
    out = np.empty((len(image), 960), np.float32)
    whole = view == 0
    out[whole] = color_gist(images[image[whole]])
    out[~whole] = color_gist(cut_patches(images[image[~whole]], view[~whole] - 1))
    return out


def _decode_images(data: NDArray[np.uint8], offsets: NDArray[Any]) -> NDArray[np.uint8]:
    """Decode the JPEG images between consecutive offsets."""
    pairs = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    return np.array([_decode_image(data[start:stop].tobytes()) for start, stop in pairs])


def _decode_image(content: bytes) -> NDArray[np.uint8]:
    with Image.open(io.BytesIO(content), formats=["JPEG"]) as image:
        # Checked before decoding: a header may announce any size.
        if image.size != (SIDE, SIDE):
            raise ValueError(f"an image of size {image.size}")
        return np.asarray(image.convert("RGB"))


def has_jpeg_copy() -> bool:
    """Return whether the copy is available."""
    return find_file(["cifar10", ""], [FILE]) is not None
