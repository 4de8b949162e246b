"""CIFAR-10, from the copy of the authors of this reproduction if it is there, else the original."""

from __future__ import annotations

from typing import NamedTuple

from bitfold import datasets
from bitfold.datasets import Dataset, ImageSplit
from bitfold.datasets.cifar10 import load_cifar10_images
from bitfold.io.cache import hash_arrays, hash_files
from reproduction.data.cifar10_jpeg import find_jpeg_copy, read_jpeg_copy
from reproduction.shared_types import ProgressCallback, UInt8Array


class LabeledImages(NamedTuple):
    """Images (n, 32, 32, 3), their labels, and a digest of the content."""

    images: UInt8Array
    labels: UInt8Array
    digest: str


def load_images(progress: ProgressCallback | None = None) -> LabeledImages:
    """Return all 60,000 images."""
    path = find_jpeg_copy()
    if path is not None:
        digest = hash_files([path])
        return LabeledImages(*read_jpeg_copy(path, digest), digest)
    images, labels = load_cifar10_images(progress=progress)
    return LabeledImages(images, labels, hash_arrays(images)[:16])


def load_cifar10(
    n_queries: int = 1000,
    seed: int = 0,
    *,
    features: str = "gist512",
    progress: ProgressCallback | None = None,
) -> Dataset:
    """Return the images as ``"gist512"``, ``"gist960"`` or ``"pixels"``, with their labels."""
    images, labels, _ = load_images(progress)
    return datasets.image_dataset(
        images, labels, n_queries, seed, features=features, name="CIFAR-10", progress=progress
    )


def split_images(n_queries: int = 1000, seed: int = 0) -> ImageSplit:
    """Return the images in the order of the rows of :func:`load_cifar10`."""
    images = load_images().images
    database, queries = datasets.draw_queries(len(images), n_queries, seed, "split_images")
    return ImageSplit(images[database], images[queries])
