"""Postgres's binary COPY format, rows at a time: fixed-width fields by numpy, others one by one.

A row is the number of its fields as int16, then each field as its length (int32, -1 for NULL) and
its bytes, all big-endian. A ``bit(n)`` is n as int32 and the bits packed as ours are; pgvector's
``vector`` is its width as int16, another int16 of 0, and float32s.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

import numpy as np

from bitfold._types import AnyArray, Float32Array, Ids, UInt8Array
from bitfold.codes import count_bytes

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"

_NULL = b"\xff\xff\xff\xff"
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


def encode(
    ids: Ids,
    packed: UInt8Array,
    n_bits: int,
    vectors: Float32Array | None,
    columns: Mapping[str, list[Any]],
    types: Mapping[str, type],
) -> bytes:
    """Return rows of id, code, originals if any, and the user's columns in their order.

    Parameters
    ----------
    ids, packed, n_bits
        The codes and what tells them apart.
    vectors
        The originals, or None.
    columns
        Values by column; None is NULL.
    types
        What the columns hold.
    """
    fixed = _fixed(ids, packed, n_bits, vectors, len(columns))
    if not columns:
        return fixed.tobytes()
    whole, width = fixed.tobytes(), fixed.dtype.itemsize
    beginnings = (whole[i : i + width] for i in range(0, len(whole), width))
    fields = [map(_field(types[name]), listed) for name, listed in columns.items()]
    return b"".join(chain.from_iterable(zip(beginnings, *fields, strict=True)))


def decode(chunks: Iterable[Any], n_bits: int, rows: int) -> Iterator[tuple[Ids, UInt8Array]]:
    """Read ids and codes from the chunks that COPY sends, so many rows at a time.

    Parameters
    ----------
    chunks
        What ``COPY (SELECT id, code …) TO STDOUT (FORMAT binary)`` gives.
    n_bits
        Length of the codes.
    rows
        Rows of a batch, at least.
    """
    layout = _layout(n_bits, None)
    held, skipped = bytearray(), False
    for chunk in chunks:
        held += chunk
        if not skipped and len(held) >= len(HEADER):
            del held[: len(HEADER)]
            skipped = True
        if len(held) >= rows * layout.itemsize + len(TRAILER):
            whole = len(held) // layout.itemsize * layout.itemsize
            yield _parts(bytes(held[:whole]), layout)
            del held[:whole]
    whole = len(held) // layout.itemsize * layout.itemsize
    if whole:
        yield _parts(bytes(held[:whole]), layout)


def decode_vectors(fields: list[bytes], width: int) -> Float32Array:
    """Read the binary form of pgvector's vectors.

    Parameters
    ----------
    fields
        One for each vector.
    width
        Their number of features.
    """
    layout = np.dtype([("head", ">i2", 2), ("values", ">f4", width)])
    return np.frombuffer(b"".join(fields), layout)["values"].astype(np.float32)


def _layout(n_bits: int, width: int | None) -> np.dtype[Any]:
    """The bytes of a row's fields of fixed width."""
    fields: list[Any] = [
        ("count", ">i2"),
        ("id_size", ">i4"),
        ("id", ">i8"),
        ("code_size", ">i4"),
        ("n_bits", ">i4"),
        ("code", "u1", count_bytes(n_bits)),
    ]
    if width is not None:
        fields += [("vector_size", ">i4"), ("head", ">i2", 2), ("vector", ">f4", width)]
    return np.dtype(fields)


def _fixed(
    ids: Ids, packed: UInt8Array, n_bits: int, vectors: Float32Array | None, n_columns: int
) -> AnyArray:
    width = None if vectors is None else vectors.shape[1]
    rows = np.zeros(len(ids), _layout(n_bits, width))
    rows["count"] = 2 + (vectors is not None) + n_columns
    rows["id_size"], rows["id"] = 8, ids
    rows["code_size"], rows["n_bits"], rows["code"] = 4 + packed.shape[1], n_bits, packed
    if vectors is not None:
        rows["vector_size"] = 4 + 4 * vectors.shape[1]
        rows["head"][:, 0], rows["vector"] = vectors.shape[1], vectors
    return rows


def _parts(data: bytes, layout: np.dtype[Any]) -> tuple[Ids, UInt8Array]:
    rows = np.frombuffer(data, layout)
    return rows["id"].astype(np.int64), np.ascontiguousarray(rows["code"])


def _field(kind: type) -> Callable[[Any], bytes]:
    encoded = _ENCODERS[kind]
    return lambda value: _NULL if value is None else encoded(value)


def _text(value: str) -> bytes:
    content = value.encode()
    return struct.pack(">i", len(content)) + content


def _time(value: datetime) -> bytes:
    return struct.pack(">iq", 8, (value - _EPOCH) // timedelta(microseconds=1))


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    bool: lambda value: struct.pack(">i?", 1, value),
    int: lambda value: struct.pack(">iq", 8, value),
    float: lambda value: struct.pack(">id", 8, value),
    str: _text,
    datetime: _time,
}
