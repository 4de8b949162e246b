"""Vectors opened without being read, streams of .npy, Zarr, and labels."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import h5py
import numcodecs
import numcodecs.abc
import numpy as np
import pyarrow as pa
import pytest
import zarr
from numpy.typing import NDArray
from pyarrow import parquet

from bitfold.io import open_vectors, read_labels, read_vectors
from bitfold.errors import FormatError
from bitfold.io.stream import Stream

X = np.random.default_rng(0).integers(0, 200, (300, 5)).astype(np.float32)


def write_zarr(path: Path, **options: Any) -> Path:
    zarr.create_array(path, shape=X.shape, dtype="f4", chunks=(40, 5), **options)[:] = X
    return path


def write_parquet(path: Path, matrix: NDArray[Any] = X) -> Path:
    lists = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])
    parquet.write_table(pa.table({"v": lists}), path, row_group_size=70)
    return path


def test_what_is_not_in_one_piece_is_streamed(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=X, chunks=(40, 5), compression="gzip")
    for path in (
        tmp_path / "x.h5",
        write_zarr(tmp_path / "x.zarr"),
        write_zarr(tmp_path / "2.zarr", zarr_format=2),
        write_zarr(tmp_path / "shards.zarr", shards=(80, 5)),
        write_parquet(tmp_path / "x.parquet"),
    ):
        opened = open_vectors(path)
        assert isinstance(opened, Stream)
        assert (opened.shape, opened.dtype) == (X.shape, X.dtype)
        assert np.array_equal(opened[33:99], X[33:99])
        assert np.array_equal(read_vectors(path), X)


def test_what_is_in_one_piece_is_mapped(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = X
    for name in ("x.npy", "x.h5"):
        assert isinstance(open_vectors(tmp_path / name), np.memmap)


def test_a_folder_of_parquet_files_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    folder = tmp_path / "x.parquet"
    folder.mkdir()
    for number in range(3):
        write_parquet(folder / f"{number}.parquet", X[100 * number : 100 * number + 100])
    assert np.array_equal(read_vectors(folder), X)


def test_a_group_of_zarr_arrays(tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "x.zarr", mode="w")
    for name, matrix in (("a", X), ("b", X + 1)):
        group.create_array(name, shape=X.shape, dtype="f4")[:] = matrix
    assert np.array_equal(read_vectors(tmp_path / "x.zarr", "b"), X + 1)
    with pytest.raises(ValueError, match=r"one of the matrices of x\.zarr, 'a', 'b', got None"):
        open_vectors(tmp_path / "x.zarr")


PICKLE = {"id": "pickle", "protocol": 2}
DELTA = {"id": "delta", "dtype": "<f4"}


@pytest.mark.parametrize("filters", [[PICKLE], [PICKLE, DELTA], [DELTA, PICKLE]], ids=len)
def test_zarr_that_would_unpickle_is_refused_unread(tmp_path: Path, filters: list[Any]) -> None:
    path = write_zarr(tmp_path / "x.zarr", zarr_format=2)
    about = json.loads((path / ".zarray").read_text())
    (path / ".zarray").write_text(json.dumps(about | {"filters": filters, "compressor": None}))
    for chunk in path.glob("[0-9]*"):
        chunk.write_bytes(f"cos\nsystem\n(S'touch {tmp_path / 'run'}'\ntR.".encode())
    with pytest.raises(FormatError, match=r"x\.zarr must be (of codecs known to be safe|a Zarr)"):
        read_vectors(path)
    assert not (tmp_path / "run").exists()


class _Unknown(numcodecs.abc.Codec):
    """A codec that some package may bring, and nobody here has looked at."""

    codec_id = "unknown"

    def encode(self, buf: Any) -> Any:
        return buf

    def decode(self, buf: Any, out: Any = None) -> Any:
        raise AssertionError("it was run")


def test_zarr_of_unknown_codecs_is_refused_unread(tmp_path: Path) -> None:
    numcodecs.register_codec(_Unknown)
    path = write_zarr(tmp_path / "x.zarr", zarr_format=2, filters=[_Unknown()])
    with pytest.raises(FormatError, match=r"must be of codecs known to be safe, got 'unknown'\.$"):
        read_vectors(path)


@pytest.mark.parametrize("spoil", ["junk", "no metadata", "chunk"])
def test_damaged_zarr(tmp_path: Path, spoil: str) -> None:
    path = write_zarr(tmp_path / "x.zarr")
    if spoil == "junk":
        (path / "zarr.json").write_text("junk")
    elif spoil == "no metadata":
        (path / "zarr.json").unlink()
    else:
        (path / "c" / "3" / "0").write_bytes(b"junk")
    with pytest.raises(FormatError, match=r"x\.zarr must be a Zarr array of numbers, got someth"):
        read_vectors(path)


def test_damage_in_the_middle_is_one_sentence(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        data = file.create_dataset("x", data=X, chunks=(40, 5), compression="gzip")
        chunk = data.id.get_chunk_info(5)
    with (tmp_path / "x.h5").open("r+b") as raw:
        raw.seek(chunk.byte_offset)
        raw.write(b"\x00" * chunk.size)
    opened = open_vectors(tmp_path / "x.h5")
    assert opened.shape == X.shape
    with pytest.raises(FormatError, match=r"x\.h5 must be an HDF5 file with a matrix, got somethi"):
        opened[:]


def test_a_missing_zarr_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_zarr(tmp_path / "x.zarr")
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(ImportError, match=r'needs zarr: pip install "bitfold\[zarr\]"\.$'):
        open_vectors(path)


# Streams of .npy


def npy(matrix: NDArray[Any], **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, matrix, **options)
    return file.getvalue()


class Pipe(io.RawIOBase):
    """Gives a few bytes at a time and cannot go back."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        part = self._content.read(min(len(room), 777))
        room[: len(part)] = part
        return len(part)


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", ">i2", "?"])
def test_a_pipe_is_read_as_it_comes(dtype: str, buffered: bool) -> None:
    matrix = X.astype(dtype)
    pipe: Any = Pipe(npy(matrix))
    stream = open_vectors(io.BufferedReader(pipe) if buffered else pipe)
    assert (stream.shape, stream.once) == (X.shape, True)
    assert np.array_equal(stream[:250], matrix[:250])
    assert np.array_equal(stream[250:], matrix[250:])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the input must be a .npy stream of numbers, got something else."),
        (npy(X)[:40], "the input must be a .npy stream of numbers, got something else."),
        (npy(X[0]), "the input must hold a matrix of real numbers, got float32 of shape (5,)."),
        (npy(X[:0]), "the input must hold a matrix of real numbers, got float32 of shape (0, 5)."),
        (npy(np.array([[{}]]), allow_pickle=True), "the input must hold a matrix of real numbers"),
        (npy(np.asfortranarray(X)), "the input must hold row after row, got column after column."),
        (npy(X)[:-7], "the input must hold 300 rows, as its header says, got 299."),
    ],
)
def test_what_is_wrong_with_a_pipe(content: bytes, sentence: str) -> None:
    with pytest.raises(FormatError) as caught:
        stream = open_vectors(io.BytesIO(content))
        stream[:200], stream[200:]
    assert str(caught.value).startswith(sentence)


