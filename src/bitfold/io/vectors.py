"""Vectors and labels from files; reading a file never executes anything in it."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray
from bitfold.errors import FormatError
from bitfold.io.formats.csv import open_csv, read_csv_labels
from bitfold.io.formats.hdf5 import open_hdf5, read_hdf5_labels
from bitfold.io.formats.jsonl import open_jsonl, read_jsonl_labels
from bitfold.io.formats.npy import open_npy, read_npz, stream_npy
from bitfold.io.formats.parquet import open_parquet, read_parquet_labels
from bitfold.io.formats.request import ReadRequest
from bitfold.io.formats.safetensors import open_safetensors, read_safetensors_labels
from bitfold.io.formats.texmex import open_texmex
from bitfold.io.formats.text import read_text_labels
from bitfold.io.formats.zarr import open_zarr
from bitfold.io.rows import count_rows
from bitfold.io.stream import Stream


class FileFormat(NamedTuple):
    """The readers of a file format; None where it has no vectors, or no labels."""

    open_vectors: Callable[[ReadRequest], Any] | None = None
    read_labels: Callable[[ReadRequest], AnyArray] | None = None
    can_be_folder: bool = False


# To support a new format, write a module in formats/ and add its suffix here.
FORMATS: dict[str, FileFormat] = {
    ".bvecs": FileFormat(open_texmex),
    ".csv": FileFormat(open_csv, read_csv_labels),
    ".fvecs": FileFormat(open_texmex),
    ".h5": FileFormat(open_hdf5, read_hdf5_labels),
    ".hdf5": FileFormat(open_hdf5, read_hdf5_labels),
    ".ivecs": FileFormat(open_texmex),
    ".jsonl": FileFormat(open_jsonl, read_jsonl_labels),
    ".ndjson": FileFormat(open_jsonl, read_jsonl_labels),
    ".npy": FileFormat(open_npy, open_npy),
    ".npz": FileFormat(read_npz, read_npz),
    ".parquet": FileFormat(open_parquet, read_parquet_labels, can_be_folder=True),
    ".safetensors": FileFormat(open_safetensors, read_safetensors_labels),
    ".tsv": FileFormat(open_csv, read_csv_labels),
    ".txt": FileFormat(read_labels=read_text_labels),
    ".zarr": FileFormat(open_zarr, can_be_folder=True),
}


def open_vectors(source: str | PathLike[str] | BinaryIO, name: str | None = None) -> Any:
    """Open vectors without loading them into memory.

    The result has ``shape`` and ``dtype``, can be sliced by rows, and can be passed to ``fit`` and
    ``encode``. It is a memory map if the file stores the matrix contiguously, and otherwise a
    :class:`Stream` that reads block by block. Only .npz files are read whole.

    Parameters
    ----------
    source
        A file in one of the formats of :func:`read_vectors`, a folder of Parquet files, or an open
        binary file that delivers a .npy, such as ``sys.stdin.buffer``; the latter is read once.
    name
        Name of the array, column, field or data set; required if the file contains several.

    Returns
    -------
    The vectors, one per row.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    FormatError
        If the file is damaged or does not contain a matrix of real numbers.
    ParameterError
        If the suffix is unknown, or ``name`` is not in the file.

    Examples
    --------
    >>> np.save("vectors.npy", np.eye(3, dtype=np.float32))
    >>> open_vectors("vectors.npy")[1:2].tolist()
    [[0.0, 1.0, 0.0]]
    """
    if not isinstance(source, (str, PathLike)):
        return stream_npy(source)
    return _open_matrix(ReadRequest(Path(source), name, "open_vectors"))


def read_vectors(path: str | PathLike[str], name: str | None = None) -> AnyArray:
    """Read a matrix with one vector per row; memory-map it where the format allows.

    The format follows from the suffix: ``.npy``; ``.npz``; ``.parquet``, a column of lists of one
    length (needs ``bitfold[parquet]``); ``.h5`` and ``.hdf5`` (need ``bitfold[hdf5]``); ``.zarr``
    (needs ``bitfold[zarr]``); ``.safetensors``; ``.fvecs``, ``.bvecs`` and ``.ivecs`` of the texmex
    corpus. Pickled objects are never loaded. Text becomes float32:

    - ``.csv`` and ``.tsv``: one vector per line, separated by tabs, semicolons or commas, with or
      without a header. ``name`` selects the columns whose names begin with it: ``"v"`` selects
      ``v0, v1, …``. Columns without a name, to which pandas writes row numbers, are left out.
    - ``.jsonl`` and ``.ndjson``: an array of numbers per line, or an object with such an array in
      the field ``name``.

    Parameters
    ----------
    path
        The file.
    name
        Name of the array, column, field or data set; required if the file contains several.

    Returns
    -------
    The vectors, one per row.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    FormatError
        If the file is damaged or does not contain a matrix of real numbers.
    ParameterError
        If the suffix is unknown, or ``name`` is not in the file.

    Examples
    --------
    >>> np.save("vectors.npy", np.eye(3, dtype=np.float32))
    >>> read_vectors("vectors.npy").shape
    (3, 3)
    """
    matrix: AnyArray | Stream = _open_matrix(ReadRequest(Path(path), name, "read_vectors"))
    return matrix[:] if isinstance(matrix, Stream) else matrix


def read_labels(path: str | PathLike[str], name: str | None = None) -> AnyArray:
    r"""Read one label per row, or a matrix of 0 and 1 if rows have several labels.

    Parameters
    ----------
    path
        A .npy, .npz, .h5, .hdf5, .parquet or .safetensors file; a .txt file with one label per
        line; a column of a .csv or .tsv, as strings; or numbers, strings or objects with a label
        in .jsonl or .ndjson.
    name
        Name of the array, column, field or data set; required if the file contains several.

    Returns
    -------
    Numbers or strings, of shape (rows,) or (rows, classes).

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    FormatError
        If the file is damaged or does not contain labels.
    ParameterError
        If the suffix is unknown, or ``name`` is not in the file.

    Examples
    --------
    >>> _ = Path("labels.txt").write_text("cat\ndog\ncat\n")
    >>> read_labels("labels.txt").tolist()
    ['cat', 'dog', 'cat']
    """
    request = ReadRequest(Path(path), name, "read_labels")
    labels = np.asarray(_find_reader(request, "read_labels")(request))
    if labels.ndim not in (1, 2) or not labels.size or labels.dtype.kind not in "iubfU":
        raise FormatError(
            f"{path} must contain labels (numbers or strings), "
            f"got {labels.dtype} of shape {labels.shape}."
        )
    return labels


def _open_matrix(request: ReadRequest) -> Any:
    matrix = _find_reader(request, "open_vectors")(request)
    # The rows of some streams are not counted yet; these have at least one.
    shape = (1, matrix.n_features) if count_rows(matrix) is None else matrix.shape
    if len(shape) != 2 or 0 in shape:
        raise FormatError(f"{request.path} must be a matrix with rows, got shape {shape}.")
    request.check_numeric(matrix.dtype)
    return matrix


def _find_reader(request: ReadRequest, kind: str) -> Callable[[ReadRequest], Any]:
    """Return the reader of a file, which must exist and have content."""
    path, suffix = request.path, request.path.suffix.lower()
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    file_format = FORMATS.get(suffix, FileFormat())
    reader: Callable[[ReadRequest], Any] | None = getattr(file_format, kind)
    if reader is None:
        suffixes = ", ".join(key for key, value in FORMATS.items() if getattr(value, kind))
        requirement = f"a file with the suffix {suffixes}"
        _validation.raise_invalid("path", request.owner, requirement, repr(path.name))
    is_folder = path.is_dir() and file_format.can_be_folder
    if not is_folder and (not path.is_file() or not path.stat().st_size):
        raise FormatError(f"{path} is empty or not a file.")
    return reader
