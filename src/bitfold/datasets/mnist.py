"""MNIST in its original idx files."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from bitfold._types import ProgressCallback, UInt8Array
from bitfold.datasets.dataset import Dataset, split_dataset
from bitfold.errors import FormatError
from bitfold.io.download import RemoteFile, find_or_download
from bitfold.io.formats.request import translate_errors

_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_SHA256 = {
    "train-images-idx3": "71524e2cd1ad2968737f7f2f2ff69cbfc32df8ccddff51593f7cb2d4e0eb5b64",
    "t10k-images-idx3": "5634745efa576a17e7d4cf5cd9d09123c75e6538e5114267c2d156edaf519341",
    "train-labels-idx1": "fe03b8bd7915f70bf5aa08be480aa413fbd85afcaa58b35d230d335f284fd88e",
    "t10k-labels-idx1": "ae18e77e031ccde52407f794d123116439864147d33ac992975f85dd4dc42af6",
}
FILES = [RemoteFile(f"{_URL}{name}-ubyte.gz", sha256) for name, sha256 in _SHA256.items()]
"""Images, then labels, each with the training part first."""


def mnist(
    n_queries: int = 1000,
    seed: int = 0,
    *,
    download: bool = True,
    progress: ProgressCallback | None = None,
) -> Dataset:
    """Load 70,000 handwritten digits of 28 × 28 pixels, split as in the paper (Sec. IV).

    Training and test images are pooled. The four files are read from the folder ``mnist`` in
    ``BITFOLD_DATA`` or in the cache, and downloaded into the cache if they are in neither.

    Parameters
    ----------
    n_queries
        Number of queries, chosen at random.
    seed
        Seed of the split.
    download
        Whether to download missing files.
    progress
        Called with (file name, bytes done, all bytes).

    Returns
    -------
    The data set, with labels.

    Raises
    ------
    FormatError
        If a file is damaged.
    MissingDataError
        If a file is missing and cannot, or may not, be downloaded.
    ParameterError
        If there are not fewer queries than images.

    Examples
    --------
    >>> mnist()  # doctest: +SKIP
    Dataset(MNIST: 69000 x 784, 1000 queries)
    """
    images, labels = load_mnist_images(download=download, progress=progress)
    return split_dataset(images.reshape(len(images), -1), labels, n_queries, seed, "MNIST")


def load_mnist_images(
    *, download: bool = True, progress: ProgressCallback | None = None
) -> tuple[UInt8Array, UInt8Array]:
    """Return all images (70000, 28, 28) and labels, the training part first."""
    paths = [
        find_or_download("mnist", file, download=download, progress=progress) for file in FILES
    ]
    train, test, train_labels, test_labels = map(read_idx, paths)
    return np.concatenate([train, test]), np.concatenate([train_labels, test_labels])


def read_idx(path: Path) -> UInt8Array:
    """Read a gzipped idx file of bytes: a magic number, the sizes, the values."""
    expected = "a gzipped idx file of bytes"
    with translate_errors(path, expected, OSError, EOFError, zlib.error):
        content = gzip.decompress(path.read_bytes())
    n_dims = content[3] if len(content) > 4 and content[:3] == b"\x00\x00\x08" else 0
    start = 4 + 4 * n_dims
    # Python integers: a product that overflows could happen to match.
    shape = tuple(np.frombuffer(content[4:start], ">u4").tolist()) if len(content) >= start else ()
    if not n_dims or len(shape) != n_dims or len(content) != start + math.prod(shape):
        raise FormatError(f"{path} is not a valid file: expected {expected}.")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
