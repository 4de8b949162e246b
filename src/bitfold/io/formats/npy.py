"""NumPy's .npy, memory-mapped or streamed, and .npz; pickled objects are never loaded."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from bitfold._types import AnyArray
from bitfold.errors import FormatError
from bitfold.io.formats.request import ReadRequest, translate_errors
from bitfold.io.stream import Stream

_STREAM_BLOCK_BYTES = 1 << 20
"""Bytes read from a pipe at a time; a longer row is read whole."""


class NpyHeader(NamedTuple):
    """What the header of a .npy file says about its array."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]


def read_npy_header(file: BinaryIO) -> NpyHeader:
    """Read the header of a .npy file; the array follows it.

    Parameters
    ----------
    file
        An open binary file, at its beginning.

    Returns
    -------
    Shape, memory order and dtype, as the file claims.

    Raises
    ------
    Exception
        If the header is malformed; numpy raises many types (``formats.request.READ_ERRORS``).

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.zeros((2, 3), np.float32))
    >>> _ = file.seek(0)
    >>> read_npy_header(file).shape
    (2, 3)
    """
    version = np.lib.format.read_magic(file)
    readers = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
    header = NpyHeader(*readers[version != (1, 0)](file))
    # numpy accepts -1, which would later mean "as many as there are".
    if min(header.shape, default=0) < 0:
        raise ValueError(f"shape {header.shape}")
    return header


def open_npy(request: ReadRequest) -> AnyArray:
    """Memory-map a .npy file."""
    request.check_no_name()
    with request.translate_errors("a .npy file of numbers"):
        _check_size(request)
        return np.lib.format.open_memmap(request.path, mode="r")


def read_npz(request: ReadRequest) -> AnyArray:
    """Read one array of an .npz file."""
    expected = "an .npz file of numeric arrays"
    with request.path.open("rb") as file:
        with request.translate_errors(expected):
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("a single array")
        name = request.choose_name(archive.files, "arrays")
        with request.translate_errors(expected):
            return np.asarray(archive[name])


def stream_npy(file: BinaryIO) -> Stream:
    """Return the rows of a .npy that arrives through a pipe, which can be read once."""
    with translate_errors("The input", "a .npy stream of numbers"):
        header = read_npy_header(file)
    shape, dtype = header.shape, header.dtype
    if len(shape) != 2 or 0 in shape or dtype.kind not in "fiub":
        raise FormatError(
            f"The input must be a matrix of real numbers, got {dtype} of shape {shape}."
        )
    if header.is_fortran and min(shape) > 1:
        raise FormatError("The input must be in C order, got Fortran order; save a C-order copy.")
    return Stream(lambda row: (0, _read_blocks(file, header)), n_rows=shape[0], single_pass=True)


def _check_size(request: ReadRequest) -> None:
    """Raise if the file is shorter than its header claims, before memory is reserved for it."""
    with request.path.open("rb") as file:
        header = read_npy_header(file)
        # Python integers do not overflow.
        n_bytes = file.tell() + math.prod(header.shape) * header.dtype.itemsize
    if n_bytes > request.path.stat().st_size:
        raise FormatError(f"{request.path} is truncated: its header announces {n_bytes} bytes.")


def _read_blocks(file: BinaryIO, header: NpyHeader) -> Iterator[AnyArray]:
    (n_rows, width), dtype = header.shape, header.dtype
    row_bytes = width * dtype.itemsize
    done = 0
    while done < n_rows:
        n_wanted = min(max(1, _STREAM_BLOCK_BYTES // row_bytes), n_rows - done)
        content = _read_bytes(file, row_bytes * n_wanted)
        if len(content) < row_bytes:
            raise FormatError(f"The input ended after {done} of {n_rows} rows.")
        block = np.frombuffer(content, dtype, len(content) // row_bytes * width)
        done += len(block) // width
        yield block.reshape(-1, width)


def _read_bytes(file: BinaryIO, n_bytes: int) -> bytearray:
    """Read ``n_bytes``, or fewer at the end of the file.

    ``file.read`` would wait for all of them inside C and delay a Ctrl-C until more data arrive.
    """
    read_some = getattr(file, "read1", file.read)
    content = bytearray()
    while len(content) < n_bytes and (chunk := read_some(n_bytes - len(content))):
        content += chunk
    return content
