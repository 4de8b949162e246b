"""The one file format of bitfold models: safetensors in, safetensors out; no pickle anywhere.

A file is a valid safetensors file: the length of the header as 8 little-endian bytes, the header
as JSON padded with spaces, then the bytes of the arrays without gaps. ``__metadata__`` holds the
strings ``format`` ("bitfold"), ``format_version`` ("1"), ``kind``, ``meta`` (JSON) and ``sha256``.
That checksum is over the compact ASCII JSON text, keys sorted, of
``[metadata without sha256, {name: [dtype, shape]}]``, then the bytes of the arrays sorted by name:
a flipped bit is either seen or says the same thing.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray, PathLike, UInt8Array
from bitfold.errors import FormatError
from bitfold.io.atomic import replace_atomically

Arrays = dict[str, AnyArray]

_DTYPES = {"BOOL": np.dtype("?")} | {
    code: np.dtype(f"<{code[0].lower()}{int(code[1:]) // 8}")
    for code in ("U8", "I8", "U16", "I16", "F16", "U32", "I32", "F32", "U64", "I64", "F64")
}
# By its text, because numpy has several types of one layout (long and long long).
_CODES = {dtype.str: code for code, dtype in _DTYPES.items()}

_VERSION = "1"
_MAX_HEADER = 100_000_000  # the limit of safetensors itself


class Stored(NamedTuple):
    """What one file holds: what it is (as in ``"IMH"``), a tree of JSON values, and arrays."""

    kind: str
    meta: dict[str, Any]
    arrays: Arrays


def write(path: PathLike, stored: Stored) -> None:
    """Write a model, atomically and durably.

    Parameters
    ----------
    path
        The file to create or replace.
    stored
        What to write; arrays of any memory order are stored in C order.
    """
    kind = _text(stored.kind, "kind", "Stored")
    meta = _dump(stored.meta, kind)
    arrays = {
        _text(name, "an array's name", kind): _storable(array, name, kind)
        for name, array in stored.arrays.items()
    }
    # Widest items first: then every array starts at a multiple of its item size.
    placed = dict(sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0])))
    header = _encode_header(kind, meta, placed)
    with replace_atomically(path) as file:
        file.write(header)
        for array in placed.values():
            file.write(_flat(array))


def read(path: PathLike, *, mmap: bool = False) -> Stored:
    """Read a model and verify every byte of it.

    Parameters
    ----------
    path
        A file written by :func:`write`.
    mmap
        Return read-only arrays that lie in the file, shared between processes, instead of
        writable ones in memory.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    try:
        return _read(path, mmap)
    except FormatError as error:
        raise FormatError(f"{path} {error}.") from None


def _text(value: object, name: str, owner: str) -> str:
    # Not printable are lone surrogates too: Python would write them, safetensors not read them.
    if not isinstance(value, str) or not value.isprintable() or value == "__metadata__":
        _validation.raise_invalid(
            name, owner, "printable text other than '__metadata__'", repr(value)
        )
    return value


def _dump(meta: dict[str, Any], owner: str) -> str:
    """Return ``meta`` as JSON, refused if it would not come back equal."""
    try:
        text = json.dumps(meta, allow_nan=False, separators=(",", ":"))
        same = parse(text) == meta
        reason = "" if same else "a tuple, a key that is no string, or no dict at all"
    except (TypeError, ValueError, RecursionError) as error:
        reason = f"an error ({error})"
    if reason:
        _validation.raise_invalid("meta", owner, "a dict that JSON gives back unchanged", reason)
    return text


def _storable(array: AnyArray, name: str, owner: str) -> AnyArray:
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in _CODES:
        demand = "booleans, integers or reals of at most 64 bits"
        _validation.raise_invalid(f"array {name!r}", owner, demand, f"dtype {array.dtype}")
    return np.asarray(array, dtype, order="C")


