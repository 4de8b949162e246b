"""What can be wrong with the files of a data set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from bitfold.errors import FormatError


@contextmanager
def read_as(
    what: str, path: str | PathLike[str], *errors: type[Exception], but: str = "something else"
) -> Iterator[None]:
    """Turn what a reader may raise into the one sentence of a file that is not ``what``."""
    try:
        yield
    except FormatError:
        raise
    except errors:
        raise FormatError(f"{path} must be {what}, got {but}.") from None
