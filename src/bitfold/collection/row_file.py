"""Files of fixed-size rows that only grow: what is there is never written again.

How many rows belong to the collection is in its state, with the checksum of all of them. What lies
beyond was left by a writer that did not finish, and is overwritten by the next one.
"""

from __future__ import annotations

import mmap
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from bitfold._types import AnyArray
from bitfold.errors import FormatError
from bitfold.io import file_system

_VERIFY_BYTES = 1 << 24
"""Bytes that are read at a time to compute a checksum."""


def map_rows(path: Path, dtype: Any, n_rows: int, width: int) -> AnyArray:
    """Return the rows of a file as a read-only array that is read from the disk on use."""
    kind = np.dtype(dtype).newbyteorder("<")
    n_bytes = n_rows * width * kind.itemsize
    if not n_bytes:
        return np.empty((n_rows, width), kind)
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise FormatError(f"{path.parent} is damaged: {path.name} is missing.") from None
    with file:
        found = os.fstat(file.fileno()).st_size
        if found < n_bytes:
            raise FormatError(f"{path} is damaged: it has {found} bytes instead of {n_bytes}.")
        mapped = mmap.mmap(file.fileno(), n_bytes, access=mmap.ACCESS_READ)
    if hasattr(mmap, "MADV_RANDOM"):
        # Candidates are scattered; reading ahead would load 128 KB for each.
        mapped.madvise(mmap.MADV_RANDOM)
    return np.frombuffer(mapped, kind).reshape(n_rows, width)


def compute_checksum(path: Path, n_bytes: int) -> int:
    """Return the CRC-32 of the beginning of a file."""
    checksum = 0
    with path.open("rb") as file:
        while n_bytes and (part := file.read(min(n_bytes, _VERIFY_BYTES))):
            checksum, n_bytes = zlib.crc32(part, checksum), n_bytes - len(part)
    return checksum


class RowAppender:
    """Writes rows after those that belong to the collection.

    Parameters
    ----------
    path
        The file, created if necessary.
    n_bytes
        Number of bytes at the start of the file that belong to the collection.
    checksum
        CRC-32 of these bytes.
    """

    def __init__(self, path: Path, n_bytes: int, checksum: int) -> None:
        self.checksum = checksum
        self._file = file_system.open_file(path)
        try:
            # Shorter than expected only if the file is damaged, which must not become zeros.
            if self._file.seek(0, os.SEEK_END) < n_bytes:
                raise FormatError(f"{path} is damaged: it has fewer than {n_bytes} bytes.")
            self._file.truncate(n_bytes)
            self._file.seek(n_bytes)
        except BaseException:
            self._file.close()
            raise

    def append(self, rows: AnyArray) -> None:
        """Write rows; they are not safe before :meth:`sync`."""
        stored = np.ascontiguousarray(rows, rows.dtype.newbyteorder("<"))
        data = stored.reshape(-1).view(np.uint8).data
        self._file.write(data)
        self.checksum = zlib.crc32(data, self.checksum)

    def sync(self) -> None:
        """Wait until all rows are on the disk."""
        file_system.sync_file(self._file)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
