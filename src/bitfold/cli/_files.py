"""Files that a verb writes."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bitfold.cli._inputs import Place
from bitfold.io.atomic import replace_atomically


class _Enough(Exception):
    """Raised to leave a file unwritten."""


def check_writable(path: Path) -> None:
    """Find out before the work whether its result can be written, by beginning to."""
    if str(path) == "-":
        raise ValueError("- cannot be written: a result goes to a file, not to a pipe.")
    try:
        with suppress(_Enough), replace_atomically(path):
            raise _Enough
    except OSError as error:
        if error.strerror is None:
            raise
        # The system names the temporary file, which says nothing to the user.
        raise OSError(f"{path} cannot be written: {error.strerror}.") from error


def check_apart(out: Path, *inputs: Path | None) -> None:
    """Raise if the result would replace what it is made of, by whatever name."""
    for asked in inputs:
        if asked is None or str(asked) == "-" or not out.exists():
            continue
        path = Place.of(asked).path
        if path.exists() and out.samefile(path):
            raise ValueError(f"{out} cannot be written: it is read, too; name another file.")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file where there is no room for it; the system names none, or a temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise OSError(f"{path} could not be written: {error.strerror}.") from error


def write(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with writing(path), replace_atomically(path) as file:
        file.write(text.encode())
