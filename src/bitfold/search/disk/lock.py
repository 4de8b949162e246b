"""The directory of an index: made, locked for one writer, and cleared of what is left over."""

from __future__ import annotations

import os
import re
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bitfold.io import atomic
from bitfold.search.disk import manifest as manifests

_LOCK = "lock"
_TEMPORARY = re.compile(r"\.bitfold-[0-9a-f]{16}\.tmp")


class Dropped(NamedTuple):
    """A file that was removed."""

    name: str
    size: int


def make(path: Path) -> None:
    """Make a directory, durably, or see that the one there is an index or empty."""
    if (path / manifests.NAME).exists():
        manifests.read(path)
    elif path.is_dir():
        others = [file.name for file in path.iterdir() if not _is_ours(file.name)]
        if others:
            raise FileExistsError(f"{path} must hold nothing but an index, got {others[0]!r}.")
    elif path.exists():
        raise FileExistsError(f"{path} must be a directory, got a file.")
    else:
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{path} cannot be made: its parent does not exist.")
        path.mkdir(exist_ok=True)
        atomic.sync_directory(path.parent)


def lock(path: Path) -> int:
    """Take the writer's lock, which the system takes back when the process dies."""
    if sys.platform == "win32":
        raise OSError(f"{path} cannot be written: on Windows an index can only be read.")
    import fcntl

    descriptor = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        unlock(descriptor)
        taken = f"{path} is already open to be written, and only one can write; close it there."
        raise BlockingIOError(taken) from None
    except BaseException:
        unlock(descriptor)
        raise
    return descriptor


def unlock(descriptor: int | None) -> None:
    """Give the lock back, if there is one."""
    # Closed, not unlocked: done in a forked child, that would take it from the parent.
    if descriptor is not None:
        os.close(descriptor)


def sweep(path: Path, keep: set[str]) -> list[Dropped]:
    """Remove the files of an index that are not to be kept, and temporary ones."""
    dropped = []
    for file in path.iterdir():
        if _is_array_file(file.name) and file.name not in keep:
            # What cannot be removed is harmless, and the next sweep tries again.
            with suppress(OSError):
                found = Dropped(file.name, file.stat().st_size)
                file.unlink()
                dropped.append(found)
    return dropped


def warn_of(path: Path, dropped: list[Dropped], generation: int) -> None:
    """Warn of what a crash left unfinished; what a finished commit replaced goes in silence."""
    late = [file.size for file in dropped if _is_later(file.name, generation)]
    if late:
        what = f"{len(late)} files, {sum(late)} bytes"
        # Where the user opened the index: below are Folder._load, its open, and that.
        warnings.warn(f"{path}: dropped an unfinished append ({what}).", stacklevel=5)


def _is_ours(name: str) -> bool:
    return name == _LOCK or _is_array_file(name)


def _is_array_file(name: str) -> bool:
    return manifests.generation_of(name) is not None or _TEMPORARY.fullmatch(name) is not None


def _is_later(name: str, generation: int) -> bool:
    """Whether a file is temporary or of a commit after this one."""
    number = manifests.generation_of(name)
    return number is None or number > generation
