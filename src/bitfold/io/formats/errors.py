"""What can be wrong with the files of a data set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike


class MissingData(FileNotFoundError):
    """Raised when a data set's files are not there, and cannot or may not be downloaded."""


class DamagedData(ValueError):
    """Raised when a file is not what it should be: truncated, damaged or something else."""


@contextmanager
def read_as(
    what: str, path: str | PathLike[str], *errors: type[Exception], but: str = "something else"
) -> Iterator[None]:
    """Turn what a reader may raise into the one sentence of a file that is not ``what``."""
    try:
        yield
    except DamagedData:
        raise
    except errors:
        raise DamagedData(f"{path} must be {what}, got {but}.") from None
