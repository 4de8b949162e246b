"""Checks of outputs before the work starts."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import NoReturn

import pytest
import typer
from tests.cli.helpers import Run, assert_fails, list_names

from bitfold.cli import _outputs
from bitfold.cli._outputs import check_output, explain_full_disk


def test_check_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x"
    check_output(path, force=False)
    assert list_names(tmp_path) == []
    path.write_bytes(b"old")
    check_output(path, force=True)
    assert path.read_bytes() == b"old"


def test_existing_output_needs_force(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.touch()
    with pytest.raises(FileExistsError, match="--force"):
        check_output(path, force=False)


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="directory does not exist"):
        check_output(tmp_path / "missing" / "x", force=False)


def test_pipe_is_not_an_output() -> None:
    with pytest.raises(typer.BadParameter, match="pipe"):
        check_output(Path("-"), force=False)


def test_error_names_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", "/pages/.bitfold-1.tmp")

    monkeypatch.setattr(_outputs, "replace_atomically", fail)
    with pytest.raises(PermissionError, match=r"^/pages/x cannot be written: Permission denied"):
        check_output(Path("/pages/x"), force=False)


def test_full_disk_names_the_output() -> None:
    with (
        pytest.raises(OSError, match=r"^x could not be written: full"),
        explain_full_disk(Path("x")),
    ):
        raise OSError(errno.ENOSPC, "full")


def test_input_is_never_replaced(warm: Run, files: Path, tmp_path: Path) -> None:
    """Neither by its name, nor by a link, nor as the file of FILE:NAME; not even with --force."""
    vectors = shutil.copy(files / "x.npy", tmp_path)
    archive = shutil.copy(files / "x.npz", tmp_path)
    model = shutil.copy(files / "m.bitfold", tmp_path)
    (tmp_path / "soft").symlink_to(vectors)
    (tmp_path / "hard").hardlink_to(vectors)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    pattern = "is also an input"
    for out in (vectors, tmp_path / "soft", tmp_path / "hard"):
        target = ["--out", str(out), "--force"]
        assert_fails(warm("fit", str(vectors), "--method", "lsh", *target), pattern, 2)
        assert_fails(warm("encode", str(model), str(vectors), *target), pattern, 2)
    assert_fails(warm("encode", str(model), str(vectors), "--out", str(model)), pattern, 2)
    labeled = ["fit", str(vectors), "--labels", f"{archive}:labels", "--out", str(archive)]
    assert_fails(warm(*labeled), pattern, 2)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_nothing_is_overwritten_without_force(warm: Run, files: Path, tmp_path: Path) -> None:
    vectors, model, codes, index = (
        str(files / name) for name in ("x.npy", "m.bitfold", "codes.npy", "my.index")
    )
    for command, *arguments, name in (
        ("fit", vectors, "--method", "lsh", "--out", "m"),
        ("encode", model, vectors, "--out", "c"),
        ("index", codes, "--bits", "60", "--out", "i"),
        ("push", index, "f.faiss"),
    ):
        out = str(tmp_path / name)
        assert warm(command, *arguments, out).returncode == 0
        assert_fails(warm(command, *arguments, out), f"{out} already exists; .*--force", 6)
        assert warm(command, *arguments, out, "--force").returncode == 0
    back = ["pull", str(tmp_path / "f.faiss"), str(tmp_path / "i"), "--bits", "60"]
    assert_fails(warm(*back), "already exists; .*--force", 6)
    assert warm(*back, "--force").returncode == 0


def test_full_disk_is_one_line(warm: Run, files: Path, tmp_path: Path) -> None:
    """A file size limit of 4 KiB stands for a full disk."""
    vectors, model, codes = (str(files / name) for name in ("x.npy", "m.bitfold", "codes.npy"))
    for command, *arguments, out in (
        ("fit", vectors, "--method", "itq", "--out", str(tmp_path / "m")),
        ("encode", model, vectors, "--out", str(tmp_path / "c")),
        ("index", codes, "--out", str(tmp_path / "my.index")),
        ("push", str(files / "my.index"), str(tmp_path / "my.faiss")),
    ):
        done = warm(command, *arguments, out, max_file_size=4096)
        assert_fails(done, f"{out} could not be .*File too large")
    assert list_names(tmp_path) == ["my.index"]
    assert_fails(warm("info", str(tmp_path / "my.index")), "my.index", 4)
