"""The pictures of CIFAR-10, from any of the forms they come in."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bitfold._types import AnyArray, ProgressCallback, UInt8Array
from bitfold.datasets import _tar
from bitfold.datasets._opcodes import read_plain
from bitfold.errors import FormatError
from bitfold.io import cache, model_file
from bitfold.io.data_files import downloaded, existing
from bitfold.io.download import Remote
from bitfold.io.formats.errors import read_as
from bitfold.io.model_file import Stored

SIDE, N_CLASSES = 32, 10
_PIXELS = 3 * SIDE**2
_BATCHES = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
_NAMES = {
    "cifar-10-batches-bin": ".bin",
    "cifar-10-binary.tar.gz": ".bin",
    "cifar-10-batches-py": "",
    "cifar-10-python.tar.gz": "",
}
"""The original archives and their folders, and how the names of the batches in them end."""

_JPEG = "cifar10-jpeg.npz"
_REMOTE = Remote(
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)


class Album(NamedTuple):
    """Pictures (n, 32, 32, 3), their labels, and digits that tell the file they came from."""

    pictures: UInt8Array
    labels: UInt8Array
    digest: str


def album(*, download: bool = True, progress: ProgressCallback | None = None) -> Album:
    """Return all pictures, training part first, mapped into memory from the cache."""
    path = existing(["cifar10", ""], [_JPEG, *_NAMES])
    if path is None:
        path = downloaded("cifar10", _REMOTE, download=download, progress=progress)
    digest = cache.digest_of_files(_files(path))
    kept = cache.folder("cifar10") / f"pictures-{digest}.safetensors"
    try:
        arrays = model_file.read(kept, mmap=True).arrays
    except (FormatError, FileNotFoundError):
        pictures, labels = read_album(path)
        stored = Stored("CIFAR-10", {}, {"pictures": pictures, "labels": labels})
        model_file.write(kept, stored)
        arrays = model_file.read(kept, mmap=True).arrays
    return Album(arrays["pictures"], arrays["labels"], digest)


def read_album(path: Path) -> tuple[UInt8Array, UInt8Array]:
    """Read pictures and labels from one of the forms: JPEG, binary or Python batches."""
    if path.name == _JPEG:
        return _read_jpeg(path)
    ending = _NAMES[path.name]
    read = _read_binary if ending else _read_python
    contents = _contents(path, [name + ending for name in _BATCHES])
    batches = [read(contents[name + ending], path / (name + ending)) for name in _BATCHES]
    planes, labels = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    if labels.max() >= N_CLASSES:
        raise FormatError(f"{path} must have labels below {N_CLASSES}, got {labels.max()}.")
    pictures = planes.reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(pictures), labels


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    paths = [path / f"{name}{_NAMES[path.name]}" for name in _BATCHES]
    for batch in paths:
        if not batch.is_file():
            raise FormatError(f"{path} must have {batch.name} in it, got a folder without.")
    return paths


def _contents(path: Path, names: list[str]) -> dict[str, bytes]:
    """Return the batches of a folder or an archive by their names."""
    if path.is_dir():
        return {batch.name: batch.read_bytes() for batch in _files(path)}
    return _tar.contents(path, names)


def _read_binary(content: bytes, path: Path) -> tuple[UInt8Array, UInt8Array]:
    """Rows of a label and the planes of red, green and blue."""
    row = 1 + _PIXELS
    if not content or len(content) % row:
        raise FormatError(f"{path} must be rows of {row} bytes, got {len(content)} bytes.")
    rows = np.frombuffer(content, np.uint8).reshape(-1, row)
    return rows[:, 1:], rows[:, 0]


def _read_python(content: bytes, path: Path) -> tuple[UInt8Array, UInt8Array]:
    batch = read_plain(content, path)
    fields = batch if isinstance(batch, dict) else {}
    planes, labels = fields.get("data"), fields.get("labels")
    if not isinstance(planes, np.ndarray) or planes.ndim != 2 or planes.shape[1] != _PIXELS:
        raise FormatError(f"{path} must have pictures of {_PIXELS} bytes as data, got others.")
    if not isinstance(labels, list) or not all(type(x) is int and 0 <= x < 256 for x in labels):
        raise FormatError(f"{path} must have a list of labels, got something else.")
    if len(labels) != len(planes) or not labels:
        raise FormatError(f"{path} must have a label a picture, got {len(labels)}.")
    return planes, np.array(labels, np.uint8)


def _read_jpeg(path: Path) -> tuple[UInt8Array, UInt8Array]:
    """Pictures as JPEG, one after the other, and where each begins."""
    wrong = (OSError, ValueError, KeyError, EOFError, TypeError)
    with read_as("an archive of JPEG pictures", path, *wrong):
        with np.load(path, allow_pickle=False) as archive:
            data, offsets, labels = (archive[key] for key in ("data", "offsets", "labels"))
        if len(offsets) != len(labels) + 1:
            raise ValueError("not a label a picture")
        pictures = np.empty((len(labels), SIDE, SIDE, 3), np.uint8)
        for i, (start, stop) in enumerate(pairwise(offsets.tolist())):
            pictures[i] = _decoded(data[start:stop].tobytes())
    return pictures, np.asarray(labels, np.uint8)


def _decoded(content: bytes) -> AnyArray:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError('CIFAR-10 as JPEG needs Pillow: pip install "bitfold[images]".') from None
    with Image.open(io.BytesIO(content), formats=["JPEG"]) as picture:
        # Before anything is decoded: a header may claim any size.
        if picture.size != (SIDE, SIDE):
            raise ValueError("a picture of another size")
        return np.asarray(picture.convert("RGB"))
