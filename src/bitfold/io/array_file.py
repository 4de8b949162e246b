"""One file of arrays: mapped at once, each array verified when it is asked for.

The file begins with a magic word, the format's version, and the length and CRC-32 of a header;
then comes the header, JSON padded with spaces, then the arrays. The header holds ``meta`` and,
of each array, dtype, shape, offset (from the end of the header) and CRC-32. Header and arrays
are padded to 64 bytes and the checksums include the padding: every byte is covered.
"""

from __future__ import annotations

import json
import mmap
import os
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bitfold._types import AnyArray, UInt8Array
from bitfold.errors import FormatError
from bitfold.io import model_file
from bitfold.io.atomic import replace_atomically

Arrays = Mapping[str, AnyArray]
Layout = tuple[str, tuple[int, ...]]
"""The dtype, as numpy's text, and the shape of an array."""

_MAGIC = b"bitfoldA"
_VERSION = 1
_PREFIX = struct.Struct("<8sIII")
_ALIGNMENT = 64
_MAX_HEADER = 1 << 20
_DTYPES = {dtype: np.dtype(dtype) for dtype in ("<u8", "<i8", "<u4", "|u1")}

_SMALL = 1 << 16
"""Files up to so many bytes are read, not mapped: a mapping costs a file descriptor."""


class _Place(NamedTuple):
    """Where in the file an array lies."""

    layout: Layout
    begin: int
    end: int
    checksum: int


class Container:
    """A file of arrays, whose header is verified.

    Parameters
    ----------
    path
        A file written by :func:`write`; errors name its directory as what is damaged.

    Attributes
    ----------
    size
        Bytes of the file.
    checksum
        CRC-32 of the header, and thereby of everything in the file.
    meta
        What was stored beside the arrays.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data = _map(path)
        self.size = len(self._data)
        text, self.checksum = _verified_header(path, self._data)
        header = model_file.parse(text)
        if header is None or not isinstance(header.get("meta"), dict):
            raise damage(path, f"the header of {path.name} is no JSON object")
        self.meta: dict[str, Any] = header["meta"]
        try:
            self._places = dict(_lay_out(header["arrays"], _PREFIX.size + len(text), self.size))
        # Whatever can be wrong with an entry: a key, a type, a number.
        except (AttributeError, KeyError, TypeError, ValueError):
            raise damage(path, f"the arrays of {path.name} do not fit its header") from None

    @property
    def layout(self) -> dict[str, Layout]:
        """What each array looks like, without reading it."""
        return {name: place.layout for name, place in self._places.items()}

    def array(self, name: str) -> AnyArray:
        """Verify an array and return it, read-only, as it lies in the file."""
        (dtype, shape), begin, end, checksum = self._places[name]
        stored = self._data[begin:end]
        if zlib.crc32(stored.data) != checksum:
            raise damage(self.path, f"array {name} of {self.path.name} fails its checksum")
        return stored.view(_DTYPES[dtype])[: prod(shape)].reshape(shape)


def write(path: Path, meta: dict[str, Any], arrays: Arrays) -> None:
    """Write a file of arrays, atomically and durably.

    Parameters
    ----------
    path
        The file to create or replace.
    meta
        A tree of JSON values.
    arrays
        Arrays of 64-bit integers, uint32 or uint8.
    """
    little = {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        for name, array in arrays.items()
    }
    header = _encode_header(meta, little)
    with replace_atomically(path) as file:
        file.write(header)
        for array in little.values():
            file.write(_flat(array))
            file.write(_padding(array.nbytes))


def damage(path: Path, what: str) -> FormatError:
    """Return the error for a damaged file of an index: the directory, and what is wrong."""
    return FormatError(f"{path.parent} is damaged: {what}.")


def newer(path: Path, version: int, known: int) -> FormatError:
    """Return the error for a file of the future."""
    reads = f"{path.name} has format {version}, this one reads {known}"
    return FormatError(f"{path.parent} was written by a newer bitfold ({reads}); upgrade bitfold.")


def is_count(value: object) -> bool:
    """Whether a JSON value is an integer that can count bytes or items."""
    return type(value) is int and 0 <= value < 1 << 48


def _flat(array: AnyArray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _padding(size: int) -> bytes:
    return bytes(-size % _ALIGNMENT)


def _encode_header(meta: dict[str, Any], arrays: Arrays) -> bytes:
    entries, offset = {}, 0
    for name, array in arrays.items():
        padding = _padding(array.nbytes)
        entries[name] = {
            "dtype": array.dtype.str,
            "shape": array.shape,
            "offset": offset,
            "crc32": zlib.crc32(padding, zlib.crc32(_flat(array))),
        }
        offset += array.nbytes + len(padding)
    text = json.dumps({"meta": meta, "arrays": entries}, separators=(",", ":")).encode()
    text += b" " * (-(_PREFIX.size + len(text)) % _ALIGNMENT)
    return _PREFIX.pack(_MAGIC, _VERSION, len(text), zlib.crc32(text)) + text


def _map(path: Path) -> UInt8Array:
    # Opening a pipe or a device could wait for ever.
    if not stat.S_ISREG(path.stat().st_mode):
        raise damage(path, f"{path.name} is not a file")
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size <= _SMALL:
            return np.frombuffer(file.read(), np.uint8)
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def _verified_header(path: Path, data: UInt8Array) -> tuple[bytes, int]:
    """Return the text of the header and its checksum."""
    if len(data) < _PREFIX.size:
        raise damage(path, f"{path.name} is truncated")
    magic, version, length, checksum = _PREFIX.unpack(data[: _PREFIX.size].tobytes())
    if magic != _MAGIC:
        raise damage(path, f"{path.name} is not a file of an index")
    if version > _VERSION:
        raise newer(path, version, _VERSION)
    text = data[_PREFIX.size : _PREFIX.size + min(length, _MAX_HEADER)].tobytes()
    if version != _VERSION or len(text) != length or zlib.crc32(text) != checksum:
        raise damage(path, f"the header of {path.name} fails its checksum")
    return text, checksum


def _lay_out(
    entries: dict[str, dict[str, Any]], start: int, size: int
) -> Iterator[tuple[str, _Place]]:
    """Yield where the arrays lie; they must fill the rest of the file without gap or overlap."""
    if start % _ALIGNMENT:
        raise ValueError("misplaced")
    begin = start
    for name, entry in entries.items():
        dtype, shape = _DTYPES[entry["dtype"]], tuple(entry["shape"])
        if not all(map(is_count, shape)) or entry["offset"] != begin - start:
            raise ValueError("misplaced")
        nbytes = dtype.itemsize * prod(shape)
        end = begin + nbytes + len(_padding(nbytes))
        yield name, _Place((dtype.str, shape), begin, end, entry["crc32"])
        begin = end
    if begin != size:
        raise ValueError("too short or too long")
