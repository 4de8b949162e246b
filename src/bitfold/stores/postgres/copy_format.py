"""Postgres's binary COPY format, encoded and decoded in blocks of rows with numpy.

psycopg's ``write_row`` converts value by value, and makes a load of 64-bit codes 1.4 times as slow.

A row is its number of fields as int16, then each field as its length (int32, -1 for NULL) and its
bytes, all big-endian. A ``bit(n)`` is n as int32 followed by the packed bits. A ``vector`` of
pgvector is its width as int16, an int16 of 0, and float32 values.
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
from bitfold.search import Batch

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"

_NULL = b"\xff\xff\xff\xff"
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


def encode_batch(batch: Batch, types: Mapping[str, type]) -> bytes:
    """Return the rows of a batch: id, code, vector if there is one, and the columns in order."""
    columns = batch.columns or {}
    fixed = _encode_fixed(batch, len(columns))
    if not columns:
        return fixed.tobytes()
    data, width = fixed.tobytes(), fixed.dtype.itemsize
    starts = (data[i : i + width] for i in range(0, len(data), width))
    fields = [map(_field_encoder(types[name]), values) for name, values in columns.items()]
    return b"".join(chain.from_iterable(zip(starts, *fields, strict=True)))


def decode_codes(
    chunks: Iterable[Any], n_bits: int, min_rows: int
) -> Iterator[tuple[Ids, UInt8Array]]:
    """Decode the ids and codes of ``COPY (SELECT id, code ...) TO STDOUT (FORMAT binary)``.

    Blocks have at least ``min_rows`` rows, except the last.
    """
    row_type = _row_type(n_bits)
    buffer, has_header = bytearray(), True
    for chunk in chunks:
        buffer += chunk
        if has_header and len(buffer) >= len(HEADER):
            del buffer[: len(HEADER)]
            has_header = False
        if len(buffer) >= min_rows * row_type.itemsize + len(TRAILER):
            yield _take_rows(buffer, row_type)
    if len(buffer) >= row_type.itemsize:
        yield _take_rows(buffer, row_type)


def decode_vectors(fields: list[bytes], n_features: int) -> Float32Array:
    """Decode vectors of pgvector, one field per vector."""
    layout = np.dtype([("header", ">i2", 2), ("values", ">f4", n_features)])
    return np.frombuffer(b"".join(fields), layout)["values"].astype(np.float32)


def _row_type(n_bits: int, n_features: int = 0) -> np.dtype[Any]:
    """Return the bytes of the fields of fixed width as a numpy type."""
    fields: list[Any] = [
        ("n_fields", ">i2"),
        ("id_size", ">i4"),
        ("id", ">i8"),
        ("code_size", ">i4"),
        ("n_bits", ">i4"),
        ("code", "u1", count_bytes(n_bits)),
    ]
    if n_features:
        fields += [("vector_size", ">i4"), ("header", ">i2", 2), ("vector", ">f4", n_features)]
    return np.dtype(fields)


def _encode_fixed(batch: Batch, n_columns: int) -> AnyArray:
    """Return the fields of fixed width: id, code and vector."""
    codes, vectors = batch.codes, batch.vectors
    n_features = 0 if vectors is None else vectors.shape[1]
    rows = np.zeros(len(codes), _row_type(codes.n_bits, n_features))
    rows["n_fields"] = 2 + (vectors is not None) + n_columns
    rows["id_size"], rows["id"] = 8, batch.ids
    rows["code_size"], rows["n_bits"] = 4 + codes.n_bytes, codes.n_bits
    rows["code"] = codes.packed
    if vectors is not None:
        rows["vector_size"] = 4 + 4 * n_features
        rows["header"][:, 0], rows["vector"] = n_features, vectors
    return rows


def _take_rows(buffer: bytearray, row_type: np.dtype[Any]) -> tuple[Ids, UInt8Array]:
    """Remove the complete rows from the start of a buffer and return their ids and codes."""
    size = len(buffer) // row_type.itemsize * row_type.itemsize
    rows = np.frombuffer(bytes(buffer[:size]), row_type)
    del buffer[:size]
    return rows["id"].astype(np.int64), np.ascontiguousarray(rows["code"])


def _field_encoder(kind: type) -> Callable[[Any], bytes]:
    encode = _ENCODERS[kind]
    return lambda value: _NULL if value is None else encode(value)


def _encode_text(value: str) -> bytes:
    content = value.encode()
    return struct.pack(">i", len(content)) + content


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    bool: lambda value: struct.pack(">i?", 1, value),
    int: lambda value: struct.pack(">iq", 8, value),
    float: lambda value: struct.pack(">id", 8, value),
    str: _encode_text,
    datetime: lambda value: struct.pack(">iq", 8, (value - _EPOCH) // timedelta(microseconds=1)),
}
