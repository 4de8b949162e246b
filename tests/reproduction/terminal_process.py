"""A command in a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from typing import Self

RUN_COMMAND = "\nfrom reproduction.command import main\nmain()"


class TerminalProcess:
    """``python -m reproduction`` in a pseudo-terminal of 24 × 100 characters.

    Parameters
    ----------
    arguments
        Arguments of the command.
    environment
        Additional variables.
    prepare
        Code that is run before the command.
    """

    def __init__(
        self, *arguments: str, environment: dict[str, str] | None = None, prepare: str = ""
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-c", prepare + RUN_COMMAND, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, **(environment or {}), "TERM": "xterm-256color"},
        )
        os.close(theirs)
        self.output = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def read(self, until: bytes = b"") -> int | None:
        """Read until some text appears, or to the end; return the exit code at the end."""
        while not (until and until in self.output):
            try:
                part = os.read(self._ours, 1 << 16)
            except OSError:
                part = b""  # Linux reports a closed terminal as an error
            if not part:
                return self._process.wait(timeout=100)
            self.output += part
        return None

    def interrupt(self) -> None:
        """Send what Ctrl-C sends."""
        self._process.send_signal(signal.SIGINT)
