"""HDF5: contiguous data sets are memory-mapped, chunked ones are read chunk by chunk."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from bitfold._types import AnyArray
from bitfold.io.formats.request import ReadRequest, import_optional
from bitfold.io.stream import Stream

_EXPECTED = "an HDF5 file with a matrix"


def open_hdf5(request: ReadRequest) -> AnyArray | Stream:
    """Open a matrix as a memory map, or as a stream that keeps the file open."""
    with request.translate_errors(_EXPECTED):
        file = import_h5py().File(request.path, "r")
    try:
        name = request.choose_name(_list_datasets(file, request, 2), "matrices")
        with request.translate_errors(_EXPECTED):
            dataset = file[name]
            dtype = dataset.dtype  # numpy may have no such type
        request.check_numeric(dtype)
        with request.translate_errors(_EXPECTED):
            _check_chunks(dataset, request.path.stat().st_size)
            array = _map_contiguous(request.path, dataset)
        if array is None:
            return Stream.from_slices(
                dataset, lambda blocks: request.guard_blocks(blocks, _EXPECTED)
            )
    except BaseException:
        file.close()
        raise
    file.close()
    return array


def read_hdf5_labels(request: ReadRequest) -> AnyArray:
    """Read a one- or two-dimensional data set of numbers or strings."""
    expected = "an HDF5 file with labels"
    with request.translate_errors(expected):
        file = import_h5py().File(request.path, "r")
    with file:
        name = request.choose_name(_list_datasets(file, request, 1, 2), "arrays")
        with request.translate_errors(expected):
            dataset = file[name]
            _check_chunks(dataset, request.path.stat().st_size)
            is_text = import_h5py().check_string_dtype(dataset.dtype) is not None
            return dataset.asstr()[()].astype(str) if is_text else np.asarray(dataset[()])


def import_h5py() -> Any:
    """Import h5py, or say how to install it."""
    return import_optional("h5py", "HDF5 files", "hdf5")


def _check_chunks(dataset: Any, file_size: int) -> None:
    """Raise ValueError if a chunk cannot be what the filters wrote, which may crash HDF5 itself."""
    if dataset.chunks is None:
        return
    settings = dataset.id.get_create_plist()
    filters = [settings.get_filter(i)[0] for i in range(settings.get_nfilters())]
    full_size = math.prod(dataset.chunks) * dataset.dtype.itemsize
    # The Fletcher checksum after the content has 4 bytes.
    has_checksum = import_h5py().h5z.FILTER_FLETCHER32 in filters
    smallest = 5 if has_checksum else 1 if filters else full_size

    def check(chunk: Any) -> None:
        if not smallest <= chunk.size <= file_size - chunk.byte_offset:
            raise ValueError(f"the chunk at {chunk.chunk_offset} has {chunk.size} bytes")

    dataset.id.chunk_iter(check)


def _map_contiguous(path: Path, dataset: Any) -> AnyArray | None:
    is_plain = dataset.chunks is None and dataset.external is None and not dataset.is_virtual
    offset = dataset.id.get_offset() if is_plain else None
    if offset is None:
        return None
    return np.memmap(path, dataset.dtype, "r", offset, dataset.shape)


def _list_datasets(file: Any, request: ReadRequest, *ndims: int) -> list[str]:
    h5py = import_h5py()
    names: list[str] = []

    def visit(key: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.ndim in ndims:
            names.append(key)

    with request.translate_errors(_EXPECTED):
        file.visititems(visit)
    return names
