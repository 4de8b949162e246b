"""Files that a command writes: checks before the work starts, and clear errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import typer

from bitfold.cli._inputs import InputRef
from bitfold.errors import LockedError
from bitfold.io import file_system
from bitfold.io.atomic import FULL_DISK, replace_atomically


class _DoNotWriteError(Exception):
    """Raised to leave a file as it is."""


def check_output(out: Path, *inputs: Path | None, force: bool) -> None:
    """Raise unless the output file can be written and replaces nothing by accident."""
    if str(out) == "-":
        raise typer.BadParameter("The output must be a file; it cannot be written to a pipe.")
    check_differs(out, *inputs)
    check_new(out, force=force)
    try:
        with suppress(_DoNotWriteError), replace_atomically(out):
            raise _DoNotWriteError
    except OSError as error:
        if error.strerror is None:
            raise
        # The system names the temporary file, which means nothing to the user.
        raise type(error)(f"{out} cannot be written: {error.strerror}.") from error


def check_new(out: Path, *, force: bool) -> None:
    """Raise if the output exists, unless it may be replaced."""
    if out.exists() and not force:
        raise FileExistsError(f"{out} already exists; use --force to replace it.")


def check_differs(out: Path, *inputs: Path | None) -> None:
    """Raise if the output is one of the inputs, under any name."""
    for argument in inputs:
        if argument is None or str(argument) == "-" or not out.exists():
            continue
        path = InputRef.parse(argument).path
        if path.exists() and out.samefile(path):
            raise typer.BadParameter(f"{out} is also an input; choose another output.")


@contextmanager
def explain_full_disk(path: Path) -> Iterator[None]:
    """Name the output when the disk is full; the system names a temporary file, or none."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL_DISK:
            raise
        explained = OSError(f"{path} could not be written: {error.strerror}.")
        explained.errno = error.errno
        raise explained from error


@contextmanager
def remove_if_failed(folder: Path) -> Iterator[None]:
    """Remove a folder that the block creates if the block fails or is interrupted."""
    existed = folder.exists()
    try:
        yield
    except LockedError:
        raise
    except BaseException:
        if not existed:
            file_system.remove_directory(folder)
        raise
