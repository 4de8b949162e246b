"""Closed and full streams, and pipes whose reader stops."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.cli.helpers import Run, list_names

Result = tuple[int, str]


def shell(command: str, line: str, files: Path, environment: dict[str, str]) -> Result:
    """Run a line of the shell with $bitfold and $files; return the exit code and stderr."""
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        env=environment | {"bitfold": command, "files": str(files)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
    return done.returncode, done.stderr


SEARCH = "$bitfold search $files/my.index $files/x.npy --model $files/m.bitfold"


@pytest.mark.parametrize("line", [SEARCH, "$bitfold info $files/m.bitfold", "$bitfold --help"])
def test_closed_stdout(line: str, command: str, files: Path, environment: dict[str, str]) -> None:
    code, errors = shell(command, f"{line} >&-", files, environment)
    assert code == 1
    assert errors == "bitfold: stdout: it is closed, and the result cannot be printed.\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_a_command_that_writes_a_file_needs_no_streams(
    closed: str,
    command: str,
    warm: Run,
    files: Path,
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    line = f"$bitfold fit $files/x.npy --method lsh --out {tmp_path}/m {closed}"
    assert shell(command, line, files, environment) == (0, "")
    assert warm("verify", f"{tmp_path}/m").returncode == 0


def test_closed_stdin(
    command: str, files: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    line = f"$bitfold fit - --method lsh --out {tmp_path}/m <&-"
    code, errors = shell(command, line, files, environment)
    assert code == 2 and "stdin, which is closed" in errors and errors.count("\n") == 1
    assert list_names(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
@pytest.mark.parametrize("line", [SEARCH, "$bitfold info $files/m.bitfold", "$bitfold --help"])
def test_full_stdout(line: str, command: str, files: Path, environment: dict[str, str]) -> None:
    code, errors = shell(command, f"{line} > /dev/full", files, environment)
    assert (code, errors) == (1, "bitfold: stdout: No space left on device.\n")


@pytest.mark.parametrize("reader", ["head -1", "true", "head -c 100000"])
def test_a_reader_that_stops(
    reader: str, command: str, files: Path, environment: dict[str, str]
) -> None:
    _, errors = shell(command, f"{SEARCH} -k 100 | {reader}", files, environment)
    assert errors == ""
