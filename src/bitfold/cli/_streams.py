"""stdin, stdout and stderr, which may be closed, full, or a pipe that nobody reads."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress


class NamedOutput(io.TextIOWrapper):
    """stdout, named in its errors."""

    def write(self, text: str, /) -> int:
        """Write text."""
        try:
            return super().write(text)
        except OSError as error:
            error.filename = "stdout"
            raise

    def flush(self) -> None:
        """Write what is buffered."""
        try:
            super().flush()
        except OSError as error:
            error.filename = "stdout"
            raise


class ClosedOutput(io.StringIO):
    """stdout if the process was started without one: writing is an error."""

    def write(self, text: str, /) -> int:
        """Raise."""
        raise OSError(errno.EBADF, "it is closed, and the result cannot be printed", "stdout")


def prepare() -> None:
    """Replace streams that are missing, and name stdout in its errors."""
    _occupy_descriptors()
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    elif type(sys.stdout) is io.TextIOWrapper:
        old = sys.stdout
        sys.stdout = NamedOutput(
            old.buffer, old.encoding, old.errors, line_buffering=old.line_buffering
        )
    if sys.stderr is None:
        sys.stderr = io.StringIO()


def flush() -> None:
    """Write what is buffered; a reader that has stopped, as in ``| head``, is not an error."""
    with suppress(BrokenPipeError):
        sys.stdout.flush()
        return
    discard_output()


def discard_output() -> None:
    """Send what is still buffered nowhere, so that the end of the process does not fail."""
    with suppress(OSError, io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _occupy_descriptors() -> None:
    """Open descriptors 0 to 2 if they are closed: a file with such a number would be printed to."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
