"""Connections to Postgres, whose errors are one sentence and never tell a password."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from bitfold import _validation
from bitfold.errors import StoreError

_URL = re.compile(
    r"postgres(ql)?://([^\s:@/?#]*(:[^\s:@/?#]*)?@)?[^\s@/?#]*(/[^\s@/?#]*)?(\?[^\s@#]*)?"
)
"""A URL whose user and password have their special characters percent-encoded.

In any other, libpq takes a part of the password for the host and says so in its errors.
"""


class Place(NamedTuple):
    """A connection, what to call the database in errors, and whether to close it."""

    connection: Any
    name: str
    own: bool

    def leave(self) -> None:
        """Close the connection, if it was made here."""
        if self.own:
            self.connection.close()


def import_psycopg() -> Any:
    """Import psycopg, or say how to install it."""
    try:
        import psycopg
    except ImportError:
        extra = 'pip install "bitfold[postgres]"'
        raise ImportError(f"PgvectorStore needs psycopg: {extra}.") from None
    return psycopg


def connect(where: Any) -> Place:
    """Connect to where a URL or connection string says; a connection is taken as it is.

    Parameters
    ----------
    where
        Such as ``postgresql://user@host/database``, or a connection of psycopg.
    """
    psycopg = import_psycopg()
    if isinstance(where, psycopg.Connection):
        return Place(where, _named(where.info.get_parameters()), own=False)
    if not isinstance(where, str):
        came = type(where).__name__
        raise TypeError(f"url of PgvectorStore must be text or a psycopg.Connection, got {came}.")
    name = _named(_parsed(psycopg, where))
    try:
        return Place(psycopg.connect(where, autocommit=True), name, own=True)
    except psycopg.Error as error:
        raise ConnectionError(f"{name} cannot be reached: {_words(error)}.") from None


def _parsed(psycopg: Any, url: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with suppress(psycopg.Error):
        if "://" not in url or _URL.fullmatch(url):
            found = psycopg.conninfo.conninfo_to_dict(url)
    if not found:
        demand = "like postgresql://user:password@host/database, special characters percent-encoded"
        # What came is not shown: it may hold a password.
        _validation.raise_invalid("url", "PgvectorStore", demand, "another form")
    return found


def _named(parameters: dict[str, Any]) -> str:
    """Name a database without saying who may enter it."""
    host = str(parameters.get("host") or parameters.get("hostaddr") or "the local server")
    if port := parameters.get("port"):
        host += f":{port}"
    return f"database {parameters.get('dbname') or parameters.get('user') or ''!s} of {host}"


@contextmanager
def clear(what: str) -> Iterator[None]:
    """Turn what Postgres raises into one sentence.

    Parameters
    ----------
    what
        What was worked on.
    """
    psycopg = import_psycopg()
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise PermissionError(f"{what} cannot be used: {_words(error)}.") from None
    except psycopg.errors.DiskFull as error:
        raise OSError(f"{what} cannot be changed: {_words(error)}.") from None
    except psycopg.Error as error:
        if _is_lost(psycopg, error):
            raise ConnectionError(f"{what} cannot be reached: {_words(error)}.") from None
        raise StoreError(f"{what} cannot be used: {_words(error)}.") from None


def _is_lost(psycopg: Any, error: Any) -> bool:
    """Whether an error means the connection, not what was asked: classes 08 and 57P of SQL."""
    state = error.sqlstate or "08"
    return isinstance(error, psycopg.OperationalError) and state.startswith(("08", "57P"))


def _words(error: Exception) -> str:
    """The first line of what Postgres said."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(". ") if lines else type(error).__name__
