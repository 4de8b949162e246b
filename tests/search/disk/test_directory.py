from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.search.disk.conftest import (
    assert_format_error,
    list_files,
    make_segment,
    read_index,
    write_index,
)

from bitfold.errors import FormatError
from bitfold.search.disk.index_folder import IndexFolder


def test_leftovers_are_removed_by_the_next_writer(index: Path) -> None:
    before, content_before = list_files(index), read_index(index)
    (index / ".bitfold-0123456789abcdef.tmp").write_bytes(b"part")
    shutil.copy(index / "segment-1-0.bin", index / "segment-3-0.bin")
    mine = ["notes.txt", "segment-3-0.bin.bak"]
    for name in mine:
        (index / name).write_text("mine")
    assert read_index(index) == content_before
    assert len(list_files(index)) == len(before) + 4
    size = 4 + (index / "segment-3-0.bin").stat().st_size
    message = re.escape(f"{index}: removed an unfinished commit (2 files, {size} bytes).")
    with pytest.warns(UserWarning, match=f"^{message}$") as caught, IndexFolder.open(index, "a"):
        assert list_files(index) == sorted([*before, *mine])
    assert len(caught) == 1
    assert read_index(index) == content_before


def test_replaced_files_are_removed_without_a_warning(index: Path) -> None:
    shutil.copy(index / "deleted-2-1.bin", index / "deleted-1-1.bin")
    IndexFolder.open(index, "a").close()
    assert "deleted-1-1.bin" not in list_files(index)


def test_create_replaces_an_index_at_the_first_commit(index: Path) -> None:
    old = read_index(index)
    IndexFolder.create(index, 64).close()
    assert read_index(index) == old
    with IndexFolder.create(index, 64) as folder:
        assert folder.segments == []
        folder.commit([make_segment(5, 64)], 5)
    assert (IndexFolder.open(index).n_bits, len(read_index(index))) == (64, 5)
    assert list_files(index) == ["lock", "manifest.json", "segment-3-0.bin"]


def test_new_folder_is_an_index_after_the_first_commit(tmp_path: Path) -> None:
    path = tmp_path / "index"
    IndexFolder.create(path, 64).close()
    assert_format_error(path, path, "it has no manifest.json")
    assert len(read_index(write_index(path, make_segment()))) == 100


def test_create_in_an_invalid_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    cases: list[tuple[Path, type[OSError], str]] = [
        (tmp_path, FileExistsError, "'file'"),
        (tmp_path / "file", FileExistsError, "is a file"),
        (tmp_path / "a" / "b", FileNotFoundError, "does not exist"),
    ]
    for path, kind, message in cases:
        with pytest.raises(kind, match=message) as caught:
            IndexFolder.create(path, 64)
        assert str(path) in str(caught.value)
    with pytest.raises(ValueError, match=r"n_bits of IndexFolder .*1025"):
        IndexFolder.create(tmp_path / "new", 1025)
    assert list_files(tmp_path) == ["file"]


def test_open_something_else(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nothing does not exist"):
        IndexFolder.open(tmp_path / "nothing")
    (tmp_path / "file").write_text("text")
    assert_format_error(tmp_path / "file", tmp_path / "file", "it has no manifest.json")
    web = tmp_path / "web"
    web.mkdir()
    (web / "manifest.json").write_text('{"name": "a page"}')
    assert_format_error(web, web, "manifest.json has another format")
    with pytest.raises(FormatError):
        IndexFolder.open(web, "a")
    with pytest.raises(FormatError):
        IndexFolder.create(web, 64)
    assert list_files(web) == ["manifest.json"]
