"""CIFAR-10: images of 10 kinds of objects, as GIST descriptors or pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bitfold._types import ProgressCallback, UInt8Array
from bitfold.datasets.dataset import Dataset
from bitfold.datasets.image_dataset import image_dataset
from bitfold.errors import FormatError
from bitfold.io.archive import extract_files
from bitfold.io.cache import make_cache_folder
from bitfold.io.download import RemoteFile, download_file, find_file, find_folder

_SIDE = 32
_ROW_BYTES = 1 + 3 * _SIDE**2
_N_CLASSES = 10
_FOLDER = "cifar-10-batches-bin"
_BATCHES = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]
_ARCHIVE = RemoteFile(
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)


def cifar10(
    n_queries: int = 1000,
    seed: int = 0,
    *,
    features: str = "gist512",
    download: bool = True,
    progress: ProgressCallback | None = None,
) -> Dataset:
    """Load 60,000 images of 10 kinds of objects, by default as gray GIST (Sec. IV of the paper).

    Training and test images are pooled. The binary version is read from the folder ``cifar10`` in
    ``BITFOLD_DATA`` or in the cache, unpacked (``cifar-10-batches-bin``) or as
    ``cifar-10-binary.tar.gz``, and downloaded into the cache if it is in neither. Computing the
    descriptors takes a minute or two; they are kept in the cache.

    Parameters
    ----------
    n_queries
        Number of queries, chosen at random.
    seed
        Seed of the split.
    features
        ``"gist512"`` (gray), ``"gist960"`` (color), or ``"pixels"`` (3,072 bytes per image, the
        colors of each pixel together).
    download
        Whether to download the archive if it is missing.
    progress
        Called with (stage, done, total).

    Returns
    -------
    The data set, with labels.

    Raises
    ------
    FormatError
        If a file is damaged.
    MissingDataError
        If the archive is missing and cannot, or may not, be downloaded.
    ParameterError
        If ``features`` is unknown, or there are not fewer queries than images.

    Examples
    --------
    >>> cifar10()  # doctest: +SKIP
    Dataset(CIFAR-10 gist512: 59000 x 512, 1000 queries)
    """
    images, labels = load_cifar10_images(download=download, progress=progress)
    return image_dataset(
        images, labels, n_queries, seed, features=features, name="CIFAR-10", progress=progress
    )


def load_cifar10_images(
    *, download: bool = True, progress: ProgressCallback | None = None
) -> tuple[UInt8Array, UInt8Array]:
    """Return all images (60000, 32, 32, 3) and labels, the training part first."""
    folder = _find_or_unpack(download, progress)
    rows = np.concatenate([_read_batch(folder / name) for name in _BATCHES])
    labels, planes = rows[:, 0], rows[:, 1:].reshape(-1, 3, _SIDE, _SIDE)
    if labels.max() >= _N_CLASSES:
        raise FormatError(f"{folder} has a label {labels.max()}; expected 0 to {_N_CLASSES - 1}.")
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels


def _find_or_unpack(download: bool, progress: ProgressCallback | None) -> Path:
    """Return the folder with the unpacked batches."""
    unpacked = find_folder([f"cifar10/{_FOLDER}", _FOLDER], _BATCHES)
    if unpacked:
        return unpacked
    found = find_file(["cifar10", ""], [_ARCHIVE.name])
    archive = found or download_file("cifar10", _ARCHIVE, download=download, progress=progress)
    folder = make_cache_folder(f"cifar10/{_FOLDER}")
    extract_files(archive, _BATCHES, folder)
    return folder


def _read_batch(path: Path) -> UInt8Array:
    """Read rows of a label and the planes of red, green and blue."""
    content = np.fromfile(path, np.uint8)
    if not len(content) or len(content) % _ROW_BYTES:
        raise FormatError(
            f"{path} must contain rows of {_ROW_BYTES} bytes, got {len(content)} bytes."
        )
    return content.reshape(-1, _ROW_BYTES)
