"""encode and fit on a terminal, interrupted, and killed: bars, resumption, nothing half-written."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitfold.hashers import LSH

X = np.random.default_rng(0).standard_normal((60_000, 64)).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("interrupted")
    np.save(folder / "x.npy", X)
    hasher = LSH(64, random_state=0).fit(X)
    hasher.save(folder / "m.bitfold")
    np.save(folder / "expected.npy", hasher.encode(X).packed)
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Fed:
    """``bitfold encode`` of a pipe that is never at its end."""

    def __init__(self, command: str, folder: Path, out: Path, terminal: int | None = None) -> None:
        self._note = out.with_name(f"{out.name}.progress")
        self._content = (folder / "x.npy").read_bytes()
        arguments = [command, "encode", str(folder / "m.bitfold"), "-", "--out", str(out)]
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=terminal, stderr=terminal or subprocess.DEVNULL
        )
        self._feed(1 << 20)

    def feed_until(self, reached: Callable[[], Any]) -> None:
        """Feed it slowly until something has happened."""
        while len(self._content) > 1 << 20:
            if reached():
                return
            time.sleep(0.1)
            self._feed(200_000)
        raise AssertionError("it never happened")

    def rows(self) -> int:
        """How many rows are safe."""
        return int(json.loads(self._note.read_bytes())["n_rows"]) if self._note.exists() else 0

    def _feed(self, n_bytes: int) -> None:
        assert self.process.stdin
        self.process.stdin.write(self._content[:n_bytes])
        self.process.stdin.flush()
        self._content = self._content[n_bytes:]

    def stop(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        code = self.process.wait(60)
        assert self.process.stdin
        self.process.stdin.close()
        return code


class Screen:
    """A pseudo-terminal of 24 × 100 that someone looks at all the time."""

    def __init__(self) -> None:
        self._ours, self.theirs = pty.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.shown = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        # Linux says with an error that the other side is closed.
        with suppress(OSError):
            while part := os.read(self._ours, 65536):
                self.shown += part

    def text(self) -> str:
        """Return all that was shown, once nobody can show more."""
        os.close(self.theirs)
        self._reader.join(10)
        os.close(self._ours)
        return self.shown.decode()


def test_killed_and_run_again(command: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "c.npy"
    out.write_bytes(b"the old codes")
    fed = Fed(command, folder, out)
    fed.feed_until(fed.rows)
    fed.stop(signal.SIGKILL)
    rows = fed.rows()
    assert 0 < rows < len(X)
    assert out.read_bytes() == b"the old codes"
    assert names(tmp_path) == ["c.npy", "c.npy.lock", "c.npy.partial", "c.npy.progress"]
    run = [command, "encode", str(folder / "m.bitfold"), "-", "--out", str(out)]
    other = np.load(folder / "x.npy")
    other[0] += 1
    np.save(tmp_path / "other.npy", other)
    with (tmp_path / "other.npy").open("rb") as vectors:
        done = subprocess.run(run, stdin=vectors, capture_output=True, text=True)
    assert done.returncode == 1
    assert "the vectors changed" in done.stderr
    assert done.stderr.count("\n") == 1
    with (folder / "x.npy").open("rb") as vectors:
        done = subprocess.run([*run, "--json"], stdin=vectors, capture_output=True, text=True)
    assert json.loads(done.stdout)["rows"] == len(X)
    assert out.read_bytes() == (folder / "expected.npy").read_bytes()
    assert names(tmp_path) == ["c.npy", "other.npy"]


def test_ctrl_c_on_a_terminal(command: str, folder: Path, tmp_path: Path) -> None:
    screen = Screen()
    fed = Fed(command, folder, tmp_path / "c.npy", screen.theirs)
    fed.feed_until(lambda: fed.rows() and b" left" in screen.shown)
    rows = fed.rows()
    assert fed.stop(signal.SIGINT) == 130
    shown = screen.text()
    assert "Traceback" not in shown
    for part in ("encode", "/s", " left", "run it again to go on."):
        assert part in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is back
    assert names(tmp_path) == ["c.npy.partial", "c.npy.progress"]
    assert json.loads((tmp_path / "c.npy.progress").read_bytes())["n_rows"] >= rows


def test_fit_shows_its_stages_on_a_terminal(command: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X[:5000])
    screen = Screen()
    fit = ["fit", str(tmp_path / "x.npy"), "--bits", "16", "--out", str(tmp_path / "m")]
    process = subprocess.Popen([command, *fit], stdout=screen.theirs, stderr=screen.theirs)
    assert process.wait(100) == 0
    shown = screen.text()
    assert "embedding" in shown
    assert "IMH, 16 bits, from 5,000 × 64" in " ".join(shown.split())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_fit_that_is_interrupted_leaves_nothing(
    command: str, folder: Path, tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "m.bitfold"
    fit = ["fit", str(folder / "x.npy"), "--out", str(out), "--set", "base__n_base_points=3000"]
    process = subprocess.Popen([command, *fit], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(6)
    assert process.poll() is None
    process.send_signal(number)
    told: Any = process.communicate(timeout=100)
    assert (process.returncode, told) == (128 + number, (b"", b""))
    assert names(tmp_path) == []
