"""MNIST in its original idx files."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from bitfold._types import ProgressCallback, UInt8Array
from bitfold.datasets._base import Dataset, split
from bitfold.errors import FormatError
from bitfold.io.data_files import located
from bitfold.io.download import Remote
from bitfold.io.formats.errors import read_as

_PLACE = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_SHA256 = {
    "train-images-idx3": "71524e2cd1ad2968737f7f2f2ff69cbfc32df8ccddff51593f7cb2d4e0eb5b64",
    "t10k-images-idx3": "5634745efa576a17e7d4cf5cd9d09123c75e6538e5114267c2d156edaf519341",
    "train-labels-idx1": "fe03b8bd7915f70bf5aa08be480aa413fbd85afcaa58b35d230d335f284fd88e",
    "t10k-labels-idx1": "ae18e77e031ccde52407f794d123116439864147d33ac992975f85dd4dc42af6",
}
FILES = [Remote(f"{_PLACE}{name}-ubyte.gz", sha256) for name, sha256 in _SHA256.items()]
"""Pictures and labels, of each the training part first."""


def mnist(
    n_queries: int = 1000,
    seed: int = 0,
    *,
    download: bool = True,
    progress: ProgressCallback | None = None,
) -> Dataset:
    """70,000 handwritten digits of 28 × 28 pixels, pooled and split as in the paper (Sec. 4).

    The four files are looked for in ``mnist/`` below the folder that ``BITFOLD_DATA`` names, then
    in the cache folder (``BITFOLD_CACHE``, by default ``~/.cache/bitfold``), into which they are
    downloaded otherwise.

    Parameters
    ----------
    n_queries
        How many to set aside as queries.
    seed
        Seed of the split.
    download
        Whether to download files that are missing; ``BITFOLD_OFFLINE=1`` forbids it everywhere.
    progress
        Called with (file, bytes done, bytes in all); None shows a bar on a terminal.
    """
    images, labels = album(download=download, progress=progress)
    return split(images.reshape(len(images), -1), labels, n_queries, seed, "MNIST")


def album(
    *, download: bool = True, progress: ProgressCallback | None = None
) -> tuple[UInt8Array, UInt8Array]:
    """Return all pictures (70000, 28, 28) and labels, training part first."""
    paths = [located("mnist", file, download=download, progress=progress) for file in FILES]
    train, test, train_labels, test_labels = map(read_idx, paths)
    return np.concatenate([train, test]), np.concatenate([train_labels, test_labels])


def read_idx(path: Path) -> UInt8Array:
    """Read a gzipped idx file of bytes: a magic number, the sizes, the values."""
    with read_as("an idx file of bytes, gzipped", path, OSError, EOFError, zlib.error):
        content = gzip.decompress(path.read_bytes())
    n_dims = content[3] if len(content) > 4 and content[:3] == b"\x00\x00\x08" else 0
    start = 4 + 4 * n_dims
    # As integers of Python, whose product cannot overflow to a size that happens to fit.
    shape = tuple(np.frombuffer(content[4:start], ">u4").tolist()) if len(content) >= start else ()
    if not n_dims or len(shape) != n_dims or len(content) != start + math.prod(shape):
        raise FormatError(f"{path} must be an idx file of bytes, got something else.")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
