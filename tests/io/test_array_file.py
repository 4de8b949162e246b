"""Array files: the layout of safetensors, memory maps, checksums, hostile headers."""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bitfold._types import AnyArray
from bitfold.errors import FormatError, NewerFormatError
from bitfold.io.array_file import ArrayFile, ArrayLayout, encode_header, write_arrays

ARRAYS: dict[str, AnyArray] = {
    "words": np.arange(6, dtype=np.uint64).reshape(2, 3),
    "ids": np.array([-1, 2**63 - 1]),
    "starts": np.arange(5, dtype=np.uint32),
    "none": np.empty((0, 4), np.uint32),
    "flags": np.array([1, 2, 3], np.uint8),
}
BEFORE_CHECKSUM = b'{"__metadata__":{"crc32":"'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "arrays.bin"
    write_arrays(path, "sample", {"n": 3, "name": "Größe"}, ARRAYS)
    return path


def assert_same(file: ArrayFile, arrays: dict[str, AnyArray]) -> None:
    assert file.layout == {name: ArrayLayout.of(array) for name, array in arrays.items()}
    for name, array in arrays.items():
        np.testing.assert_array_equal(file.array(name), array, strict=True)


def test_round_trip(path: Path) -> None:
    file = ArrayFile(path, "sample")
    assert file.meta == {"n": 3, "name": "Größe"}
    assert file.n_bytes == path.stat().st_size
    assert_same(file, ARRAYS)


@given(
    st.lists(
        st.sampled_from(["uint64", "int64", "uint32", "uint8"]).flatmap(
            lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
        ),
        max_size=4,
    )
)
def test_safetensors_reads_any_file(
    tmp_path_factory: pytest.TempPathFactory, values: list[AnyArray]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.bin"
    values.sort(key=lambda array: -array.itemsize)
    arrays = {f"array {number}": array for number, array in enumerate(values)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        write_arrays(path, "sample", {}, arrays)
    assert_same(ArrayFile(path, "sample"), arrays)
    loaded = safetensors.numpy.load_file(path)
    assert loaded.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name], array, strict=True)


def test_metadata_describe_the_file(path: Path) -> None:
    with safetensors.safe_open(path, framework="np") as file:
        metadata = file.metadata()
    content = json.loads(metadata["bitfold"])
    assert metadata.keys() == {"bitfold", "crc32"}
    assert (content["format_version"], content["kind"], content["meta"]["n"]) == (1, "sample", 3)
    assert content["crc32"] == {name: zlib.crc32(a.tobytes()) for name, a in ARRAYS.items()}


def test_large_files_are_mapped_and_small_ones_read(tmp_path: Path, path: Path) -> None:
    def find_origin(array: Any) -> object:
        while isinstance(getattr(array, "base", None), np.ndarray):
            array = array.base
        return array.base

    big = tmp_path / "big.bin"
    write_arrays(big, "sample", {}, {"words": np.arange(100_000, dtype=np.uint64)})
    mapped = ArrayFile(big, "sample").array("words")
    assert isinstance(getattr(find_origin(mapped), "obj", find_origin(mapped)), mmap.mmap)
    assert isinstance(find_origin(ArrayFile(path, "sample").array("words")), bytes)
    for array in (mapped, ArrayFile(path, "sample").array("words")):
        assert not array.flags["W"]
        assert array.flags.aligned


def test_first_array_starts_on_a_cache_line(path: Path) -> None:
    length = struct.unpack("<Q", path.read_bytes()[:8])[0]
    assert (8 + length) % 64 == 0


def test_memory_order_and_byte_order(tmp_path: Path) -> None:
    square = np.arange(12, dtype=np.uint64).reshape(3, 4)
    arrays = {"fortran": np.asfortranarray(square), "big": square.astype(">u8"), "cut": square[::2]}
    write_arrays(tmp_path / "x", "sample", {}, arrays)
    file = ArrayFile(tmp_path / "x", "sample")
    for name, array in arrays.items():
        np.testing.assert_array_equal(file.array(name), array)


def test_arrays_are_verified_on_first_use(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    file = ArrayFile(path, "sample")
    assert file.array("words").shape == (2, 3)
    with pytest.raises(FormatError, match="'flags' fails its checksum"):
        file.array("flags")


def test_every_flipped_bit_is_detected(path: Path) -> None:
    good = path.read_bytes()
    for place in range(len(good)):
        damaged = bytearray(good)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match=str(path)):
            assert_same(ArrayFile(path, "sample"), ARRAYS)


def test_every_truncation_is_detected(path: Path) -> None:
    good = path.read_bytes()
    for size in range(len(good)):
        path.write_bytes(good[:size])
        with pytest.raises(FormatError, match=str(path)):
            ArrayFile(path, "sample")
    path.write_bytes(good + b"\0")
    with pytest.raises(FormatError, match="do not match its header"):
        ArrayFile(path, "sample")


def test_a_reserved_header_can_be_replaced(tmp_path: Path) -> None:
    """A file whose array grows: the header has the same size before and after."""
    path, data = tmp_path / "x", os.urandom(1000)

    def make_header(n_rows: int, checksum: int) -> bytes:
        layout = {"packed": ArrayLayout("U8", (n_rows, 10))}
        return encode_header("sample", {}, layout, {"packed": checksum}, min_bytes=1024)

    before, after = make_header(0, 0), make_header(100, zlib.crc32(data))
    assert len(before) == len(after) == 1024
    path.write_bytes(after + data)
    assert ArrayFile(path, "sample").array("packed").tobytes() == data
    assert safetensors.numpy.load_file(path)["packed"].tobytes() == data


def test_another_kind(path: Path) -> None:
    with pytest.raises(FormatError, match=r"'sample', but 'codes' is needed"):
        ArrayFile(path, "codes")


def change_version(path: Path, version: bytes) -> None:
    content = path.read_bytes().replace(
        b'\\"format_version\\":1', b'\\"format_version\\":' + version
    )
    start, end = 8 + len(BEFORE_CHECKSUM) + 8, 8 + struct.unpack("<Q", content[:8])[0]
    checksum = b"%08x" % zlib.crc32(content[start:end])
    path.write_bytes(content[: start - 8] + checksum + content[start:])


def test_newer_version(path: Path) -> None:
    change_version(path, b"2")
    with pytest.raises(NewerFormatError, match=r"version 2; .* version 1\. Upgrade bitfold"):
        ArrayFile(path, "sample")


def test_invalid_version(path: Path) -> None:
    change_version(path, b"0")
    with pytest.raises(FormatError, match="0 is not a valid format version"):
        ArrayFile(path, "sample")


def test_missing_file_and_directory(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ArrayFile(tmp_path / "missing", "sample")
    for path in (tmp_path, Path(os.devnull)):
        with pytest.raises(FormatError, match="directory or a device"):
            ArrayFile(path, "sample")


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 8, b"\0" * 500, b"\xff" * 500, b"PK\x03\x04" + bytes(200)]
)
def test_other_formats(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(FormatError, match="not a bitfold file"):
        ArrayFile(tmp_path / "x", "sample")


def test_other_safetensors(tmp_path: Path) -> None:
    safetensors.numpy.save_file(ARRAYS, tmp_path / "x")
    with pytest.raises(FormatError, match="not a bitfold file"):
        ArrayFile(tmp_path / "x", "sample")
