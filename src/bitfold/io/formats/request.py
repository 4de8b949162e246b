"""What was asked of a file, and the sentences of what cannot be given."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

from bitfold import _validation
from bitfold.errors import FormatError
from bitfold.io.formats.errors import read_as

WRONG = (
    *(ValueError, TypeError, KeyError, OSError, EOFError, OverflowError, MemoryError),
    *(SyntaxError, TokenError, zipfile.BadZipFile, zlib.error, RuntimeError),
)
"""What readers raise when a file is not what its name says.

A header of numpy's is parsed as Python; of an archive that is encrypted or compressed in an unknown
way ``zipfile`` raises a RuntimeError, or a kind of it.
"""

Reading = Callable[[], AbstractContextManager[None]]
"""Makes what turns the errors of a reader into one sentence about the file."""


class Asked(NamedTuple):
    """A file, the name of what is wanted in it, and who asks."""

    path: Path
    name: str | None
    owner: str

    def reading(self, what: str, *errors: type[Exception]) -> Reading:
        """Turn what goes wrong into the sentence that the file is not ``what``."""
        return partial(read_as, what, self.path, *WRONG, *errors)

    def raise_name(self) -> None:
        """Raise if a name was given for a file that has only one array."""
        if self.name is not None:
            demand = f"left out for {self.path.suffix} files"
            _validation.raise_invalid("name", self.owner, demand, repr(self.name))

    def chosen(self, names: list[str], kind: str) -> str:
        """Return the one that was asked for, or the only one there is."""
        if not names:
            raise FormatError(f"{self.path} must hold {kind}, got none.")
        chosen = names[0] if self.name is None and len(names) == 1 else self.name
        if chosen not in names:
            demand = f"one of the {kind} of {self.path.name}, {', '.join(map(repr, names[:9]))}"
            _validation.raise_invalid("name", self.owner, demand, repr(self.name))
        return str(chosen)

    def check_numbers(self, dtype: Any) -> None:
        """Raise unless a matrix holds real numbers."""
        if dtype.kind not in "fiub":
            raise FormatError(f"{self.path} must hold real numbers, got dtype {dtype}.")


def guarded(blocks: Iterator[Any], reading: Reading) -> Iterator[Any]:
    """Yield blocks; what goes wrong on the way is told in one sentence."""
    with reading():
        yield from blocks
