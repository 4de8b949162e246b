"""CIFAR-10 as GIST descriptors."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitfold.datasets._base import Dataset, find, split
from bitfold.features import gist


def cifar10(n_queries: int = 1000, seed: int = 0) -> Dataset:
    """60,000 pictures of 10 kinds of things, as 512-dimensional grey GIST (Sec. 4 of the paper).

    ``cifar10/cifar10-jpeg.npz`` is looked for below the folder that ``BITFOLD_DATA`` names. The
    descriptors take minutes and are kept in the cache folder (``BITFOLD_CACHE``, by default
    ``~/.cache/bitfold``).

    Parameters
    ----------
    n_queries
        How many to set aside as queries.
    seed
        Seed of the split.
    """
    (path,) = find("cifar10", ["cifar10-jpeg.npz"])
    with np.load(path) as archive:
        data, offsets, labels = archive["data"], archive["offsets"], archive["labels"]
    return split(_cached_gist(data, offsets), labels, n_queries, seed)


def _cached_gist(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[Any]:
    cache = Path(os.environ.get("BITFOLD_CACHE", Path.home() / ".cache" / "bitfold"))
    kept = cache / "cifar10-gist.npy"
    if kept.is_file():
        return np.asarray(np.load(kept))
    features = gist(_grey_pictures(data, offsets))
    cache.mkdir(parents=True, exist_ok=True)
    unfinished = cache / f"cifar10-gist.{os.getpid()}.tmp.npy"
    np.save(unfinished, features)
    unfinished.replace(kept)
    return features


def _grey_pictures(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint8]:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError('CIFAR-10 needs Pillow: pip install "bitfold[images]".') from None
    pictures = np.empty((len(offsets) - 1, 32, 32), np.uint8)
    for i in range(len(pictures)):
        with Image.open(io.BytesIO(data[offsets[i] : offsets[i + 1]].tobytes())) as picture:
            pictures[i] = np.asarray(picture.convert("L"))
    return pictures
