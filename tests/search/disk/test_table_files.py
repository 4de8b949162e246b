"""Tables on disk: shared, never trusted, removed with their segment."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.disk.conftest import flip_bits, forge, list_files, parse_header

import bitfold as bf
from bitfold.io import file_system
from bitfold.search.disk.index_folder import verify

N_BITS, RADIUS = 70, 1


def make_codes(n: int, seed: int) -> bf.Codes:
    return bf.Codes.from_bits(np.random.default_rng(seed).random((n, N_BITS)) < 0.5)


QUERIES = make_codes(30, 0)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of two segments with tables."""
    path = tmp_path_factory.mktemp("stored") / "index"
    bf.HammingIndex(N_BITS).save(path)
    with bf.HammingIndex.open(path, "a") as index:
        index.add(make_codes(9000, 0))
        index.add(make_codes(3000, 1))
        index.build_tables(RADIUS)
    return path


@pytest.fixture
def path(stored: Path, tmp_path: Path) -> Path:
    return shutil.copytree(stored, tmp_path / "index")


def list_tables(path: Path) -> list[str]:
    return [name for name in list_files(path) if name.startswith("tables")]


def check(index: bf.HammingIndex) -> None:
    """Check a lookup that uses the tables there are."""
    expected = bf.HammingIndex(N_BITS)
    for batch in index.batches():
        expected.add(batch.codes, batch.ids)
    found = index.within(QUERIES, RADIUS)
    expected.max_table_bytes = 0
    for a, b in zip(found, expected.within(QUERIES, RADIUS), strict=True):
        np.testing.assert_array_equal(a, b)


def load_tables(path: Path) -> bf.HammingIndex:
    """Open an index whose tables are loaded and used, if they are valid."""
    index = bf.HammingIndex.open(path)
    index.build_tables(RADIUS)
    return index


def test_tables_are_stored_and_loaded(path: Path) -> None:
    assert list_tables(path) == ["tables-2-0-0.bin", "tables-3-1-0.bin"]
    index = bf.HammingIndex.open(path)
    n_bytes = index.table_bytes
    assert n_bytes > 12 * 1200
    arrays = index._generation.segments.segments[0].tables._tables[0].arrays
    assert not arrays.words.flags["OWNDATA"] and not arrays.words.flags["WRITEABLE"]
    index.build_tables(RADIUS)
    assert index.table_bytes == n_bytes
    check(index)
    verify(path)


def test_readers_and_closed_writers_write_nothing(path: Path) -> None:
    for name in list_tables(path):
        (path / name).unlink()
    before = list_files(path)
    writer = bf.HammingIndex.open(path, "a")
    writer.close()
    for index in (bf.HammingIndex.open(path), writer):
        index.build_tables(RADIUS)
        assert index.table_bytes > 0
        check(index)
        assert list_files(path) == before


def test_tables_are_removed_with_their_segment(path: Path) -> None:
    with bf.HammingIndex.open(path, "a") as index:
        index.remove(np.arange(9000, 9010))
        assert list_tables(path) == ["tables-2-0-0.bin", "tables-3-1-0.bin"]
        check(index)
        index.add(make_codes(50, 2))
        index.add(make_codes(1450, 3))  # merges all but the first segment
        assert list_tables(path) == ["tables-2-0-0.bin"]
        check(index)


def test_orphans_are_removed_by_the_next_writer(path: Path) -> None:
    shutil.copy(path / "tables-2-0-0.bin", path / "tables-1-0-0.bin")
    shutil.copy(path / "tables-2-0-0.bin", path / "tables-2-0-0.bin.bak")
    bf.HammingIndex.open(path, "a").close()
    assert "tables-1-0-0.bin" not in list_files(path)
    assert {"tables-2-0-0.bin", "tables-2-0-0.bin.bak"} < set(list_files(path))


