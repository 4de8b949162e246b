"""``bitfold verify``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cli.helpers import Run, assert_fails, parse_json


def flip_byte(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "kind"), [("my.index", "index"), ("m.bitfold", "LSH"), ("x.codes", "codes")]
)
def test_intact(warm: Run, files: Path, name: str, kind: str) -> None:
    done = warm("verify", str(files / name))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{files / name} is intact: {kind}, ")
    assert parse_json(warm("verify", str(files / name), "--json"))["kind"] == kind


def test_damaged_index(warm: Run, files: Path, tmp_path: Path) -> None:
    index = shutil.copytree(files / "my.index", tmp_path / "my.index")
    (segment,) = index.glob("segment-*")
    flip_byte(segment, -100)
    assert_fails(warm("verify", str(index)), "checksum", 4)


@pytest.mark.parametrize("name", ["m.bitfold", "x.codes"])
def test_damaged_file(warm: Run, files: Path, tmp_path: Path, name: str) -> None:
    path = Path(shutil.copy(files / name, tmp_path))
    flip_byte(path, -100)
    assert_fails(warm("verify", str(path)), name, 4)


def test_missing_file(warm: Run, tmp_path: Path) -> None:
    assert_fails(warm("verify", str(tmp_path / "none")), "none does not exist", 5)
