"""Files that appear complete or not at all, and locks that end with their process."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from bitfold._types import PathLike
from bitfold.errors import LockedError
from bitfold.io import file_system

if TYPE_CHECKING:
    from filelock import BaseFileLock

FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers of a full disk, an exhausted quota and a limit of the file size."""


@contextmanager
def replace_atomically(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces ``path`` only if the block succeeds.

    The bytes go to a temporary file in the same directory and are synced to the disk before the
    file is renamed. A reader, an error, a kill or a power failure therefore meets either the old
    file or the new one, never a part. After an error the temporary file is removed.

    Parameters
    ----------
    path
        The file to create or replace. Symbolic links are followed. An existing file keeps its
        mode; the mode of a new file follows the umask.

    Yields
    ------
    The temporary file, open for writing bytes.

    Raises
    ------
    FileNotFoundError
        The directory does not exist.
    OSError
        ``path`` is a directory or a device, or the file cannot be written.

    Examples
    --------
    >>> with replace_atomically("notes.txt") as file:
    ...     _ = file.write(b"all or nothing")
    >>> Path("notes.txt").read_text()
    'all or nothing'
    """
    target = resolve_target(path)
    # A short name, because the target's own name may already have the maximum length.
    temporary = target.with_name(f".bitfold-{secrets.token_hex(8)}.tmp")
    try:
        with file_system.create_file(temporary) as file:
            file_system.copy_mode(target, temporary)
            yield file
            file_system.sync_file(file)
        file_system.rename(temporary, target)
    except OSError as error:
        # The system names the temporary file, or none.
        if error.errno in FULL_DISK:
            error.filename = str(path)
        raise
    finally:
        try:
            file_system.remove_file(temporary)
        except KeyboardInterrupt:
            # Ctrl-C just before the call.
            file_system.remove_file(temporary)
            raise
    file_system.sync_directory(target.parent)


def resolve_target(path: PathLike) -> Path:
    """Return the real path of a file that is going to be created or replaced.

    Parameters
    ----------
    path
        The file; symbolic links are followed.

    Returns
    -------
    The resolved path.

    Raises
    ------
    FileNotFoundError
        The directory does not exist.
    OSError
        ``path`` is a directory or a device.

    Examples
    --------
    >>> resolve_target("model.bitfold").name
    'model.bitfold'
    """
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: its directory does not exist.")
    # Renaming onto a device such as /dev/null would succeed, and destroy the device.
    if target.exists() and not target.is_file():
        raise OSError(f"{path} cannot be written: it is a directory or a device.")
    return target


def create_directory(path: PathLike) -> None:
    """Create a directory and those above it, durably; do nothing if it exists.

    Parameters
    ----------
    path
        The directory.

    Raises
    ------
    OSError
        The directory cannot be created.

    Examples
    --------
    >>> create_directory("runs/today")
    """
    directory = Path(path).absolute()
    missing = [each for each in (directory, *directory.parents) if not each.is_dir()]
    for each in reversed(missing):
        file_system.make_directory(each)
        file_system.sync_directory(each.parent)


def create_folder(path: Path, owner: str) -> None:
    """Create a folder for files of one owner, durably, unless it exists.

    Parameters
    ----------
    path
        The folder.
    owner
        What needs the folder, for the error, such as "an index".

    Raises
    ------
    FileExistsError
        The path is a file.
    FileNotFoundError
        The folder above it does not exist.

    Examples
    --------
    >>> create_folder(Path("news"), "a collection")
    """
    if not path.is_dir():
        if path.exists():
            raise FileExistsError(f"{path} is a file; {owner} needs a folder of its own.")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{path} cannot be created: {path.parent} does not exist.")
        file_system.make_directory(path)
    # Also a folder that exists: the process that made it may have been killed before it synced.
    with suppress(PermissionError):
        file_system.sync_directory(path.parent)


def acquire_lock(path: PathLike, message: str, *, wait: bool = False) -> BaseFileLock:
    """Lock a file against other processes and other locks of this process.

    The operating system holds the lock, so it ends when the process ends, however that happens; a
    lock file that is left behind locks nothing. A forked child does not share the lock.

    Parameters
    ----------
    path
        The lock file, created if necessary. Do not use the file for anything else.
    message
        The sentence of the error if the lock is taken.
    wait
        Wait until the lock is free instead of raising.

    Returns
    -------
    The lock; its method ``release`` may be called from any thread, and more than once.

    Raises
    ------
    LockedError
        The lock is taken.
    OSError
        The file cannot be created, or the file system does not support locks.

    Examples
    --------
    >>> lock = acquire_lock("report.lock", "The report is being written.")
    >>> acquire_lock("report.lock", "The report is being written.")
    Traceback (most recent call last):
        ...
    bitfold.errors.LockedError: The report is being written.
    >>> lock.release()
    """
    # Imported here because it takes 50 ms, and most uses of this module need no lock.
    from filelock import FileLock, Timeout

    # The fallback would be a file whose mere existence locks, and which a kill leaves behind.
    lock = FileLock(path, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire(blocking=wait)
    except Timeout:
        raise LockedError(message) from None
    return lock


def remove_lock(lock: BaseFileLock) -> None:
    """Release a lock and remove its file.

    Parameters
    ----------
    lock
        A lock that this process holds.

    Examples
    --------
    >>> remove_lock(acquire_lock("report.lock", "The report is being written."))
    >>> Path("report.lock").exists()
    False
    """
    # In this order, a process that opened the file before its removal does not get the lock. On
    # Windows an open file cannot be removed, and the release removes it.
    if lock.is_locked and os.name == "posix":
        file_system.remove_file(Path(lock.lock_file))
    lock.release()
