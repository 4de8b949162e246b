"""MNIST in its original idx files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitfold.datasets._base import Dataset, find, split


def mnist(n_queries: int = 1000, seed: int = 0) -> Dataset:
    """70,000 handwritten digits of 28 × 28 pixels, pooled and split as in the paper (Sec. 4).

    The files are looked for in ``mnist/`` below the folder that ``BITFOLD_DATA`` names.

    Parameters
    ----------
    n_queries
        How many to set aside as queries.
    seed
        Seed of the split.
    """
    names = [
        f"{part}-{kind}-ubyte.gz"
        for kind in ("images-idx3", "labels-idx1")
        for part in ("train", "t10k")
    ]
    *images, train_labels, test_labels = map(read_idx, find("mnist", names))
    X = np.concatenate(images).reshape(-1, 784)
    return split(X, np.concatenate([train_labels, test_labels]), n_queries, seed)


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read a gzipped idx file of bytes: a magic number, the sizes, the values."""
    content = gzip.decompress(path.read_bytes())
    n_dims = content[3] if len(content) > 4 and content[:3] == b"\x00\x00\x08" else 0
    start = 4 + 4 * n_dims
    shape = tuple(np.frombuffer(content[4:start], ">u4").astype(int)) if n_dims else ()
    if not n_dims or len(content) != start + np.prod(shape):
        raise ValueError(f"{path} must be an idx file of bytes, got something else.")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
