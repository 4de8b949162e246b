"""The calls that change files: every byte that bitfold writes, and every name, passes here.

The other modules decide in which order things are written and synced. Because all of it passes
through these few functions, a test can put a simulated disk behind them, stop it at any call, and
lose whatever was not synced.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    import sqlite3


def create_file(path: Path) -> BinaryIO:
    """Create a file for writing.

    Parameters
    ----------
    path
        A path where nothing exists.

    Returns
    -------
    The open file.

    Raises
    ------
    FileExistsError
        The file exists.

    Examples
    --------
    >>> with create_file(Path("new.bin")) as file:
    ...     _ = file.write(b"12")
    """
    return path.open("xb")


def open_file(path: Path) -> BinaryIO:
    """Open a file for reading and writing at any place; create it if necessary.

    Parameters
    ----------
    path
        The file. What it contains is kept.

    Returns
    -------
    The open file, at its beginning.

    Examples
    --------
    >>> with open_file(Path("some.bin")) as file:
    ...     _ = file.write(b"1234"), file.truncate(2)
    >>> Path("some.bin").read_bytes()
    b'12'
    """
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")


def append_to_file(path: Path) -> FileIO:
    """Open a file for reading and for writing at its end; create it if necessary.

    Parameters
    ----------
    path
        The file. Several processes may append to it.

    Returns
    -------
    The open file, unbuffered: after an error, closing it does not write again.

    Examples
    --------
    >>> for line in (b"one ", b"two"):
    ...     with append_to_file(Path("lines.txt")) as file:
    ...         _ = file.write(line)
    >>> Path("lines.txt").read_bytes()
    b'one two'
    """
    return path.open("a+b", buffering=0)


def sync_file(file: BinaryIO | FileIO) -> None:
    """Wait until the content of a file is on the disk.

    Parameters
    ----------
    file
        A file that is open for writing.

    Examples
    --------
    >>> with create_file(Path("new.bin")) as file:
    ...     _ = file.write(b"12")
    ...     sync_file(file)
    """
    file.flush()
    os.fsync(file.fileno())


def copy_mode(source: Path, target: Path) -> None:
    """Give a file the permissions of another, if that exists.

    Parameters
    ----------
    source
        The file with the permissions, which may be missing.
    target
        The file that gets them.

    Examples
    --------
    >>> copy_mode(Path("missing"), Path("new.bin"))
    """
    with suppress(FileNotFoundError):
        shutil.copymode(source, target)


def rename(source: Path, target: Path) -> None:
    """Rename a file; a file of the new name is replaced atomically.

    Parameters
    ----------
    source
        The file.
    target
        Its new name, in the same directory.

    Examples
    --------
    >>> create_file(Path("old name")).close()
    >>> rename(Path("old name"), Path("new name"))
    """
    source.replace(target)


def remove_file(path: Path) -> None:
    """Remove a file, if it exists.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> remove_file(Path("missing"))
    """
    path.unlink(missing_ok=True)


def remove_directory(path: Path) -> None:
    """Remove a directory and its content as far as possible.

    Parameters
    ----------
    path
        The directory; it need not exist.

    Examples
    --------
    >>> remove_directory(Path("missing"))
    """
    shutil.rmtree(path, ignore_errors=True)


def make_directory(path: Path) -> None:
    """Create a directory, if necessary.

    Parameters
    ----------
    path
        The directory, in one that exists.

    Examples
    --------
    >>> make_directory(Path("new"))
    """
    path.mkdir(exist_ok=True)


def sync_directory(directory: Path) -> None:
    """Wait until the names in a directory are on the disk.

    Does nothing on Windows, where directories cannot be opened.

    Parameters
    ----------
    directory
        The directory in which a file was created, renamed or removed.

    Examples
    --------
    >>> sync_directory(Path("."))
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def commit_database(connection: sqlite3.Connection, path: Path) -> None:
    """Commit a transaction of SQLite, which writes and syncs its files itself.

    Parameters
    ----------
    connection
        A connection with ``PRAGMA synchronous = EXTRA``, so that the transaction is on the disk
        when this returns.
    path
        The database.

    Examples
    --------
    >>> import sqlite3
    >>> connection = sqlite3.connect("some.sqlite", isolation_level=None)
    >>> _ = connection.execute("BEGIN"), connection.execute("CREATE TABLE numbers (x)")
    >>> commit_database(connection, Path("some.sqlite"))
    >>> connection.close()
    """
    connection.commit()
