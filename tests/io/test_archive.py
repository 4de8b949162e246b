"""Chosen files of .tar.gz archives."""

from __future__ import annotations

import io
import random
import tarfile
from pathlib import Path

import pytest

from bitfold.errors import FormatError
from bitfold.io.archive import extract_files

FILES = {"a": random.Random(0).randbytes(3000), "b": b"2"}


def write_archive(path: Path, prefix: str = "") -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in {"c": b"3", **FILES}.items():
            member = tarfile.TarInfo(prefix + name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("prefix", ["folder/", "", "../../"])
def test_only_the_named_files_are_extracted(prefix: str, tmp_path: Path) -> None:
    (tmp_path / "in" / "side").mkdir(parents=True)
    extract_files(write_archive(tmp_path / "x.tar.gz", prefix), list(FILES), tmp_path / "in/side")
    files = {path.name: path.read_bytes() for path in tmp_path.rglob("?")}
    assert files == FILES
    assert {path.name for path in (tmp_path / "in/side").iterdir()} == set(FILES)


def test_damaged_archive_is_rejected(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "x.tar.gz")
    for content in (b"hello", archive.read_bytes()[:-900]):
        archive.write_bytes(content)
        with pytest.raises(FormatError, match=r"x\.tar\.gz .* archive that contains a"):
            extract_files(archive, ["a", "b"], tmp_path)


def test_missing_file_is_named(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "x.tar.gz")
    with pytest.raises(FormatError, match="does not contain other"):
        extract_files(archive, ["a", "other"], tmp_path)


def test_links_are_not_followed(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as tar:
        link = tarfile.TarInfo("a")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(FormatError, match="does not contain a"):
        extract_files(tmp_path / "x.tar.gz", ["a"], tmp_path)
