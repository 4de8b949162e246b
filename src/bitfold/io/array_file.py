"""Arrays in one file, in the layout of safetensors.

A file is the length of its header (8 bytes, little-endian), the header as JSON padded with spaces,
and the arrays without gaps. Every safetensors reader can read it. Our own code is needed because
the ``safetensors`` package copies arrays and cannot append; these files are memory-mapped, and
opening one reads only the header.

``__metadata__`` has two entries: ``crc32``, the CRC-32 of the header after this value, as 8
hexadecimal digits; and ``bitfold``, a JSON object with ``format_version``, ``kind`` (what the file
contains), ``meta`` (any JSON object) and ``crc32`` (the CRC-32 of each array). Together they cover
every byte of the file.
"""

from __future__ import annotations

import json
import mmap
import os
import stat
import zlib
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bitfold._types import AnyArray, PathLike, UInt8Array
from bitfold.errors import FormatError
from bitfold.io.atomic import replace_atomically
from bitfold.io.file_checks import check_version, is_count, parse_json_object

FORMAT_VERSION = 1

_DTYPES: dict[str, np.dtype[Any]] = {
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "U32": np.dtype("<u4"),
    "U8": np.dtype("u1"),
}
_ALIGNMENT = 64
_MAX_HEADER_BYTES = 1 << 20
_BEFORE_CHECKSUM = b'{"__metadata__":{"crc32":"'
_CHECKSUM_DIGITS = 8

_MAX_READ_BYTES = 1 << 16
"""Files up to this size are read instead of mapped, because a mapping costs a file descriptor."""


class ArrayLayout(NamedTuple):
    """The type of an array, as safetensors writes it, and its shape.

    Parameters
    ----------
    dtype
        "U64", "I64", "U32" or "U8".
    shape
        Length of each axis.

    Examples
    --------
    >>> ArrayLayout("U8", (1000, 2)).n_bytes
    2000
    """

    dtype: str
    shape: tuple[int, ...]

    @classmethod
    def of(cls, array: AnyArray) -> ArrayLayout:
        """Return the layout of an array."""
        dtype = array.dtype.newbyteorder("<")
        return cls(next(name for name, known in _DTYPES.items() if known == dtype), array.shape)

    @property
    def n_bytes(self) -> int:
        """Number of bytes of the array."""
        return _DTYPES[self.dtype].itemsize * prod(self.shape)


class ArrayFile:
    """A file of arrays; opening it reads and verifies only the header.

    Parameters
    ----------
    path
        A file written by :func:`write_arrays`.
    kind
        What the file must contain, such as "codes".

    Attributes
    ----------
    path
        The file.
    n_bytes
        Size of the file.
    checksum
        CRC-32 of the header, which contains the checksums of the arrays.
    meta
        The values stored with the arrays.
    layout
        Type and shape of each array.

    Raises
    ------
    FormatError
        The file is damaged, or contains something else.
    NewerFormatError
        The file was written by a newer version of bitfold.

    Examples
    --------
    >>> write_arrays("counts.bin", "counts", {"unit": "rows"}, {"n": np.arange(3)})
    >>> file = ArrayFile("counts.bin", "counts")
    >>> file.meta, file.array("n").tolist()
    ({'unit': 'rows'}, [0, 1, 2])
    """

    def __init__(self, path: PathLike, kind: str) -> None:
        self.path = Path(path)
        self._data = _map_file(self.path)
        self.n_bytes = len(self._data)
        text = _read_header(self.path, self._data)
        self.checksum = zlib.crc32(_checked_part(text))
        header, content = _parse_header(self.path, text)
        check_version(self.path, content.get("format_version"), FORMAT_VERSION)
        if content.get("kind") != kind:
            raise FormatError(
                f"{path} contains bitfold {content.get('kind')!r}, but {kind!r} is needed."
            )
        try:
            self.meta: dict[str, Any] = dict(content["meta"].items())
            self._checksums: dict[str, int] = {name: content["crc32"][name] for name in header}
            self._places = dict(_locate_arrays(header, 8 + len(text), self.n_bytes))
        # An entry can have any wrong key, type or number.
        except (AttributeError, KeyError, TypeError, ValueError):
            raise FormatError(f"{path} is damaged: its arrays do not match its header.") from None

    @property
    def layout(self) -> dict[str, ArrayLayout]:
        """Type and shape of each array."""
        return {name: layout for name, (layout, _) in self._places.items()}

    def array(self, name: str) -> AnyArray:
        """Verify an array and return it.

        Parameters
        ----------
        name
            Name of the array.

        Returns
        -------
        A read-only array that lies in the file.

        Raises
        ------
        FormatError
            The array does not match its checksum.
        """
        (dtype, shape), begin = self._places[name]
        stored = self._data[begin : begin + ArrayLayout(dtype, shape).n_bytes]
        if zlib.crc32(stored.data) != self._checksums[name]:
            raise FormatError(f"{self.path} is damaged: array {name!r} fails its checksum.")
        return stored.view(_DTYPES[dtype]).reshape(shape)


