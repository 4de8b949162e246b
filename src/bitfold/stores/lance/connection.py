"""Connections to LanceDB, and its errors as short messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from os import fspath
from pathlib import Path
from typing import Any, NamedTuple

from bitfold._types import PathLike
from bitfold.errors import MissingStoreError, StoreError


class LanceDatabase(NamedTuple):
    """A connection, and the name of the database in errors."""

    connection: Any
    name: str

    def describe(self, table: str) -> str:
        """Return the name of a table for error messages."""
        return f"Table {table!r} in {self.name}"

    def find_table(self, table: str) -> Any:
        """Open a table; return None if there is none, or only the rest of a killed load."""
        with translate_errors(self.describe(table)):
            try:
                return self.connection.open_table(table)
            except ValueError:  # no such table, or a name that no table can have
                return None

    def open_table(self, table: str) -> Any:
        """Open a table; raise if there is none."""
        found = self.find_table(table)
        if found is None:
            raise MissingStoreError(f"{self.describe(table)} does not exist.")
        return found


def connect(uri: PathLike, options: dict[str, Any], *, must_exist: bool = False) -> LanceDatabase:
    """Connect to a folder or an address such as ``s3://bucket/path``."""
    try:
        import lancedb
    except ImportError:
        raise ImportError('LanceStore needs LanceDB: pip install "bitfold[lancedb]".') from None
    name = _hide_secrets(str(uri))
    if must_exist and "://" not in fspath(uri) and not Path(uri).is_dir():
        raise MissingStoreError(f"{name} does not exist.")
    # With an interval of zero, every read looks for the newest version.
    options = {"read_consistency_interval": timedelta(0), **options}
    with translate_errors(name):
        return LanceDatabase(lancedb.connect(fspath(uri), **options), name)


def _hide_secrets(uri: str) -> str:
    """Return an address without user, password and query."""
    return re.sub(r"(?<=://)[^/@]*@|(?<=\?).*", "…", uri) if "://" in uri else uri


@contextmanager
def translate_errors(subject: str) -> Iterator[None]:
    """Raise the errors of LanceDB, many lines of Rust, as a :class:`StoreError` of one line."""
    try:
        yield
    except (RuntimeError, ValueError, OSError) as error:
        reason = str(error).strip().split("\n")[0].split(", /")[0].rstrip(". ")
        raise StoreError(f"{subject} cannot be used: {reason}.") from None
