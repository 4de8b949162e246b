"""Codes files: round trips, damage and hostile content."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitfold import Codes
from bitfold._types import AnyArray
from bitfold.errors import (
    FormatError,
    NewerFormatError,
    ParameterError,
)
from bitfold.hashers import LSH, Hasher
from bitfold.io import open_codes, save_codes
from bitfold.io.array_file import write_arrays

X = np.random.default_rng(0).standard_normal((30_000, 5)).astype(np.float32)
NAMES = ["x.codes", "x.npy"]


@pytest.fixture(scope="module")
def hasher() -> Hasher:
    fitted: Hasher = LSH(12, random_state=0).fit(X)
    return fitted


@pytest.fixture(params=NAMES)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Round trips


@pytest.mark.parametrize("n_bits", [1, 8, 12, 64, 1000])
@pytest.mark.parametrize("n", [0, 1, 100])
@pytest.mark.parametrize("digest", [None, "3f2a"])
def test_save_and_open(path: Path, n: int, n_bits: int, digest: str | None) -> None:
    bits = np.random.default_rng(0).integers(0, 2, (n, n_bits))
    codes = Codes(Codes.from_bits(bits).packed, n_bits, digest)
    save_codes(codes, path)
    back = open_codes(path, n_bits)
    assert back == codes
    assert back.model_digest == (None if path.suffix == ".npy" else digest)
    assert list_names(path.parent) == [path.name]


def test_save_accepts_strided_codes(path: Path, hasher: Hasher) -> None:
    codes = hasher.encode(X[:100])[::-3]
    save_codes(codes, path)
    assert open_codes(path, 12) == codes


# Files that cannot be opened


def test_missing_file(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        open_codes(path)


def test_directory(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="directory"):
        open_codes(tmp_path)


def test_another_length(path: Path) -> None:
    save_codes(Codes.from_bits(np.ones((3, 12))), path)
    with pytest.raises(ParameterError, match=r"24|17"):
        open_codes(path, 24 if path.suffix == ".npy" else 17)


def test_every_flipped_bit_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "x.codes"
    save_codes(Codes.from_bits(np.random.default_rng(0).integers(0, 2, (50, 12))), path)
    good = path.read_bytes()
    for position in range(len(good)):
        damaged = bytearray(good)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match=str(path)):
            open_codes(path)


@pytest.mark.parametrize("name", NAMES)
def test_every_truncation_is_detected(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    save_codes(Codes.from_bits(np.ones((50, 12))), path)
    good = path.read_bytes()
    for size in range(len(good)):
        path.write_bytes(good[:size])
        with pytest.raises(FormatError, match=str(path)):
            open_codes(path)


HOSTILE_META: list[dict[str, Any]] = [
    {}, {"n_bits": 0}, {"n_bits": -12}, {"n_bits": 7}, {"n_bits": 17}, {"n_bits": "12"},
    {"n_bits": 12.0}, {"n_bits": True}, {"n_bits": None}, {"n_bits": 1 << 70},
    {"n_bits": 12, "model_digest": 5}, {"n_bits": 12, "model_digest": []},
]  # fmt: skip


@pytest.mark.parametrize("meta", HOSTILE_META)
def test_hostile_meta(tmp_path: Path, meta: dict[str, Any]) -> None:
    path = tmp_path / "x.codes"
    write_arrays(path, "codes", meta, {"packed": np.zeros((3, 2), np.uint8)})
    with pytest.raises(FormatError):
        open_codes(path)


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"packed": np.zeros(6, np.uint8)},
        {"packed": np.zeros((3, 2), np.uint32)},
        {"packed": np.zeros((3, 3), np.uint8)},
        {"packed": np.zeros((), np.uint8)},
        {"packed": np.full((3, 2), 255, np.uint8)},
        {"packed": np.zeros((3, 2), np.uint8), "more": np.zeros(1, np.uint8)},
        {"words": np.zeros((3, 2), np.uint8)},
    ],
)
def test_hostile_arrays(tmp_path: Path, arrays: dict[str, AnyArray]) -> None:
    path = tmp_path / "x.codes"
    write_arrays(path, "codes", {"n_bits": 12, "model_digest": None}, arrays)
    with pytest.raises(FormatError):
        open_codes(path)


def test_newer_codes_file(tmp_path: Path) -> None:
    path = tmp_path / "x.codes"
    save_codes(Codes.from_bits(np.ones((50, 12))), path)
    content = path.read_bytes().replace(b'\\"format_version\\":1', b'\\"format_version\\":9')
    length, before = struct.unpack("<Q", content[:8])[0], len('{"__metadata__":{"crc32":"')
    checksum = b"%08x" % zlib.crc32(content[8 + before + 8 : 8 + length])
    path.write_bytes(content[: 8 + before] + checksum + content[8 + before + 8 :])
    with pytest.raises(NewerFormatError, match=r"version 9; .* version 1\. Upgrade"):
        open_codes(path)


@pytest.mark.parametrize(
    "array", [np.zeros(3, np.uint8), np.zeros((3, 2)), np.zeros((2, 2, 2), np.uint8)]
)
def test_npy_of_something_else(tmp_path: Path, array: AnyArray) -> None:
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(FormatError, match="packed codes"):
        open_codes(tmp_path / "x.npy")


def test_npy_of_objects(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([[{}]]), allow_pickle=True)
    with pytest.raises(FormatError):
        open_codes(tmp_path / "x.npy")


def test_a_model_is_not_a_codes_file(hasher: Hasher, tmp_path: Path) -> None:
    hasher.save(tmp_path / "model")
    with pytest.raises(FormatError, match="not a bitfold"):
        open_codes(tmp_path / "model")
