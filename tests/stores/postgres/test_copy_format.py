"""The binary COPY format, without a server."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import bitfold as bf
from bitfold.stores import Batch
from bitfold.stores.postgres import copy_format

CODES = bf.Codes.from_bits([[1, 0, 1], [0, 0, 1]])


def test_rows_have_the_documented_layout() -> None:
    batch = Batch(np.array([7, -1]), CODES, np.array([[1.5], [2]], np.float32), {"a": ["é", None]})
    first = struct.pack(">hiqiiBihhf", 4, 8, 7, 5, 3, 0b1010_0000, 8, 1, 0, 1.5)
    second = struct.pack(">hiqiiBihhf", 4, 8, -1, 5, 3, 0b0010_0000, 8, 1, 0, 2)
    null = struct.pack(">i", -1)
    expected = first + struct.pack(">i", 2) + "é".encode() + second + null
    assert copy_format.encode_batch(batch, {"a": str}) == expected


def test_values_of_every_type() -> None:
    when = datetime(2000, 1, 1, tzinfo=UTC) + timedelta(seconds=1)
    types: dict[str, type] = {"a": bool, "b": int, "c": float, "d": datetime}
    columns = {"a": [True], "b": [-5], "c": [0.5], "d": [when]}
    data = copy_format.encode_batch(Batch(np.array([0]), CODES[:1], None, columns), types)
    assert data.endswith(struct.pack(">i?iqidiq", 1, True, 8, -5, 8, 0.5, 8, 1_000_000))


@pytest.mark.parametrize("chunk_size", [1, 7, 25, 10_000])
def test_codes_round_trip_in_chunks_of_any_size(chunk_size: int) -> None:
    rng = np.random.default_rng(0)
    codes = bf.Codes.from_bits(rng.integers(0, 2, (50, 13), np.uint8))
    ids = rng.permutation(50)
    rows = copy_format.encode_batch(Batch(ids, codes), {})
    data = copy_format.HEADER + rows + copy_format.TRAILER
    chunks = [data[i : i + chunk_size] for i in range(0, len(data), chunk_size)]
    blocks = list(copy_format.decode_codes(chunks, 13, min_rows=20))
    assert np.array_equal(np.concatenate([block_ids for block_ids, _ in blocks]), ids)
    assert np.array_equal(np.concatenate([packed for _, packed in blocks]), codes.packed)
    assert all(len(block_ids) >= 20 for block_ids, _ in blocks[:-1])


def test_vectors_are_decoded() -> None:
    fields = [struct.pack(">hhff", 2, 0, 1.5, -2), struct.pack(">hhff", 2, 0, 3, 4)]
    assert copy_format.decode_vectors(fields, 2).tolist() == [[1.5, -2], [3, 4]]
