"""HDF5: a data set is mapped where it lies in one piece, else read chunk by chunk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bitfold._types import AnyArray
from bitfold.io.formats.request import Asked, guarded
from bitfold.io.sources import Stream


def open_hdf5(asked: Asked) -> AnyArray | Stream:
    """Open a matrix of a file, mapped or as a stream that holds the file open."""
    reading = asked.reading("an HDF5 file with a matrix")
    with reading():
        file = import_h5py().File(asked.path, "r")
    try:
        dataset = file[asked.chosen(_names(file, asked, 2), "matrices")]
        asked.check_numbers(dataset.dtype)
        with reading():
            array = _in_one_piece(asked.path, dataset)
        if array is None:
            return Stream.of_slices(dataset, lambda blocks: guarded(blocks, reading))
    except BaseException:
        file.close()
        raise
    file.close()
    return array


def read_hdf5(asked: Asked) -> AnyArray:
    """Read a list or a matrix of a file whole."""
    reading = asked.reading("an HDF5 file with labels")
    with reading():
        file = import_h5py().File(asked.path, "r")
    with file:
        dataset = file[asked.chosen(_names(file, asked, 1, 2), "lists")]
        with reading():
            texts = import_h5py().check_string_dtype(dataset.dtype) is not None
            return dataset.asstr()[()].astype(str) if texts else np.asarray(dataset[()])


def mapped(path: Path, dataset: Any) -> AnyArray:
    """Map an HDF5 data set that lies in one piece into memory; read any other."""
    Asked(path, None, "mapped").check_numbers(dataset.dtype)
    array = _in_one_piece(path, dataset)
    return np.asarray(dataset[()]) if array is None else array


def import_h5py() -> Any:
    """Import h5py, or say how to install it."""
    try:
        import h5py
    except ImportError:
        extra = 'pip install "bitfold[hdf5]"'
        raise ImportError(f"reading HDF5 files needs h5py: {extra}.") from None
    return h5py


def _in_one_piece(path: Path, dataset: Any) -> AnyArray | None:
    whole = dataset.chunks is None and dataset.external is None and not dataset.is_virtual
    offset = dataset.id.get_offset() if whole else None
    if offset is None:
        return None
    return np.memmap(path, dataset.dtype, "r", offset, dataset.shape)


def _names(file: Any, asked: Asked, *ndims: int) -> list[str]:
    h5py = import_h5py()
    names: list[str] = []

    def note(key: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.ndim in ndims:
            names.append(key)

    with asked.reading("an HDF5 file with a matrix")():
        file.visititems(note)
    return names
