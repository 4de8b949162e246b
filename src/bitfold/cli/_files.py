"""Files that a verb writes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from bitfold.persistence import replace_atomically


class _Enough(Exception):
    """Raised to leave a file unwritten."""


def demand_writable(path: Path) -> None:
    """Find out before the work whether its result can be written, by beginning to."""
    try:
        with suppress(_Enough), replace_atomically(path):
            raise _Enough
    except OSError as error:
        if error.strerror is None:
            raise
        # The system names the temporary file, which says nothing to the user.
        raise OSError(f"{path} cannot be written: {error.strerror}.") from error


def write(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replace_atomically(path) as file:
        file.write(text.encode())
