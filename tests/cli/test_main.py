"""The frame of the command line: help, version, errors, interruption."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from rich.progress import Progress

from bitfold import __version__, cli
from bitfold.cli import _files
from bitfold.cli.terminal import Bars

Bitfold = Callable[..., subprocess.CompletedProcess[str]]


def one_sentence(text: str) -> bool:
    return text.startswith("bitfold: ") and text.count("\n") == 1 and text.endswith("\n")


def test_version(bitfold: Bitfold) -> None:
    done = bitfold("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"bitfold {__version__}\n", "")


def test_as_a_module() -> None:
    command = [sys.executable, "-m", "bitfold", "--version"]
    assert subprocess.check_output(command, text=True) == f"bitfold {__version__}\n"


def test_without_arguments_it_shows_its_help(bitfold: Bitfold) -> None:
    done = bitfold()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == bitfold("--help").stdout.split()
    assert "demo" in done.stdout


def test_help_takes_less_than_a_third_of_a_second(command: str) -> None:
    def seconds() -> float:
        process = subprocess.Popen([command, "--help"], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        # Of the processor, not of the clock: others may be at work on this machine.
        return usage.ru_utime + usage.ru_stime

    assert min(seconds() for _ in range(5)) < 0.3


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    program = (
        "import sys; from bitfold.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, *arguments]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stderr.split()
    assert "typer" in loaded
    assert {"numpy", "scipy", "sklearn", "numba", "faiss"} & set(loaded) == set()


@pytest.mark.parametrize("arguments", [["dome"], ["demo", "--bite"], ["demo", "--bits", "0"]])
def test_what_it_does_not_understand_is_one_sentence(
    bitfold: Bitfold, arguments: list[str]
) -> None:
    done = bitfold(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert one_sentence(done.stderr)


def test_an_error_is_one_sentence(bitfold: Bitfold, tmp_path: Path) -> None:
    done = bitfold("demo", "--out", str(tmp_path / "missing" / "x.html"))
    assert (done.returncode, done.stdout) == (1, "")
    assert one_sentence(done.stderr)
    assert done.stderr.endswith("x.html cannot be written: its directory does not exist.\n")


@pytest.mark.parametrize("place", [0, 1, 3])
def test_debug_shows_the_traceback_wherever_it_stands(
    bitfold: Bitfold, tmp_path: Path, place: int
) -> None:
    arguments = ["demo", "--out", str(tmp_path / "missing" / "x.html")]
    done = bitfold(*arguments[:place], "--debug", *arguments[place:])
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback")
    assert "FileNotFoundError" in done.stderr


def test_the_sentence_of_an_error() -> None:
    assert cli._sentence(ValueError("x must\n  be 1.")) == "x must be 1."
    assert cli._sentence(MemoryError()) == "MemoryError."
    assert cli._sentence(OSError(errno.ENOSPC, "No space left on device")) == (
        "No space left on device."
    )
    assert cli._sentence(PermissionError(errno.EACCES, "Permission denied", "a.csv")) == (
        "a.csv: Permission denied."
    )


def test_what_cannot_be_written_is_named_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", "/pages/.bitfold-1.tmp")

    monkeypatch.setattr(_files, "replace_atomically", refused)
    with pytest.raises(OSError, match=r"^/pages/x\.html cannot be written: Permission denied\.$"):
        _files.check_writable(Path("/pages/x.html"))


def test_asking_whether_a_file_can_be_written_writes_nothing(tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    _files.check_writable(page)
    assert list(tmp_path.iterdir()) == []
    _files.write(page, "é")
    _files.check_writable(page)
    assert page.read_bytes() == b"\xc3\xa9"


def test_a_bar_shows_the_stage_at_work_and_is_full_at_the_end() -> None:
    progress = Progress(disable=True)
    with Bars(progress).bar("IMH") as report:
        (task,) = progress.tasks
        for stage, done, total in (("base set", 1, 2), ("base set", 2, 2), ("embedding", 3, 9)):
            report(stage, done, total)
            assert (task.fields["stage"], task.completed, task.total) == (stage, done, total)
    assert task.finished
