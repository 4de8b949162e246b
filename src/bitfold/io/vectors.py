"""Vectors from the files that people have them in; nothing in a file is ever run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from bitfold import _validation
from bitfold._types import AnyArray
from bitfold.errors import FormatError
from bitfold.io.formats.hdf5 import open_hdf5, read_hdf5
from bitfold.io.formats.npy import open_npy, read_npz, stream_npy
from bitfold.io.formats.parquet import open_parquet, read_column
from bitfold.io.formats.request import Asked
from bitfold.io.formats.zarr import open_zarr
from bitfold.io.sources import Stream

Reader = Callable[[Asked], Any]

_CHECKED_ROWS = 1 << 16
"""Rows of a texmex file whose length is looked at."""

_FOLDERS = (".parquet", ".zarr")
"""What may be a folder."""


def open_vectors(source: str | PathLike[str] | BinaryIO, name: str | None = None) -> Any:
    """Open vectors without reading them: mapped, or read block by block as they are needed.

    What is returned has ``shape``, ``dtype`` and slices of rows, and is what ``fit`` and ``encode``
    take: a memory map for what lies in one piece in its file, else a stream of its blocks. Only
    .npz files are read whole.

    Parameters
    ----------
    source
        The file, of any format of :func:`read_vectors`, or a folder of Parquet files; or an open
        binary file that gives a .npy as it comes, such as ``sys.stdin.buffer``, read once.
    name
        Which array, column or data set, where there are several.

    Examples
    --------
    >>> np.save("vectors.npy", np.eye(3, dtype=np.float32))
    >>> open_vectors("vectors.npy")[1:2].tolist()
    [[0.0, 1.0, 0.0]]
    """
    if not isinstance(source, (str, PathLike)):
        return stream_npy(source)
    return _opened(Asked(Path(source), name, "open_vectors"))


def read_vectors(path: str | PathLike[str], name: str | None = None) -> AnyArray:
    """Read a matrix, one vector a row; where the format allows it is mapped, not read.

    Formats, by the end of the name: ``.npy``; ``.npz``; ``.parquet``, a column of lists of one
    length (needs ``bitfold[parquet]``); ``.h5`` and ``.hdf5`` (need ``bitfold[hdf5]``); ``.zarr``
    (needs ``bitfold[zarr]``); and the ``.fvecs``, ``.bvecs`` and ``.ivecs`` of the texmex corpus.
    Files are data only: whatever would have to be unpickled is refused.

    Parameters
    ----------
    path
        The file.
    name
        Which array of the .npz or .zarr, column of the .parquet or data set of the .h5; needed
        where there are several.

    Examples
    --------
    >>> np.save("vectors.npy", np.eye(3, dtype=np.float32))
    >>> read_vectors("vectors.npy").shape
    (3, 3)
    """
    opened: AnyArray | Stream = _opened(Asked(Path(path), name, "read_vectors"))
    return opened[:] if isinstance(opened, Stream) else opened


def read_labels(path: str | PathLike[str], name: str | None = None) -> AnyArray:
    r"""Read labels, one a row, or a row of 0 and 1 where there are several.

    Parameters
    ----------
    path
        A .npy, .npz, .h5 or .parquet file; or a .txt, each line a label.
    name
        Which array, column or data set, where there are several.

    Examples
    --------
    >>> _ = Path("labels.txt").write_text("cat\ndog\ncat\n")
    >>> read_labels("labels.txt").tolist()
    ['cat', 'dog', 'cat']
    """
    asked = Asked(Path(path), name, "read_labels")
    labels = np.asarray(_reader(asked, _LABELS)(asked))
    if labels.ndim not in (1, 2) or not labels.size or labels.dtype.kind not in "iubfU":
        came = f"{labels.dtype} of shape {labels.shape}"
        raise FormatError(f"{path} must hold labels, numbers or texts, got {came}.")
    return labels


def _opened(asked: Asked) -> Any:
    matrix = _reader(asked, _VECTORS)(asked)
    if len(matrix.shape) != 2 or 0 in matrix.shape:
        raise FormatError(f"{asked.path} must hold a matrix with rows, got shape {matrix.shape}.")
    asked.check_numbers(matrix.dtype)
    return matrix


def _reader(asked: Asked, readers: Mapping[str, Reader]) -> Reader:
    """Return what reads such a file, which must be there."""
    path, ending = asked.path, asked.path.suffix.lower()
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if ending not in readers:
        demand = f"a file that ends in {', '.join(readers)}"
        _validation.raise_invalid("path", asked.owner, demand, repr(path.name))
    folder = path.is_dir() and ending in _FOLDERS
    if not folder and (not path.is_file() or not path.stat().st_size):
        what = asked.owner.split("_")[1]
        raise FormatError(f"{path} must be a file with {what} in it, got an empty one or none.")
    return readers[ending]


def _texmex(item: str) -> Reader:
    """Reader of rows that each begin with their length as a 32-bit integer."""

    def read(asked: Asked) -> AnyArray:
        asked.raise_name()
        with asked.reading(f"{asked.path.suffix} vectors of one length")():
            raw = np.memmap(asked.path, np.uint8, "r")
            length = int(raw[:4].view("<i4")[0])
            row = 4 + np.dtype(item).itemsize * length
            if length < 1:
                raise ValueError("no vectors")
            rows = raw.reshape(-1, row)
            looked_at = np.linspace(0, len(rows) - 1, min(len(rows), _CHECKED_ROWS))
            if (rows[looked_at.astype(int), :4].copy().view("<i4") != length).any():
                raise ValueError("rows of several lengths")
            return rows[:, 4:].view(item)

    return read


def _read_lines(asked: Asked) -> NDArray[np.str_]:
    asked.raise_name()
    with asked.reading("a text file with a label in each line")():
        return np.array(asked.path.read_text("utf-8").splitlines())


_VECTORS: dict[str, Reader] = {
    ".bvecs": _texmex("u1"),
    ".fvecs": _texmex("<f4"),
    ".h5": open_hdf5,
    ".hdf5": open_hdf5,
    ".ivecs": _texmex("<i4"),
    ".npy": open_npy,
    ".npz": read_npz,
    ".parquet": open_parquet,
    ".zarr": open_zarr,
}

_LABELS: dict[str, Reader] = {
    ".h5": read_hdf5,
    ".hdf5": read_hdf5,
    ".npy": open_npy,
    ".npz": read_npz,
    ".parquet": read_column,
    ".txt": _read_lines,
}
