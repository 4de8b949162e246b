"""Package lists of Debian: formats, fields, and which entries are kept."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from reproduction.data.package_lists import Package, read_packages, select_packages

from bitfold.errors import FormatError

TEXT = """\
Package: 2048
Depends: libc6 (>= 2.34)
Description: Slide and add puzzle game: text mode
Tag: game::puzzle, role::program,
 use::gameplaying
Section: games

Package: no-section
Description: has no section

Package: steam
Section: contrib/games
Description: café, a client
"""
PACKAGES = [
    Package("2048", "games", "Slide and add puzzle game: text mode"),
    Package("steam", "games", "café, a client"),
]


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress])
def test_every_format_is_read(compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "Packages"
    path.write_bytes(compress(TEXT.encode()))
    assert read_packages(path) == PACKAGES


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "no packages"),
        (b"Some: text\n", "no packages"),
        (b"\xff\xfe", "not a valid file"),
        (gzip.compress(TEXT.encode())[:-9], "not a valid file"),
        (lzma.compress(TEXT.encode())[:-9], "not a valid file"),
        (b"\x04\x22\x4d\x18....", "apt-helper"),
    ],
)
def test_other_files_are_rejected(content: bytes, part: str, tmp_path: Path) -> None:
    path = tmp_path / "Packages"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=part):
        read_packages(path)


def test_last_entry_of_a_package_and_first_of_a_description_are_kept() -> None:
    a, b, c = Package("a", "x", "one"), Package("b", "x", "two"), Package("c", "y", "two")
    new = Package("a", "x", "three")
    assert select_packages([a, b, c, new]) == [b, new]
    assert select_packages([c, b]) == [c]
