"""Connections to Postgres, and its errors as short messages that never contain a password."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from bitfold import _validation
from bitfold.errors import ParameterTypeError, StoreError

_URL = re.compile(
    r"postgres(ql)?://([^\s:@/?#]*(:[^\s:@/?#]*)?@)?[^\s@/?#]*(/[^\s@/?#]*)?(\?[^\s@#]*)?"
)
"""A URL whose user and password have their special characters percent-encoded.

In any other URL, libpq mistakes a part of the password for the host and shows it in its errors.
"""


class PostgresDatabase(NamedTuple):
    """A connection, the name of the database in errors, and whether to close the connection."""

    connection: Any
    name: str
    is_owned: bool

    def describe(self, table: str) -> str:
        """Return the name of a table for error messages."""
        return f"Table {table!r} in {self.name}"

    def close(self) -> None:
        """Close the connection, unless it is the user's."""
        if self.is_owned:
            self.connection.close()


def import_psycopg() -> Any:
    """Import psycopg, or explain how to install it."""
    try:
        import psycopg
    except ImportError:
        raise ImportError('PgvectorStore needs psycopg: pip install "bitfold[postgres]".') from None
    return psycopg


def connect(database: Any, options: dict[str, Any]) -> PostgresDatabase:
    """Connect to a URL or connection string; a psycopg connection is used as it is."""
    psycopg = import_psycopg()
    if isinstance(database, psycopg.Connection):
        name = _describe(database.info.get_parameters())
        return PostgresDatabase(database, name, is_owned=False)
    if not isinstance(database, str):
        raise ParameterTypeError(
            "database", "PgvectorStore", "a string or a psycopg.Connection", type(database).__name__
        )
    name = _describe(_parse(psycopg, database, options))
    try:
        connection = psycopg.connect(database, **{"autocommit": True, **options})
    except psycopg.Error as error:
        raise ConnectionError(f"Cannot connect to {name}: {_reason(error)}.") from None
    return PostgresDatabase(connection, name, is_owned=True)


def _parse(psycopg: Any, database: str, options: dict[str, Any]) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    with suppress(psycopg.Error):
        if "://" not in database or _URL.fullmatch(database):
            parameters = {**psycopg.conninfo.conninfo_to_dict(database), **options}
    if not parameters:
        requirement = (
            "like postgresql://user:password@host/database, special characters percent-encoded"
        )
        # The value is not shown, because it may contain a password.
        _validation.raise_invalid("database", "PgvectorStore", requirement, "another form")
    return parameters


def _describe(parameters: dict[str, Any]) -> str:
    """Return the name of a database without user and password."""
    host = str(parameters.get("host") or parameters.get("hostaddr") or "the local server")
    if port := parameters.get("port"):
        host += f":{port}"
    return f"database {parameters.get('dbname') or parameters.get('user') or ''!s} of {host}"


@contextmanager
def translate_errors(subject: str) -> Iterator[None]:
    """Raise the errors of Postgres with a message of one line about ``subject``."""
    psycopg = import_psycopg()
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise PermissionError(f"{subject} cannot be used: {_reason(error)}.") from None
    except psycopg.errors.DiskFull as error:
        raise OSError(f"{subject} cannot be changed: {_reason(error)}.") from None
    except psycopg.Error as error:
        if _is_connection_error(psycopg, error):
            raise ConnectionError(f"{subject} cannot be reached: {_reason(error)}.") from None
        raise StoreError(f"{subject} cannot be used: {_reason(error)}.") from None


def _is_connection_error(psycopg: Any, error: Any) -> bool:
    """Return whether the connection failed, not the statement: SQL classes 08 and 57P."""
    state = error.sqlstate or "08"
    return isinstance(error, psycopg.OperationalError) and state.startswith(("08", "57P"))


def _reason(error: Exception) -> str:
    """Return the first line of a message."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(". ") if lines else type(error).__name__