def write_arrays(
    path: PathLike, kind: str, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]
) -> None:
    """Write arrays to a file, atomically and durably.

    Parameters
    ----------
    path
        The file to create or replace.
    kind
        What the file contains, such as "codes".
    meta
        A JSON object.
    arrays
        Arrays of 64-bit integers, uint32 or uint8, the widest type first.

    Raises
    ------
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import safetensors.numpy
    >>> write_arrays("counts.bin", "counts", {}, {"n": np.arange(3)})
    >>> safetensors.numpy.load_file("counts.bin")["n"].tolist()
    [0, 1, 2]
    """
    stored = {
        name: np.asarray(array, array.dtype.newbyteorder("<"), order="C")
        for name, array in arrays.items()
    }
    layout = {name: ArrayLayout.of(array) for name, array in stored.items()}
    checksums = {name: zlib.crc32(_bytes_of(array)) for name, array in stored.items()}
    with replace_atomically(path) as file:
        file.write(encode_header(kind, meta, layout, checksums))
        for array in stored.values():
            file.write(_bytes_of(array))


def encode_header(
    kind: str,
    meta: Mapping[str, Any],
    layout: Mapping[str, ArrayLayout],
    checksums: Mapping[str, int],
    *,
    min_bytes: int = 0,
) -> bytes:
    """Return the beginning of a file, up to the arrays.

    ``layout`` and ``checksums`` describe the arrays in their order. A file whose array grows pads
    the header to ``min_bytes``, so that it can replace the header at the end.
    """
    content = {"format_version": FORMAT_VERSION, "kind": kind, "meta": meta, "crc32": checksums}
    metadata = {"crc32": "0" * _CHECKSUM_DIGITS, "bitfold": _to_json(content)}
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, (dtype, shape) in layout.items():
        begin, end = end, end + layout[name].n_bytes
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    text = _to_json(header).encode().ljust(min_bytes - 8)
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    rest = _checked_part(text)
    checksum = b"%08x" % zlib.crc32(rest)
    return len(text).to_bytes(8, "little") + _BEFORE_CHECKSUM + checksum + rest


def _to_json(tree: Any) -> str:
    return json.dumps(tree, separators=(",", ":"))


def _bytes_of(array: AnyArray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _checked_part(text: bytes) -> bytes:
    """Return what the checksum of the header covers."""
    return text[len(_BEFORE_CHECKSUM) + _CHECKSUM_DIGITS :]


def _map_file(path: Path) -> UInt8Array:
    # Opening a pipe or a device could block.
    if not stat.S_ISREG(path.stat().st_mode):
        raise FormatError(f"{path} is a directory or a device, not a file.")
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size <= _MAX_READ_BYTES:
            return np.frombuffer(file.read(), np.uint8)
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def _read_header(path: Path, data: UInt8Array) -> bytes:
    """Return the text of the header, which matches its checksum."""
    length = int.from_bytes(data[:8].tobytes(), "little")
    # Checked before it is used: in a file of another format these bytes can be any number.
    if length > min(len(data) - 8, _MAX_HEADER_BYTES):
        raise FormatError(f"{path} is not a bitfold file, or its header is truncated or damaged.")
    text = data[8 : 8 + length].tobytes()
    rest = _checked_part(text)
    if text != _BEFORE_CHECKSUM + b"%08x" % zlib.crc32(rest) + rest:
        raise FormatError(f"{path} is not a bitfold file, or its header is damaged.")
    return text


def _parse_header(path: Path, text: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the entries of the arrays, and the JSON object of the metadata."""
    header = parse_json_object(text) or {}
    metadata = header.pop("__metadata__", None)
    content = metadata.get("bitfold") if isinstance(metadata, dict) else None
    content = parse_json_object(content) if isinstance(content, str) else None
    if content is None:
        raise FormatError(f"{path} is damaged: its header is not a JSON object.")
    return header, content


def _locate_arrays(
    entries: dict[str, dict[str, Any]], start: int, n_bytes: int
) -> Iterator[tuple[str, tuple[ArrayLayout, int]]]:
    """Yield where the arrays begin; they must fill the file without gaps or overlaps."""
    begin = start
    for name, entry in entries.items():
        layout = ArrayLayout(entry["dtype"], tuple(entry["shape"]))
        end = begin + layout.n_bytes if all(map(is_count, layout.shape)) else -1
        is_aligned = begin % _DTYPES[layout.dtype].itemsize == 0
        if not is_aligned or entry["data_offsets"] != [begin - start, end - start]:
            raise ValueError("gap or overlap, or not aligned")
        yield name, (layout, begin)
        begin = end
    if begin != n_bytes:
        raise ValueError("too short or too long")
