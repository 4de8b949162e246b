"""CIFAR-10 as GIST descriptors or pixels, and a stand-in for GIST1M made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._progress import show_progress
from bitfold._types import AnyArray, Float32Array, Int64Array, ProgressCallback, UInt8Array
from bitfold.datasets._base import Dataset, split
from bitfold.datasets._cifar_images import SIDE, Album, album
from bitfold.features import color_gist, gist
from bitfold.features.gist import VERSION
from bitfold.io import cache

_ROWS = 2048
_PATCH = 24
"""Side of a patch."""

_N_PLACES = (SIDE - _PATCH + 1) ** 2
_N_VIEWS = 1 + 2 * _N_PLACES
"""A picture, and its patches with their mirror images."""


def cifar10(
    n_queries: int = 1000,
    seed: int = 0,
    *,
    features: str = "gist512",
    download: bool = True,
    progress: ProgressCallback | None = None,
) -> Dataset:
    """60,000 pictures of 10 kinds of things, by default as gray GIST (Sec. 4 of the paper).

    Looked for in ``cifar10/`` below the folder that ``BITFOLD_DATA`` names and in the cache folder
    (``BITFOLD_CACHE``, by default ``~/.cache/bitfold``): ``cifar10-jpeg.npz``, a copy as JPEG
    pictures; the original binary or Python version, as a folder (``cifar-10-batches-bin`` or
    ``-py``) or as the archive it comes in. Otherwise the binary version is downloaded. Descriptors
    take a minute or two and are kept in the cache folder. The copy has its pictures in another
    order than the original, so that the same seed draws other queries.

    Parameters
    ----------
    n_queries
        How many to set aside as queries.
    seed
        Seed of the split.
    features
        ``"gist512"``, gray; ``"gist960"``, color; or ``"pixels"``, 3,072 bytes, color by pixel.
    download
        Whether to download what is missing; ``BITFOLD_OFFLINE=1`` forbids it everywhere.
    progress
        Called with (stage, done, total) as the work goes on; None shows a bar on a terminal.
    """
    _validation.check_choice(features, "features", "cifar10", ("gist512", "gist960", "pixels"))
    found = album(download=download, progress=progress)
    if features == "pixels":
        X: AnyArray = found.pictures.reshape(len(found.pictures), -1)
    else:
        X = descriptors(found, features, progress)
    return split(X, found.labels, n_queries, seed, f"CIFAR-10 {features}")


def descriptors(found: Album, features: str, progress: ProgressCallback | None) -> Float32Array:
    """Return the GIST of all pictures in their order, mapped into memory from the cache."""
    describe, width = _DESCRIPTORS[features]
    name = f"{features}-v{VERSION}-{found.digest}"
    shape = (len(found.pictures), width)
    return _kept(name, shape, lambda rows: describe(found.pictures[rows]), progress)


def cifar10_patches(
    n_rows: int = 1_000_000,
    n_queries: int = 1000,
    seed: int = 0,
    *,
    download: bool = True,
    progress: ProgressCallback | None = None,
) -> Dataset:
    """GIST-960-CIFAR: color GIST of CIFAR-10's pictures and of patches of them.

    A stand-in for GIST1M where that is not at hand; never to be reported as GIST1M. The rows are
    the pictures and then patches of 24 × 24 pixels, mirrored or not, all of different places, in
    random order. Queries are of other pictures than the database, so that none has a patch of
    itself to find. Computed once, block by block, and mapped into memory from the cache folder: a
    million rows are 3.8 GB there, and some nine minutes of two cores. A label is the kind of thing
    in the picture; without labels, as GIST1M has none, the truth is :meth:`Dataset.closest`.

    Parameters
    ----------
    n_rows
        How many rows the database has, at least one a picture.
    n_queries
        How many pictures to set aside as queries.
    seed
        Seed of the patches, the order and the split.
    download
        Whether to download CIFAR-10; ``BITFOLD_OFFLINE=1`` forbids it everywhere.
    progress
        Called with (stage, done, total) as the work goes on; None shows a bar on a terminal.
    """
    found = album(download=download, progress=progress)
    views = drawn_views(len(found.pictures), n_rows, n_queries, seed)
    name = f"patches-{n_rows}-{n_queries}-{seed}-v{VERSION}-{found.digest}"
    shape = (len(views.picture), 960)
    X = _kept(name, shape, lambda rows: _describe_views(found.pictures, views, rows), progress)
    labels = found.labels[views.picture]
    return Dataset(
        X[n_queries:], X[:n_queries], labels[n_queries:], labels[:n_queries], "GIST-960-CIFAR"
    )


class Views(NamedTuple):
    """What each row shows: which picture, and how; 0 is the whole of it, the rest patches."""

    picture: Int64Array
    view: Int64Array


def drawn_views(n_pictures: int, n_rows: int, n_queries: int, seed: int) -> Views:
    """Draw the queries, whole pictures; then views of the other pictures, in random order."""
    _validation.check_integer(n_queries, "n_queries", "cifar10_patches", low=1, high=n_pictures - 1)
    left = n_pictures - n_queries
    most = f"{_N_VIEWS} views of each of {left} pictures"
    _validation.check_integer(
        n_rows, "n_rows", "cifar10_patches", low=left, high=left * _N_VIEWS, why=most
    )
    _validation.check_integer(seed, "seed", "cifar10_patches", low=0)
    rng = np.random.default_rng(seed)
    order = rng.permutation(n_pictures)
    patches = rng.choice(left * (_N_VIEWS - 1), n_rows - left, replace=False)
    numbers = rng.permutation(np.concatenate([np.arange(left), left + patches]))
    return Views(
        np.concatenate([order[:n_queries], order[n_queries:][numbers % left]]),
        np.concatenate([np.zeros(n_queries, np.int64), numbers // left]),
    )


def _describe_views(pictures: UInt8Array, views: Views, rows: slice) -> Float32Array:
    picture, view = views.picture[rows], views.view[rows]
    out = np.empty((len(picture), 960), np.float32)
    whole = view == 0
    out[whole] = color_gist(pictures[picture[whole]])
    out[~whole] = color_gist(patches(pictures[picture[~whole]], view[~whole] - 1))
    return out


def patches(pictures: UInt8Array, numbers: Int64Array) -> UInt8Array:
    """Cut a patch out of each picture, by its number: the place, then mirrored or not."""
    mirrored, place = np.divmod(numbers, _N_PLACES)
    y, x = np.divmod(place, SIDE - _PATCH + 1)
    steps = np.arange(_PATCH)
    columns = np.where(mirrored[:, None] == 1, steps[::-1], steps) + x[:, None]
    each = np.arange(len(pictures))[:, None, None]
    cut: UInt8Array = pictures[each, (y[:, None] + steps)[:, :, None], columns[:, None, :]]
    return cut


def _kept(
    name: str,
    shape: tuple[int, int],
    make: Callable[[slice], Float32Array],
    progress: ProgressCallback | None,
) -> Float32Array:
    with show_progress(progress) as report:
        return cache.kept_rows(
            cache.folder("cifar10") / f"{name}.npy",
            shape,
            np.float32,
            make,
            step=_ROWS,
            report=lambda done, total: report("GIST", done, total),
        )


def _gray(pictures: UInt8Array) -> UInt8Array:
    """Lightness by ITU-R 601, in the whole numbers in which Pillow counts."""
    red, green, blue = np.moveaxis(pictures.astype(np.uint32), 3, 0)
    gray: UInt8Array = ((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16).astype(np.uint8)
    return gray


_DESCRIPTORS: dict[str, tuple[Callable[[UInt8Array], Float32Array], int]] = {
    "gist512": (lambda pictures: gist(_gray(pictures)), 512),
    "gist960": (color_gist, 960),
}
