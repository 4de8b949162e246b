"""The SQLite database of a collection: connections, transactions, errors, and the state.

Changes use a rollback journal with ``synchronous = EXTRA``: when a transaction has returned, it is
on the disk, and after a kill or a power failure the next connection restores the content before an
unfinished one. Unlike a write-ahead log, this leaves one file when nobody writes, and works for
readers who cannot write to the folder. Transactions are kept short, so that readers hardly wait:
rows are added in batches beyond the number of rows in the state, where nobody sees them, and the
last transaction replaces the state.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from bitfold.collection.folder import DATABASE, is_model_name
from bitfold.collection.state import CollectionState, decode_state
from bitfold.errors import FormatError, LockedError
from bitfold.io import file_system
from bitfold.io.file_checks import check_version

FORMAT_VERSION = 1

_APPLICATION_ID = 0x62697466
"""Marks the file as a collection: "bitf"."""

_BUSY_SECONDS = 60.0
"""Seconds to wait for the short transactions of other processes."""

_SYNCHRONOUS = "EXTRA"
"""Also sync the folder after the journal is removed, without which a commit could be undone."""

_STATE_TABLE = "CREATE TABLE state (content TEXT NOT NULL)"
_TABLE_NAME = re.compile(r"state|items_[0-9]{1,15}(_id)?")

MAX_PARAMETERS = 500
"""Number of values per statement; old versions of SQLite allow 999."""


class Database:
    """The database of one collection, used by any number of threads.

    Parameters
    ----------
    folder
        The folder of the collection.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / DATABASE
        self._idle: list[sqlite3.Connection] = []
        self._inherited: list[Any] = []
        self._writer: sqlite3.Connection | None = None
        self._process = os.getpid()

    def create(self) -> None:
        """Create the database, without a state yet, unless it exists."""
        with self.writing() as connection:
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                self._check_application(connection)
            else:
                connection.execute(_STATE_TABLE)
                connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection that cannot change anything, in a transaction of its own."""
        with self._translate_errors():
            connection = self._borrow()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                with suppress(sqlite3.Error):
                    connection.rollback()
                self._idle.append(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection of the writer; commit at the end, durably, or roll back."""
        with self._translate_errors():
            connection = self._connect_writer()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                file_system.commit_database(connection, self.path)
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.rollback()
                raise

    def has_state(self) -> bool:
        """Return whether a collection was committed."""
        with self.reading() as connection:
            names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
            return "state" in names and _read_content(connection) is not None

    def read_state(self) -> CollectionState:
        """Return the state of the last commit."""
        with self.reading() as connection:
            return self._read_state(connection)

    def load(self, define_tables: Callable[[CollectionState], dict[str, str]]) -> CollectionState:
        """Return the state of the last commit of a database that is not trusted.

        ``define_tables`` returns the definitions of the tables and indexes of a state by name.
        Raise unless this is a collection of a known version, with only tables of ours.
        """
        with self.reading() as connection:
            self._check_application(connection)
            check_version(self.path, _pragma(connection, "user_version"), FORMAT_VERSION)
            rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
            self._check_tables(rows, {"state": _STATE_TABLE})
            state = self._read_state(connection)
        self._check_tables(rows, define_tables(state) if state.n_rows else {})
        return state

    def _check_application(self, connection: sqlite3.Connection) -> None:
        if _pragma(connection, "application_id") != _APPLICATION_ID:
            raise FormatError(f"{self.path} is not the database of a collection.")

    def _read_state(self, connection: sqlite3.Connection) -> CollectionState:
        content = _read_content(connection)
        if content is None:
            raise FormatError(
                f"{self.path.parent} is not a complete collection: its creation was interrupted."
            )
        state = decode_state(content, self.path)
        if state.model is not None and not is_model_name(state.model):
            raise FormatError(f"{self.path} is damaged: the values of its state are not valid.")
        return state

    def _check_tables(self, rows: list[tuple[Any, ...]], expected: dict[str, str]) -> None:
        """Raise unless all tables are ours and the expected ones have their definitions."""
        definitions = {name: sql for _, name, sql in rows}
        # Views and triggers would run SQL of whoever made the file.
        are_ours = all(
            kind in ("table", "index") and isinstance(name, str) and _TABLE_NAME.fullmatch(name)
            for kind, name, _ in rows
        )
        if not are_ours or any(definitions.get(name) != sql for name, sql in expected.items()):
            raise FormatError(f"{self.path} is damaged: it has other tables than a collection.")

    def write_state(self, connection: sqlite3.Connection, state: CollectionState) -> None:
        """Replace the state, in a transaction of the caller."""
        connection.execute("DELETE FROM state")
        connection.execute("INSERT INTO state VALUES (?)", [state.encode()])

    def verify(self) -> None:
        """Check the structure of the file; raise FormatError if it is damaged."""
        with self.reading() as connection:
            problem = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if problem != "ok":
            raise FormatError(f"{self.path} is damaged: {problem}.")

    def vacuum(self) -> None:
        """Give free pages back to the file system."""
        with self._translate_errors():
            self._connect_writer().execute("VACUUM")

    def close(self) -> None:
        """Close all connections that are not in use."""
        while self._idle:
            self._idle.pop().close()
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _borrow(self) -> sqlite3.Connection:
        self._forget_inherited()
        return self._idle.pop() if self._idle else self._connect(["PRAGMA query_only = ON"])

    def _forget_inherited(self) -> None:
        """After a fork, keep the connections of the parent without using or closing them."""
        if os.getpid() != self._process:
            self._inherited += [*self._idle, self._writer]
            self._idle, self._writer, self._process = [], None, os.getpid()

    def _connect_writer(self) -> sqlite3.Connection:
        self._forget_inherited()
        if self._writer is None:
            settings = ["PRAGMA journal_mode = DELETE", f"PRAGMA synchronous = {_SYNCHRONOUS}"]
            self._writer = self._connect([*settings, "PRAGMA cache_size = -65536"], "rwc")
        return self._writer

    def _connect(self, settings: list[str], mode: str = "rw") -> sqlite3.Connection:
        # "rw" also for readers: the first connection after a kill has to restore the content.
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )
        try:
            for setting in (
                "PRAGMA trusted_schema = OFF",
                "PRAGMA cell_size_check = ON",
                *settings,
            ):
                with closing(connection.execute(setting)) as cursor:
                    cursor.fetchall()
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise errors of SQLite as those of bitfold or of the system."""
        try:
            yield
        except sqlite3.Error as error:
            raise _translate(error, self.path) from error


def _translate(error: sqlite3.Error, path: Path) -> Exception:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LockedError(f"{path} is in use by another process; try again.")
    if code == sqlite3.SQLITE_FULL:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM):
        return OSError(errno.EIO, f"SQLite: {error}", str(path))
    return FormatError(f"{path} is damaged: {error}.")


def _read_content(connection: sqlite3.Connection) -> Any:
    row = connection.execute("SELECT content FROM state").fetchone()
    return None if row is None else row[0]


def _pragma(connection: sqlite3.Connection, name: str) -> Any:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]