def test_saved_copies_have_tables(path: Path, tmp_path: Path) -> None:
    index = bf.HammingIndex(N_BITS)
    index.add(make_codes(500, 5))
    index.build_tables(RADIUS)
    index.save(tmp_path / "copy")
    copy = bf.HammingIndex.open(tmp_path / "copy")
    assert copy.table_bytes == index.table_bytes > 0
    check(copy)
    bf.HammingIndex.open(path).save(tmp_path / "second")
    assert len(list_tables(tmp_path / "second")) == 2


def test_limit(path: Path) -> None:
    with bf.HammingIndex.open(path, "a") as index:
        assert index.max_table_bytes is None
        index.max_table_bytes = index.table_bytes // 2
        assert index.table_bytes == 0
        assert list_tables(path) == []
        check(index)
        index.max_table_bytes = 0
        index.build_tables(RADIUS)
        assert index.table_bytes == 0
        index.max_table_bytes = None
        index.build_tables(RADIUS)
        index.add(make_codes(9, 7))
        assert index.max_table_bytes is None
        assert index.table_bytes > 0
        assert len(list_tables(path)) == 2


def test_full_disk_keeps_tables_in_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list_tables(path):
        (path / name).unlink()

    def raise_full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    with bf.HammingIndex.open(path, "a") as index:
        monkeypatch.setattr(file_system, "create_file", raise_full)
        index.build_tables(RADIUS)
        assert index.table_bytes > 0
        check(index)
    assert list_tables(path) == []


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_damaged_tables_are_ignored(
    stored: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = shutil.copytree(stored, tmp_path_factory.mktemp("damaged") / "index")
    file = path / "tables-2-0-0.bin"
    n_bytes = file.stat().st_size
    if data.draw(st.booleans()):
        flip_bits(file, data.draw(st.integers(0, n_bytes - 1)), data.draw(st.integers(1, 255)))
    else:
        os.truncate(file, data.draw(st.integers(0, n_bytes - 1)))
    index = bf.HammingIndex.open(path)
    before = index.table_bytes
    assert before < bf.HammingIndex.open(stored).table_bytes
    index.build_tables(RADIUS)
    assert index.table_bytes > before
    check(index)


def test_tables_of_another_segment_are_ignored(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    bf.HammingIndex(N_BITS).save(other)
    with bf.HammingIndex.open(other, "a") as index:
        index.add(make_codes(900, 9))
        shutil.copy(path / "tables-2-0-0.bin", other)
        check(index)
        assert index.table_bytes == 0
        index.build_tables(RADIUS)
        assert list_tables(other) == ["tables-2-0-1.bin"]


BAD_PARTS = [
    [], [[]], "x", [[0, 0]], [[0], [0]], [[-1]], [[128]], [[1.0]], [["1"]], [list(range(25))], [3],
]  # fmt: skip


@pytest.mark.parametrize("parts", BAD_PARTS, ids=str)
def test_forged_headers_are_ignored(path: Path, parts: object) -> None:
    file = path / "tables-2-0-0.bin"
    header = parse_header(file)
    header.content["meta"]["parts"] = parts
    forge(file, header)
    index = load_tables(path)
    check(index)


@pytest.mark.parametrize("name", ["order", "starts", "columns", "words"])
@pytest.mark.parametrize("value", [0, 0xFF])
def test_forged_values_are_safe(path: Path, name: str, value: int) -> None:
    """Values that match their checksum, but not the segment: no kernel reads out of bounds."""
    import zlib

    file = path / "tables-2-0-0.bin"
    header = parse_header(file)
    begin, end = header.arrays[name]["data_offsets"]
    data = header.data[:begin] + bytes([value]) * (end - begin) + header.data[end:]
    header.content["crc32"][name] = zlib.crc32(data[begin:end])
    forge(file, header._replace(data=data))
    index = load_tables(path)
    index.within(QUERIES, RADIUS)
    if name == "starts" or (value == 0xFF and name != "words"):
        check(index)
