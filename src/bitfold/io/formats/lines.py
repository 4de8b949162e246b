"""Lines of a text file, with their numbers for errors, and rows of numbers made from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, Self, TextIO

import numpy as np

from bitfold._types import Float32Array
from bitfold.errors import FormatError
from bitfold.io.rows import block_length

_MAX_RECORD_CHARS = 32 << 20
"""Maximum length of a record: a file without line breaks must not fill the memory."""


class LineReader:
    """Iterates over the lines of a file.

    Parameters
    ----------
    path
        The file, which errors name.
    file
        The file, open for reading.

    Attributes
    ----------
    number
        Number of the last line, from 1.
    """

    def __init__(self, path: Path, file: TextIO) -> None:
        self.path = path
        self.number = 0
        self._file = file
        self._n_chars_left = _MAX_RECORD_CHARS

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[Self]:
        """Open a UTF-8 file; bytes that are not UTF-8 become characters that no number has."""
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            yield cls(path, file)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._file.readline(self._n_chars_left + 1)
        if not line:
            raise StopIteration
        self.number += 1
        self._n_chars_left -= len(line)
        if self._n_chars_left < 0:
            self.fail(f"longer than {_MAX_RECORD_CHARS:,} characters")
        return line

    def start_record(self) -> None:
        """Begin a record, which may have several lines but only a limited length."""
        self._n_chars_left = _MAX_RECORD_CHARS

    def fail(self, problem: str) -> NoReturn:
        """Raise the error about the last line."""
        raise FormatError(f"{self.path}, line {self.number}: {problem}.")


def convert_row(values: Iterable[float], n_values: int) -> Float32Array:
    """Return numbers as float32; those that are too large for it become infinite."""
    with np.errstate(over="ignore"):
        return np.fromiter(values, np.float32, n_values)


def stack_rows(rows: Iterable[Float32Array]) -> Iterator[Float32Array]:
    """Yield rows of one length in blocks."""
    block: list[Float32Array] = []
    for row in rows:
        block.append(row)
        if len(block) == block_length(len(row)):
            yield np.stack(block)
            block.clear()
    if block:
        yield np.stack(block)
