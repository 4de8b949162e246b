"""The directory of an index: create it, lock it for one writer, remove leftover files."""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bitfold.io import file_system
from bitfold.io.atomic import acquire_lock, create_folder
from bitfold.search.disk import manifest as manifests

if TYPE_CHECKING:
    from filelock import BaseFileLock

_LOCK = "lock"
_TABLES = re.compile(r"tables-([0-9]{1,15}-[0-9]{1,15})-[0-9]{1,15}\.bin")
_TEMPORARY = re.compile(r"\.bitfold-[0-9a-f]{16}\.tmp")


def prepare_directory(path: Path) -> None:
    """Create a directory durably; one that exists must be empty or an index."""
    if (path / manifests.NAME).exists():
        manifests.read(path)
    elif path.is_dir():
        names = [file.name for file in path.iterdir()]
        others = [name for name in names if name != _LOCK and not _is_removable(name)]
        if others:
            raise FileExistsError(
                f"{path} already contains {others[0]!r}; an index needs a folder of its own."
            )
    create_folder(path, "an index")


def lock_directory(path: Path) -> BaseFileLock:
    """Take the lock of the writer."""
    message = f"{path} is already open for writing. Close it there first."
    return acquire_lock(path / _LOCK, message)


def identify_lock(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of the lock file; None if it does not exist."""
    try:
        status = (path / _LOCK).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def remove_leftovers(path: Path, keep: set[str]) -> dict[str, int]:
    """Remove temporary files, and files of the index not in ``keep``; return their sizes.

    Tables are kept with their segments.
    """
    removed = {}
    for file in path.iterdir():
        if _is_removable(file.name) and _owner_of(file.name) not in keep:
            # A file that cannot be removed does no harm, and the next writer tries again.
            with suppress(OSError):
                n_bytes = file.stat().st_size
                file_system.remove_file(file)
                removed[file.name] = n_bytes
    return removed


def warn_about_leftovers(path: Path, removed: dict[str, int], generation: int) -> None:
    """Warn about files of an unfinished commit; files that a commit replaced are expected."""
    sizes = [size for name, size in removed.items() if _is_unfinished(name, generation)]
    if sizes:
        # The user's call is above IndexFolder._load and IndexFolder.open.
        warnings.warn(
            f"{path}: removed an unfinished commit ({len(sizes)} files, {sum(sizes)} bytes).",
            stacklevel=5,
        )


def explain_error(path: Path, error: OSError) -> OSError:
    """Return an error of the same class that names the index."""
    reason = error.strerror or str(error).rstrip(".")
    explained = type(error)(f"{path} could not be saved: {reason}. Nothing saved earlier is lost.")
    explained.errno = error.errno
    return explained


def _is_removable(name: str) -> bool:
    is_own = any(pattern.fullmatch(name) for pattern in (_TEMPORARY, _TABLES))
    return is_own or manifests.parse_generation(name) is not None


def _owner_of(name: str) -> str:
    """Return the name of the segment that a file of tables belongs to; keep other names."""
    match = _TABLES.fullmatch(name)
    return f"segment-{match[1]}.bin" if match else name


def _is_unfinished(name: str, generation: int) -> bool:
    number = manifests.parse_generation(_owner_of(name))
    return number is None or number > generation
