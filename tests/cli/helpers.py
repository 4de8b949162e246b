"""Data and assertions that the tests of several commands share."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bitfold._types import AnyArray

Run = Callable[..., subprocess.CompletedProcess[str]]

DIGITS, LABELS = load_digits(return_X_y=True)
X = DIGITS.astype(np.float32)


def to_texmex(matrix: AnyArray) -> bytes:
    """Return rows in the format of .fvecs and .bvecs."""
    length = np.array([matrix.shape[1]], "<i4").tobytes()
    return b"".join(length + row.tobytes() for row in matrix)


def parse_json(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return what a successful command printed as JSON."""
    assert (done.returncode, done.stderr) == (0, "")
    tree: dict[str, Any] = json.loads(done.stdout)
    return tree


def assert_fails(done: subprocess.CompletedProcess[str], pattern: str, code: int = 1) -> None:
    """Check the exit code, and that the error is one line and nothing was printed."""
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert re.fullmatch(f"bitfold: .*{pattern}.*\n", done.stderr), done.stderr


def list_names(folder: Path) -> list[str]:
    """Return the sorted names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir())


class Screen:
    """A pseudo-terminal of 24 × 100 characters that is read all the time."""

    def __init__(self) -> None:
        # The tests that run on Windows import this file, too.
        termios = pytest.importorskip("termios", reason="Windows has no pseudo-terminals")
        import fcntl
        import pty

        self._reader_end, self.terminal = pty.openpty()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.shown = b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        # On Linux, reading fails when the other end is closed.
        with suppress(OSError):
            while part := os.read(self._reader_end, 65536):
                self.shown += part

    def close(self) -> str:
        """Close the terminal, and return everything it has shown."""
        os.close(self.terminal)
        self._thread.join(10)
        os.close(self._reader_end)
        return self.shown.decode()