# Labels

LABELS = np.array([3, 1, 2])


def test_labels_of_every_format(tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", LABELS)
    np.savez(tmp_path / "y.npz", y=LABELS, x=X)
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file["y"], file["words"] = LABELS, ["a", "b", "é"]
    table = pa.table({"y": LABELS, "words": ["a", "b", "é"], "v": [[1.0]] * 3})
    parquet.write_table(table, tmp_path / "y.parquet")
    (tmp_path / "y.txt").write_text("a\nb\né\n", "utf-8")
    assert read_labels(tmp_path / "y.npy").tolist() == [3, 1, 2]
    for name in ("y.npz", "y.h5", "y.parquet"):
        assert read_labels(tmp_path / name, "y").tolist() == [3, 1, 2]
    for name in ("y.h5", "y.parquet"):
        assert read_labels(tmp_path / name, "words").tolist() == ["a", "b", "é"]
    assert read_labels(tmp_path / "y.txt").tolist() == ["a", "b", "é"]
    with pytest.raises(ValueError, match=r"one of the columns of y\.parquet, 'y', 'words', got"):
        read_labels(tmp_path / "y.parquet")


def test_labels_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "y.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match="must be a text file with a label in each line"):
        read_labels(tmp_path / "y.txt")
    (tmp_path / "y.txt").write_bytes(b"")
    with pytest.raises(FormatError, match="must be a file with labels in it, got an empty one"):
        read_labels(tmp_path / "y.txt")
    np.save(tmp_path / "y.npy", np.zeros((2, 2, 2)))
    with pytest.raises(
        FormatError, match=r"must hold labels, .*, got float64 of shape \(2, 2, 2\)"
    ):
        read_labels(tmp_path / "y.npy")
    parquet.write_table(pa.table({"y": [1, None]}), tmp_path / "y.parquet")
    with pytest.raises(FormatError, match="a label in every row, got missing ones"):
        read_labels(tmp_path / "y.parquet")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_labels(tmp_path / "none.npy")
