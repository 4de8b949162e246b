"""The pictures behind the vectors, for figures of what was found."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._types import UInt8Array
from bitfold.datasets import _cifar_images
from bitfold.datasets._base import drawn
from bitfold.datasets.digits import album as digits_album
from bitfold.datasets.mnist import album as mnist_album


class Pictures(NamedTuple):
    """Pictures in the order of a data set's rows: gray (n, side, side) or color (..., 3)."""

    database: UInt8Array
    queries: UInt8Array


def pictures(name: str, n_queries: int | None = None, seed: int = 0) -> Pictures:
    """Return the pictures of a data set in the order of its split.

    Picture i of the database is row i of ``datasets.mnist(n_queries, seed).database``, and so on.

    Parameters
    ----------
    name
        ``"cifar10"``, ``"digits"`` or ``"mnist"``.
    n_queries, seed
        What the data set was loaded with; None is its default.

    Examples
    --------
    >>> pictures("digits").queries.shape
    (300, 8, 8)
    """
    _validation.check_choice(name, "name", "pictures", tuple(_ALBUMS))
    load, by_default = _ALBUMS[name]
    images = load()
    database, queries = drawn(len(images), n_queries or by_default, seed, "pictures")
    return Pictures(images[database], images[queries])


def _digits_as_bytes() -> UInt8Array:
    # From 0 to 16 they are; bytes go to 255.
    return np.round(digits_album()[0] * (255 / 16)).astype(np.uint8)


_ALBUMS: dict[str, tuple[Callable[[], UInt8Array], int]] = {
    "cifar10": (lambda: _cifar_images.album().pictures, 1000),
    "digits": (_digits_as_bytes, 300),
    "mnist": (lambda: mnist_album()[0], 1000),
}
