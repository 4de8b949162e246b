"""safetensors files: chosen tensors, mapped without a copy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from bitfold.errors import FormatError, ParameterError
from bitfold.io import open_vectors, read_labels, read_vectors

X = np.random.default_rng(0).standard_normal((7, 5)).astype(np.float32)


def write_raw(path: Path, header: dict[str, Any], data: bytes) -> Path:
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u1", "i8", "?"])
def test_types(dtype: str, tmp_path: Path) -> None:
    path, matrix = tmp_path / "x.safetensors", (10 * X).astype(dtype)
    save_file({"x": matrix, "y": np.arange(7)}, path)
    found = read_vectors(path)
    assert isinstance(found, np.memmap)
    assert found.dtype == matrix.dtype
    assert np.array_equal(found, matrix)
    assert read_labels(path, "y").tolist() == list(range(7))


def test_tensors_are_chosen_by_name(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_file({"a": X, "b": X + 1, "c": X[0]}, path)
    assert np.array_equal(read_vectors(path, "b"), X + 1)
    for wrong in (None, "c"):
        with pytest.raises(ParameterError, match=r"'a', 'b'"):
            read_vectors(path, wrong)


def test_matrix_at_an_odd_byte_is_streamed(tmp_path: Path) -> None:
    entry = {"dtype": "F32", "shape": [7, 5], "data_offsets": [1, 141]}
    byte = {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}
    length = len(json.dumps({"b": byte, "x": entry}))
    header = {"b": byte, "x": entry, "__metadata__": {"pad": " " * ((-length - 31) % 8)}}
    path = write_raw(tmp_path / "x.safetensors", header, b"\0" + X.tobytes())
    stream = open_vectors(path)
    assert np.array_equal(stream[:], X)
    assert stream[2:4].flags.aligned


def test_types_that_numpy_lacks_are_rejected(tmp_path: Path) -> None:
    entry = {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}
    path = write_raw(tmp_path / "x.safetensors", {"x": entry}, bytes(8))
    with pytest.raises(FormatError, match=r"'x' of type BF16, .* F16 or F32"):
        read_vectors(path)


def entry(**changes: Any) -> dict[str, Any]:
    return {"x": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]} | changes}


INVALID = {
    "huge": (entry(shape=[1 << 40, 1 << 40], data_offsets=[0, 1 << 60]), bytes(8)),
    "short": (entry(), bytes(7)),
    "long": (entry(), bytes(9)),
    "negative": (entry(shape=[-1, -2]), bytes(8)),
    "vector": (entry(shape=[2]), bytes(8)),
    "no rows": (entry(shape=[0, 2], data_offsets=[0, 0]), b""),
    "unknown type": (entry(dtype="Q8"), bytes(8)),
    "no tensors": ({}, b""),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_file_is_rejected(name: str, tmp_path: Path) -> None:
    path = write_raw(tmp_path / "x.safetensors", *INVALID[name])
    with pytest.raises(FormatError) as caught:
        read_vectors(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("content", [b"hello", b"\xff" * 40, bytes(40)])
def test_other_content_is_rejected(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"x\.safetensors"):
        read_vectors(path)