def _flat(array: AnyArray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _digest(metadata: dict[str, str], arrays: Arrays) -> str:
    about = {name: [_CODES[a.dtype.str], a.shape] for name, a in arrays.items()}
    text = json.dumps([metadata, about], sort_keys=True, separators=(",", ":"))
    checksum = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        checksum.update(_flat(arrays[name]))
    return checksum.hexdigest()


def _encode_header(kind: str, meta: str, arrays: Arrays) -> bytes:
    metadata = {"format": "bitfold", "format_version": _VERSION, "kind": kind, "meta": meta}
    header: dict[str, Any] = {"__metadata__": metadata | {"sha256": _digest(metadata, arrays)}}
    end = 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        about = {"dtype": _CODES[array.dtype.str], "shape": array.shape}
        header[name] = about | {"data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    # The first array starts on a cache line.
    text += b" " * (-(8 + len(text)) % 64)
    if len(text) > _MAX_HEADER:
        _validation.raise_invalid("meta", kind, f"at most {_MAX_HEADER} bytes of JSON", len(text))
    return len(text).to_bytes(8, "little") + text


def _read(path: Path, mmap: bool) -> Stored:
    if not path.is_file():
        raise FormatError("is a directory or a device, not a bitfold file")
    with path.open("rb") as file:
        header = _read_header(file)
        metadata = _take_metadata(header)
        start = file.tell()
        data = np.memmap(file, np.uint8, "r")[start:] if mmap else np.fromfile(file, np.uint8)
    arrays = _lay_out(header, data)
    if metadata.pop("sha256") != _digest(metadata, arrays):
        raise FormatError("is damaged: its checksum does not match its content")
    meta = parse(metadata["meta"])
    if meta is None:
        raise FormatError("is damaged: its meta is not a JSON object")
    return Stored(metadata["kind"], meta, arrays)


def parse(text: str | bytes) -> dict[str, Any] | None:
    """Return a JSON object, None if it is anything else."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return tree if isinstance(tree, dict) else None


def _read_header(file: BinaryIO) -> dict[str, Any]:
    size = os.fstat(file.fileno()).st_size
    if not size:
        raise FormatError("is empty, not a bitfold file")
    length = int.from_bytes(file.read(8), "little")
    # Checked before anything is read: in a foreign file these eight bytes are any number.
    fits = length <= min(size - 8, _MAX_HEADER) and length % 8 == 0
    header = parse(file.read(length)) if fits else None
    if header is None:
        raise FormatError("is not a bitfold file, or its header is truncated or damaged")
    return header


def _take_metadata(header: dict[str, Any]) -> dict[str, str]:
    """Take our strings out of the header, which keeps the arrays."""
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or metadata.get("format") != "bitfold":
        raise FormatError("is a safetensors file, but not one of bitfold")
    texts = {key: text for key, text in metadata.items() if isinstance(text, str)}
    version = texts.get("format_version", "")
    if version.isdecimal() and version > _VERSION:
        reads = f"format {version}, this one reads {_VERSION}"
        raise FormatError(f"was written by a newer bitfold ({reads}); upgrade bitfold")
    complete = {"kind", "meta", "sha256"} <= texts.keys()
    if version != _VERSION or texts != metadata or not complete:
        raise FormatError("is damaged: its metadata are incomplete")
    return texts


def _lay_out(header: dict[str, Any], data: UInt8Array) -> Arrays:
    """Lay the arrays over the data, which they must fill without gap or overlap."""
    arrays, position = {}, 0
    try:
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            dtype, (begin, end) = _DTYPES[entry["dtype"]], entry["data_offsets"]
            if begin != position or begin % dtype.itemsize:
                raise ValueError("misplaced")
            arrays[name] = data[begin:end].view(dtype).reshape(tuple(entry["shape"]))
            position = end
        if position != data.size:
            raise ValueError("too short or too long")
    # Whatever can be wrong with an entry: a key, a type, a number.
    except (KeyError, TypeError, ValueError):
        raise FormatError("is truncated or damaged: its arrays do not fit its header") from None
    return arrays
