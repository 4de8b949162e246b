"""Zarr: arrays and groups, damaged and dangerous ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numcodecs
import numcodecs.abc
import numpy as np
import pytest
import zarr

from bitfold.errors import FormatError, ParameterError
from bitfold.io import Stream, open_vectors, read_vectors

X = np.random.default_rng(0).integers(0, 200, (300, 5)).astype(np.float32)


def write_zarr(path: Path, **options: Any) -> Path:
    zarr.create_array(path, shape=X.shape, dtype="f4", chunks=(40, 5), **options)[:] = X
    return path


@pytest.mark.parametrize("options", [{}, {"zarr_format": 2}, {"shards": (80, 5)}], ids=str)
def test_array_is_streamed(options: dict[str, Any], tmp_path: Path) -> None:
    path = write_zarr(tmp_path / "x.zarr", **options)
    stream = open_vectors(path)
    assert isinstance(stream, Stream)
    assert (stream.shape, stream.dtype) == (X.shape, X.dtype)
    assert np.array_equal(stream[33:99], X[33:99])
    assert np.array_equal(read_vectors(path), X)


def test_array_of_a_group_is_chosen_by_name(tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "x.zarr", mode="w")
    for name, matrix in (("a", X), ("b", X + 1)):
        group.create_array(name, shape=X.shape, dtype="f4")[:] = matrix
    assert np.array_equal(read_vectors(tmp_path / "x.zarr", "b"), X + 1)
    with pytest.raises(ParameterError, match=r"matrices in x\.zarr \('a', 'b'\), got None"):
        open_vectors(tmp_path / "x.zarr")


def test_matrix_without_rows_is_rejected(tmp_path: Path) -> None:
    zarr.create_array(tmp_path / "x.zarr", shape=(0, 5), dtype="f4", chunks=(1, 5))
    with pytest.raises(FormatError, match=r"got shape \(0, 5\)"):
        open_vectors(tmp_path / "x.zarr")


PICKLE = {"id": "pickle", "protocol": 2}
DELTA = {"id": "delta", "dtype": "<f4"}


@pytest.mark.parametrize("filters", [[PICKLE], [PICKLE, DELTA], [DELTA, PICKLE]], ids=len)
def test_codec_that_unpickles_is_rejected_unread(tmp_path: Path, filters: list[Any]) -> None:
    path = write_zarr(tmp_path / "x.zarr", zarr_format=2)
    metadata = json.loads((path / ".zarray").read_text())
    (path / ".zarray").write_text(json.dumps(metadata | {"filters": filters, "compressor": None}))
    for chunk in path.glob("[0-9]*"):
        chunk.write_bytes(f"cos\nsystem\n(S'touch {tmp_path / 'run'}'\ntR.".encode())
    with pytest.raises(FormatError, match=r"x\.zarr (uses the codec|.* a Zarr array)"):
        read_vectors(path)
    assert not (tmp_path / "run").exists()


class _UnknownCodec(numcodecs.abc.Codec):
    """A codec of some other package."""

    codec_id = "unknown"

    def encode(self, buf: Any) -> Any:
        return buf

    def decode(self, buf: Any, out: Any = None) -> Any:
        raise AssertionError("the codec was run")


def test_unknown_codec_is_rejected_unread(tmp_path: Path) -> None:
    numcodecs.register_codec(_UnknownCodec)
    path = write_zarr(tmp_path / "x.zarr", zarr_format=2, filters=[_UnknownCodec()])
    with pytest.raises(FormatError, match="codec 'unknown'"):
        read_vectors(path)


@pytest.mark.parametrize("damage", ["junk", "no metadata", "chunk"])
def test_damaged_array_is_rejected(tmp_path: Path, damage: str) -> None:
    path = write_zarr(tmp_path / "x.zarr")
    if damage == "junk":
        (path / "zarr.json").write_text("junk")
    elif damage == "no metadata":
        (path / "zarr.json").unlink()
    else:
        (path / "c" / "3" / "0").write_bytes(b"junk")
    with pytest.raises(FormatError, match=r"x\.zarr .* a Zarr array of numbers"):
        read_vectors(path)
