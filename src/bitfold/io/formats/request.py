"""A request to read a file, and the errors of files that cannot be read."""

from __future__ import annotations

import importlib
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

from bitfold import _validation
from bitfold._types import PathLike
from bitfold.errors import FormatError, ParameterError

READ_ERRORS: tuple[type[Exception], ...] = (
    *(ValueError, TypeError, KeyError, OSError, EOFError, OverflowError, MemoryError),
    *(SyntaxError, TokenError, zipfile.BadZipFile, zlib.error, RuntimeError),
)
"""Exceptions that readers raise when a file is damaged or of another format.

numpy parses the header of a .npy file as Python code. ``zipfile`` raises a RuntimeError for
archives that are encrypted or compressed in an unknown way.
"""


@contextmanager
def translate_errors(path: PathLike, expected: str, *errors: type[Exception]) -> Iterator[None]:
    """Re-raise the errors of a reader as :class:`~bitfold.errors.FormatError`.

    Parameters
    ----------
    path
        The file being read.
    expected
        What the file should be, such as ``"an HDF5 file with a matrix"``.
    errors
        The exceptions to translate; ``READ_ERRORS`` by default.

    Raises
    ------
    FormatError
        If the block raises one of ``errors``.

    Examples
    --------
    >>> with translate_errors("x.npy", "a .npy file of numbers"):
    ...     raise EOFError
    Traceback (most recent call last):
    ...
    bitfold.errors.FormatError: x.npy is not a valid file: expected a .npy file of numbers.
    """
    translated = errors or READ_ERRORS
    try:
        yield
    except (FormatError, ParameterError):
        raise
    except translated as error:
        raise FormatError(f"{path} is not a valid file: expected {expected}.") from error


def import_optional(name: str, kind: str, extra: str) -> Any:
    """Import the library that reads a kind of files, or say how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        install = f'pip install "bitfold[{extra}]"'
        raise ImportError(f"Reading {kind} needs {name.partition('.')[0]}: {install}.") from None


class ReadRequest(NamedTuple):
    """A file, the name of the wanted array in it, and the function that was called."""

    path: Path
    name: str | None
    owner: str

    def translate_errors(self, expected: str, *errors: type[Exception]) -> Any:
        """Re-raise ``READ_ERRORS`` and ``errors`` as FormatError; use in a ``with`` statement."""
        return translate_errors(self.path, expected, *READ_ERRORS, *errors)

    def guard_blocks(
        self, blocks: Iterator[Any], expected: str, *errors: type[Exception]
    ) -> Iterator[Any]:
        """Yield blocks, with the errors of reading them translated."""
        with self.translate_errors(expected, *errors):
            yield from blocks

    def check_no_name(self) -> None:
        """Raise if a name was given for a format that holds a single array."""
        if self.name is not None:
            requirement = f"omitted for {self.path.suffix} files"
            _validation.raise_invalid("name", self.owner, requirement, repr(self.name))

    def choose_name(self, names: list[str], kind: str) -> str:
        """Return the requested name, or the only one in the file; ``kind`` is a plural noun."""
        if not names:
            raise FormatError(f"{self.path} contains no {kind}.")
        chosen = names[0] if self.name is None and len(names) == 1 else self.name
        if chosen not in names:
            listed = ", ".join(map(repr, names[:9]))
            requirement = f"one of the {kind} in {self.path.name} ({listed})"
            _validation.raise_invalid("name", self.owner, requirement, repr(self.name))
        return str(chosen)

    def check_numeric(self, dtype: Any) -> None:
        """Raise unless the values are real numbers."""
        if dtype.kind not in "fiub":
            raise FormatError(f"{self.path} must contain real numbers, got dtype {dtype}.")
