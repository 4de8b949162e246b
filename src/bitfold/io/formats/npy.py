"""numpy's own files: .npy, mapped or as a stream, and .npz; pickles in them are refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from bitfold._types import AnyArray
from bitfold.errors import FormatError
from bitfold.io.formats.errors import read_as
from bitfold.io.formats.request import WRONG, Asked
from bitfold.io.sources import Stream

_STREAM_BYTES = 1 << 20
"""What is read of a stream at a time, or one row if that is longer."""


class _Header(NamedTuple):
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]


def open_npy(asked: Asked) -> AnyArray:
    """Map a .npy file."""
    asked.raise_name()
    with asked.reading("a .npy file of numbers")():
        _check_size(asked.path)
        return np.lib.format.open_memmap(asked.path, mode="r")


def read_npz(asked: Asked) -> AnyArray:
    """Read one array of an .npz file."""
    reading = asked.reading("an .npz file of arrays of numbers")
    with asked.path.open("rb") as file:
        with reading():
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("a single array")
        chosen = asked.chosen(archive.files, "arrays")
        with reading():
            return np.asarray(archive[chosen])


def stream_npy(file: BinaryIO) -> Stream:
    """Rows of a .npy that can only be read once, as they come."""
    with read_as("a .npy stream of numbers", "the input", *WRONG):
        shape, fortran, dtype = _read_header(file)
        if len(shape) != 2 or 0 in shape or dtype.kind not in "fiub":
            came = f"{dtype} of shape {shape}"
            raise FormatError(f"the input must hold a matrix of real numbers, got {came}.")
        if fortran and min(shape) > 1:
            raise FormatError("the input must hold row after row, got column after column.")
    return Stream(lambda row: (0, _rows(file, shape, dtype)), n_rows=shape[0], once=True)


def _check_size(path: Path) -> None:
    """Raise if a .npy file has less in it than its header says, before anything is laid out."""
    with path.open("rb") as file:
        shape, _, dtype = _read_header(file)
        # In Python's integers, which do not overflow.
        if file.tell() + math.prod(shape) * dtype.itemsize > path.stat().st_size:
            raise FormatError(f"{path} must be as long as its header says, got a shorter file.")


def _read_header(file: BinaryIO) -> _Header:
    version = np.lib.format.read_magic(file)
    headers = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
    return _Header(*headers[version != (1, 0)](file))


def _rows(file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Iterator[AnyArray]:
    n, width = shape
    row = width * dtype.itemsize
    done = 0
    while done < n:
        content = _read(file, row * min(max(1, _STREAM_BYTES // row), n - done))
        if len(content) < row:
            raise FormatError(f"the input must hold {n} rows, as its header says, got {done}.")
        block = np.frombuffer(content, dtype, len(content) // row * width).reshape(-1, width)
        done += len(block)
        yield block


def _read(file: BinaryIO, n_bytes: int) -> bytearray:
    """Read that much, or what there is before the end, as it comes.

    Not by ``file.read``, which waits for all of it inside C: a Ctrl-C that comes between two
    parts would wait, too, for as long as nothing more is sent.
    """
    part_of = getattr(file, "read1", file.read)
    content = bytearray()
    while len(content) < n_bytes and (part := part_of(n_bytes - len(content))):
        content += part
    return content
