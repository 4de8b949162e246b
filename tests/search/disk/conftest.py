"""Small segments and indexes, and the means to damage them."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from bitfold._types import Words
from bitfold.errors import FormatError
from bitfold.search.disk import manifest
from bitfold.search.disk.index_folder import IndexFolder
from bitfold.search.disk.manifest import FileEntry, Manifest, SegmentEntry
from bitfold.search.segment import Segment

FSYNC = os.fsync
BEFORE_CHECKSUM = '{"__metadata__":{"crc32":"'
ARRAYS = ("words", "ids", "starts", "members", "deleted")
NO_POSITIONS = np.empty(0, np.uint32)
NO_FLAGS = np.empty(0, bool)

Content = dict[int, tuple[int, ...]]


@pytest.fixture(autouse=True, scope="module")
def without_syncs() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def make_words(n: int, n_bits: int, seed: int = 0, n_values: int = 1 << 30) -> Words:
    """Return n codes, one per row, of which at most ``n_values`` are distinct."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (min(n_values, n), n_bits), dtype=np.uint8)
    bits = values[rng.integers(0, len(values), n)] if n_values < n else values
    padded = np.zeros((n, 64 * -(-n_bits // 64)), np.uint8)
    padded[:, :n_bits] = bits
    return np.packbits(padded, axis=1).view(np.uint64)


def make_segment(
    n: int = 100, n_bits: int = 96, first: int = 0, seed: int = 0, **more: Any
) -> Segment:
    return Segment.build(make_words(n, n_bits, seed, **more), np.arange(first, first + n))


def make_sparse_segment(n: int = 100, n_bits: int = 96, n_values: int = 20) -> Segment:
    ids = np.arange(n) ** 2 - 50
    return Segment.build(make_words(n, n_bits, 5, n_values), ids)


def read_content(segments: list[Segment]) -> Content:
    """Return the code of each live id."""
    found: Content = {}
    for segment in segments:
        rows = segment.item_words()[segment.live].tolist()
        ids = segment.ids[segment.live].tolist()
        assert len(ids) == len(segment)
        assert not found.keys() & set(ids)
        found |= {i: tuple(row) for i, row in zip(ids, rows, strict=True)}
    return found


def read_index(path: Path) -> Content:
    return read_content(IndexFolder.open(path).segments)


def write_index(path: Path, *segments: Segment, n_bits: int = 96) -> Path:
    with IndexFolder.create(path, n_bits) as folder:
        folder.commit(segments, 7)
    return path


def list_files(path: Path) -> list[str]:
    return sorted(file.name for file in path.iterdir())


def same_arrays(a: Segment, b: Segment) -> bool:
    pairs = [(getattr(a, name), getattr(b, name)) for name in ARRAYS]
    return all(x.dtype == y.dtype and np.array_equal(x, y) for x, y in pairs)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """A small index with duplicate codes, gaps in the ids and deleted items."""
    path = write_index(tmp_path / "index", make_segment(60, first=10_000), make_sparse_segment())
    with IndexFolder.open(path, "a") as folder:
        first, second = folder.segments
        folder.commit([first, second.without(np.array([3, 50]))], 8)
    return path


def flip_bits(file: Path, place: int, mask: int = 1) -> None:
    data = bytearray(file.read_bytes())
    data[place] ^= mask
    overwrite(file, data)


def overwrite(file: Path, data: bytes | bytearray) -> None:
    # Overwriting is slow on some file systems.
    file.unlink()
    file.write_bytes(data)


def assert_format_error(path: Path, damaged: Path, reason: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_index(path)
    assert str(caught.value).startswith(f"{damaged} is ")
    assert reason in str(caught.value)


def fork(work: Callable[[], None]) -> int:
    """Run a function in a child process; return the id of the process."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return child


def wait_for(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Header(NamedTuple):
    """The header of an array file in its parts, and the bytes after it."""

    arrays: dict[str, Any]
    content: dict[str, Any]
    data: bytes


def parse_header(file: Path) -> Header:
    data = file.read_bytes()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:end])
    metadata = header.pop("__metadata__")
    return Header(header, json.loads(metadata["bitfold"]), data[end:])


def forge(file: Path, header: Header, n_spaces: int = 0) -> None:
    """Write an array file whose header matches its checksum, whatever it says."""
    metadata = {"crc32": "", "bitfold": json.dumps(header.content)}
    text = json.dumps({"__metadata__": metadata} | header.arrays, separators=(",", ":"))
    rest = text.removeprefix(BEFORE_CHECKSUM).encode()
    rest += b" " * (-(16 + len(BEFORE_CHECKSUM) + len(rest)) % 64 + n_spaces)
    forge_header(file, rest, header.data)


def forge_header(file: Path, rest: bytes, data: bytes) -> None:
    text = f"{BEFORE_CHECKSUM}{zlib.crc32(rest):08x}".encode() + rest
    file.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_manifest_for(path: Path, n_bits: int, segment: Path, deleted: Path | None = None) -> None:
    """Write a manifest that lists the files as they are."""

    def describe(file: Path) -> FileEntry:
        data, begin = file.read_bytes(), 8 + len(BEFORE_CHECKSUM)
        return FileEntry(file.name, len(data), int(data[begin : begin + 8] or b"0", 16))

    entry = SegmentEntry(describe(segment), describe(deleted) if deleted else None)
    manifest.write(path, Manifest(n_bits, 0, 5, None, (entry,)))
