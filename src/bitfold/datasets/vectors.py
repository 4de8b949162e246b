"""Vectors from the files that people have them in; nothing in a file is ever run."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from os import PathLike
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitfold import _checks
from bitfold.datasets._errors import DamagedData, read_as

Matrix = NDArray[Any]
Reader = Callable[[Path, str | None], Matrix]

_WRONG = (
    *(ValueError, TypeError, KeyError, OSError, EOFError, OverflowError, MemoryError),
    *(SyntaxError, TokenError),
)
"""What readers raise when a file is not what its name says."""

_WRONG_ZIP = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)

_CHECKED_ROWS = 1 << 16
"""Rows of a texmex file whose length is looked at."""

_PARQUET_ROWS = 1 << 16


def read_vectors(path: str | PathLike[str], name: str | None = None) -> Matrix:
    """Read a matrix, one vector a row; where the format allows it is mapped, not read.

    Formats, by the end of the name: ``.npy``; ``.npz``; ``.parquet``, a column of lists of one
    length (needs ``bitfold[parquet]``); ``.h5`` and ``.hdf5`` (need ``bitfold[hdf5]``); and the
    ``.fvecs``, ``.bvecs`` and ``.ivecs`` of the texmex corpus. Files are data only: whatever would
    have to be unpickled is refused.

    Parameters
    ----------
    path
        The file.
    name
        Which array of the .npz, column of the .parquet or data set of the .h5; needed where there
        are several.

    Examples
    --------
    >>> np.save("vectors.npy", np.eye(3, dtype=np.float32))
    >>> read_vectors("vectors.npy").shape
    (3, 3)
    """
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        demand = f"a file that ends in {', '.join(_READERS)}"
        _checks.refuse("path", "read_vectors", demand, repr(file.name))
    if not file.is_file() or not file.stat().st_size:
        raise DamagedData(f"{path} must be a file with vectors in it, got an empty one or none.")
    matrix = reader(file, name)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise DamagedData(f"{path} must hold a matrix with rows, got shape {matrix.shape}.")
    if matrix.dtype.kind not in "fiub":
        raise DamagedData(f"{path} must hold real numbers, got dtype {matrix.dtype}.")
    return matrix


def _read_npy(path: Path, name: str | None) -> Matrix:
    _refuse_name(path, name)
    with read_as("a .npy file of numbers", path, *_WRONG):
        _demand_size(path)
        return np.lib.format.open_memmap(path, mode="r")


def _demand_size(path: Path) -> None:
    """Raise if a .npy file has less in it than its header says, before anything is laid out."""
    with path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        headers = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
        shape, _, dtype = headers[version != (1, 0)](file)
        # In Python's integers, which do not overflow.
        if file.tell() + math.prod(shape) * dtype.itemsize > path.stat().st_size:
            raise DamagedData(f"{path} must be as long as its header says, got a shorter file.")


def _read_npz(path: Path, name: str | None) -> Matrix:
    reading = partial(read_as, "an .npz file of arrays of numbers", path, *_WRONG, *_WRONG_ZIP)
    with path.open("rb") as file:
        with reading():
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("a single array")
        chosen = _chosen(archive.files, name, path, "arrays")
        with reading():
            return np.asarray(archive[chosen])


def _read_parquet(path: Path, name: str | None) -> Matrix:
    pa = _import_pyarrow()
    what = "a Parquet file with lists of numbers"
    reading = partial(read_as, what, path, *_WRONG, pa.ArrowException)
    with reading():
        file = pa.parquet.ParquetFile(path)
    with file:
        lists = [column.name for column in file.schema_arrow if _is_list(pa, column.type)]
        chosen = _chosen(lists, name, path, "columns of lists")
        with reading():
            batches = file.iter_batches(_PARQUET_ROWS, columns=[chosen])
            parts = [_as_matrix(path, batch.column(0)) for batch in batches]
    if len({part.shape[1] for part in parts}) != 1:
        raise DamagedData(f"{path} must hold lists of one length, got several or none.")
    return np.concatenate(parts)


def _import_pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        extra = 'pip install "bitfold[parquet]"'
        raise ImportError(f"reading .parquet files needs pyarrow: {extra}.") from None
    return pyarrow


def _is_list(pa: Any, kind: Any) -> bool:
    types = pa.types
    lists = (types.is_fixed_size_list, types.is_list, types.is_large_list)
    return any(is_list(kind) for is_list in lists)


def _as_matrix(path: Path, lists: Any) -> Matrix:
    """Lists of one length as rows."""
    values = lists.flatten()
    if lists.null_count or values.null_count or not len(lists):
        raise DamagedData(f"{path} must hold a list in every row, got missing values.")
    lengths = np.unique(lists.value_lengths().to_numpy(zero_copy_only=False))
    if len(lengths) != 1:
        raise DamagedData(f"{path} must hold lists of one length, got {len(lengths)} lengths.")
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(lists), -1)


def _read_hdf5(path: Path, name: str | None) -> Matrix:
    h5py = import_h5py()
    reading = partial(read_as, "an HDF5 file with a matrix", path, *_WRONG, RuntimeError)
    names: list[str] = []

    def note(key: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.ndim == 2:
            names.append(key)

    with reading():
        file = h5py.File(path, "r")
    with file:
        with reading():
            file.visititems(note)
        chosen = _chosen(names, name, path, "matrices")
        with reading():
            return mapped(path, file[chosen])


def import_h5py() -> Any:
    """Import h5py, or say how to install it."""
    try:
        import h5py
    except ImportError:
        extra = 'pip install "bitfold[hdf5]"'
        raise ImportError(f"reading HDF5 files needs h5py: {extra}.") from None
    return h5py


def mapped(path: Path, dataset: Any) -> Matrix:
    """Map an HDF5 data set that lies in one piece into memory; read any other."""
    if dataset.dtype.kind not in "fiub":
        raise DamagedData(f"{path} must hold real numbers, got dtype {dataset.dtype}.")
    whole = dataset.chunks is None and dataset.external is None and not dataset.is_virtual
    offset = dataset.id.get_offset() if whole else None
    if offset is None:
        return np.asarray(dataset[()])
    return np.memmap(path, dataset.dtype, "r", offset, dataset.shape)


def _texmex(item: str) -> Reader:
    """Reader of rows that each begin with their length as a 32-bit integer."""

    def read(path: Path, name: str | None) -> Matrix:
        _refuse_name(path, name)
        what = f"{path.suffix} vectors of one length"
        with read_as(what, path, *_WRONG):
            raw = np.memmap(path, np.uint8, "r")
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


def _refuse_name(path: Path, name: str | None) -> None:
    if name is not None:
        _checks.refuse("name", "read_vectors", f"left out for {path.suffix} files", repr(name))


def _chosen(names: list[str], name: str | None, path: Path, kind: str) -> str:
    """Return the one that was asked for, or the only one there is."""
    if not names:
        raise DamagedData(f"{path} must hold {kind}, got none.")
    chosen = names[0] if name is None and len(names) == 1 else name
    if chosen not in names:
        demand = f"one of the {kind} of {path.name}, {', '.join(map(repr, names[:9]))}"
        _checks.refuse("name", "read_vectors", demand, repr(name))
    return str(chosen)


_READERS: dict[str, Reader] = {
    ".bvecs": _texmex("u1"),
    ".fvecs": _texmex("<f4"),
    ".h5": _read_hdf5,
    ".hdf5": _read_hdf5,
    ".ivecs": _texmex("<i4"),
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".parquet": _read_parquet,
}
