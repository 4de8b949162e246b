"""The images of a data set, in the order of its rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._types import UInt8Array
from bitfold.datasets.cifar10 import load_cifar10_images
from bitfold.datasets.dataset import draw_queries
from bitfold.datasets.digits import load_digit_images
from bitfold.datasets.mnist import load_mnist_images


class ImageSplit(NamedTuple):
    """Images in the order of a data set's rows: gray (n, side, side) or color (..., 3).

    Examples
    --------
    >>> database, queries = images("digits")
    >>> database.shape
    (1497, 8, 8)
    """

    database: UInt8Array
    queries: UInt8Array


def images(name: str, n_queries: int | None = None, seed: int = 0) -> ImageSplit:
    """Load the images of a data set in the order of its rows.

    Image i of the database is row i of ``datasets.mnist(n_queries, seed).database``, and so on.

    Parameters
    ----------
    name
        ``"cifar10"``, ``"digits"`` or ``"mnist"``.
    n_queries, seed
        The arguments with which the data set was loaded; None is its default.

    Returns
    -------
    The images of the database and of the queries, as bytes.

    Raises
    ------
    MissingDataError
        If the files are missing and cannot, or may not, be downloaded.
    ParameterError
        If the name is unknown, or there are not fewer queries than images.

    Examples
    --------
    >>> images("digits").queries.shape
    (300, 8, 8)
    """
    _validation.check_choice(name, "name", "images", tuple(_LOADERS))
    load, default_n_queries = _LOADERS[name]
    found = load()
    database, queries = draw_queries(len(found), n_queries or default_n_queries, seed, "images")
    return ImageSplit(found[database], found[queries])


def _digits_as_bytes() -> UInt8Array:
    """Return the digits rescaled from 0..16 to 0..255."""
    return np.round(load_digit_images()[0] * (255 / 16)).astype(np.uint8)


_LOADERS: dict[str, tuple[Callable[[], UInt8Array], int]] = {
    "cifar10": (lambda: load_cifar10_images()[0], 1000),
    "digits": (_digits_as_bytes, 300),
    "mnist": (lambda: load_mnist_images()[0], 1000),
}
"""Functions that load all images, and the default number of queries."""
