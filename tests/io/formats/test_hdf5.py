"""HDF5: contiguous, chunked and damaged data sets."""

from __future__ import annotations

import struct
from pathlib import Path

import h5py
import numpy as np
import pytest

from bitfold.errors import FormatError
from bitfold.io import Stream, open_vectors, read_labels, read_vectors

X = np.random.default_rng(0).integers(0, 200, (300, 5)).astype(np.float32)


def test_contiguous_data_set_is_mapped(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["group/x"] = X
        file["number"] = 3
    assert isinstance(open_vectors(tmp_path / "x.h5"), np.memmap)
    assert np.array_equal(read_vectors(tmp_path / "x.h5"), X)


def test_chunked_data_set_is_streamed(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=X, chunks=(40, 5), compression="gzip")
    stream = open_vectors(tmp_path / "x.h5")
    assert isinstance(stream, Stream)
    assert (stream.shape, stream.dtype) == (X.shape, X.dtype)
    assert np.array_equal(stream[33:99], X[33:99])
    assert np.array_equal(read_vectors(tmp_path / "x.h5"), X)


def test_user_block_and_byte_order(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w", userblock_size=512) as file:
        file["x"] = X
    assert np.array_equal(read_vectors(tmp_path / "x.h5"), X)
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file.create_dataset("x", data=X, dtype=">f8")
    assert np.array_equal(read_vectors(tmp_path / "y.h5"), X)


def test_damaged_chunk_is_reported_when_it_is_read(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        data = file.create_dataset("x", data=X, chunks=(40, 5), compression="gzip")
        chunk = data.id.get_chunk_info(5)
    with (tmp_path / "x.h5").open("r+b") as raw:
        raw.seek(chunk.byte_offset)
        raw.write(b"\x00" * chunk.size)
    stream = open_vectors(tmp_path / "x.h5")
    assert stream.shape == X.shape
    with pytest.raises(FormatError, match=r"x\.h5 .* an HDF5 file"):
        stream[:]


@pytest.mark.parametrize("content", [b"", b"hello"])
def test_other_content_is_rejected(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.h5").write_bytes(content)
    with pytest.raises(FormatError, match=r"x\.h5"):
        read_vectors(tmp_path / "x.h5")


@pytest.mark.parametrize(
    ("value", "message"),
    [(X[0], "contains no matrices"), (np.array([[b"a", b"b"]]), "real numbers, got dtype")],
)
def test_file_without_matrix_is_rejected(value: object, message: str, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = value
    with pytest.raises(FormatError, match=message):
        read_vectors(tmp_path / "x.h5")


def test_a_damaged_name_is_a_format_error(tmp_path: Path) -> None:
    """Found by the fuzzer: h5py lists such a data set, and then cannot open it."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("abcdefgh", data=X)
    path.write_bytes(path.read_bytes().replace(b"abcdefgh", b"\x88\xf8cdefgh"))
    for read in (open_vectors, read_vectors, read_labels):
        with pytest.raises(FormatError):
            read(path)


def test_a_type_that_numpy_does_not_have_is_a_format_error(tmp_path: Path) -> None:
    """Found by the fuzzer: HDF5 allows any exponent bias of a float."""
    path = tmp_path / "x.h5"
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_ebias(100_000)
    with h5py.File(path, "w") as file:
        h5py.h5d.create(file.id, b"x", kind, h5py.h5s.create_simple((3, 4)))
    for read in (open_vectors, read_vectors, read_labels):
        with pytest.raises(FormatError):
            read(path)


@pytest.mark.parametrize("size", [0, 1, 4, 10_000_000])
def test_a_chunk_of_an_impossible_size_is_a_format_error(tmp_path: Path, size: int) -> None:
    """A chunk without a checksum makes HDF5 2.0 read memory that is not its own."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        filters = {"compression": "gzip", "fletcher32": True}
        data = file.create_dataset("x", data=X, chunks=(40, 5), **filters)
        file.create_dataset("labels", data=X[:, 0], chunks=(40,), **filters)
        found = [data.id.get_chunk_info(1).size, file["labels"].id.get_chunk_info(1).size]
    content = path.read_bytes()
    for old, offset in zip(found, [(40, 0, 0), (40, 0)], strict=True):
        # A node of the tree of chunks has the size, a mask of the filters, and the offset.
        entry = struct.pack("<II", old, 0) + struct.pack(f"<{len(offset)}Q", *offset)
        assert content.count(entry) == 1
        content = content.replace(entry, struct.pack("<I", size) + entry[4:])
    path.write_bytes(content)
    with pytest.raises(FormatError, match="is not a valid file"):
        open_vectors(path, "x")
    with pytest.raises(FormatError, match="is not a valid file"):
        read_labels(path, "labels")
