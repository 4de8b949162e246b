"""Checks of outputs before the work starts."""

from __future__ import annotations

import errno
import re
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest
import typer
from tests.cli.helpers import Run, assert_fails, list_names

from bitfold.cli import _outputs
from bitfold.cli._outputs import check_output, explain_full_disk, remove_if_failed
from bitfold.errors import LockedError


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
    """A file size limit stands for a full disk; nothing is left behind."""
    vectors, model, codes = (str(files / name) for name in ("x.npy", "m.bitfold", "codes.npy"))
    faiss = str(tmp_path / "all.faiss")
    assert warm("push", str(files / "my.index"), faiss).returncode == 0
    for command, *arguments, out in (
        ("fit", vectors, "--method", "itq", "--out", str(tmp_path / "m")),
        ("encode", model, vectors, "--out", str(tmp_path / "c")),
        ("encode", model, vectors, "--out", str(tmp_path / "c.npy")),
        ("index", codes, "--out", str(tmp_path / "my.index")),
        ("push", str(files / "my.index"), str(tmp_path / "my.faiss")),
        ("pull", faiss, str(tmp_path / "pulled.index")),
    ):
        done = warm(command, *arguments, out, max_file_size=4096)
        assert_fails(done, f"{out} could not be .*File too large")
        assert list_names(tmp_path) == ["all.faiss"]


def test_full_disk_in_compare(warm: Run, files: Path, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    line = ["compare", str(files / "x.npy"), "--methods", "lsh", "--bits", "8"]
    done = warm(*line, "--records", str(records), max_file_size=300)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"bitfold: {records}: File too large."
    assert records.read_bytes() == b""


def test_full_disk_for_the_copy_of_a_pipe(command: str, files: Path, tmp_path: Path) -> None:
    line = f"ulimit -f 4; {command} fit - --method lsh --out {tmp_path}/m < {files}/x.npy"
    done = subprocess.run(["bash", "-c", line], capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"bitfold: temporary file in .*: File too large\.\n", done.stderr)
    assert list_names(tmp_path) == []


@pytest.mark.parametrize("problem", [OSError("full"), KeyboardInterrupt()])
def test_a_new_folder_is_removed_after_a_failure(tmp_path: Path, problem: BaseException) -> None:
    with pytest.raises(type(problem)), remove_if_failed(tmp_path / "new"):
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "file").touch()
        raise problem
    assert list_names(tmp_path) == []


def test_an_old_or_locked_folder_is_kept(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    with pytest.raises(OSError), remove_if_failed(tmp_path / "old"):
        raise OSError("full")
    with pytest.raises(LockedError), remove_if_failed(tmp_path / "new"):
        (tmp_path / "new").mkdir()
        raise LockedError("another process")
    assert list_names(tmp_path) == ["new", "old"]
