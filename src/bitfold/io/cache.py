"""The cache folder: files that were downloaded, unpacked or computed, named by their content."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from bitfold._progress import show_progress
from bitfold._types import AnyArray, PathLike, ProgressCallback
from bitfold.io.atomic import (
    acquire_lock,
    create_directory,
    remove_lock,
    replace_atomically,
    resolve_target,
)

_HASH_BLOCK_BYTES = 16 << 20


def cache_root() -> Path:
    """Return the folder that ``BITFOLD_CACHE`` names, by default ``~/.cache/bitfold``.

    Returns
    -------
    The folder, which may not exist yet.
    """
    return Path(os.environ.get("BITFOLD_CACHE") or Path.home() / ".cache" / "bitfold")


def make_cache_folder(name: str) -> Path:
    """Create a folder in the cache, if necessary.

    Parameters
    ----------
    name
        Name of the folder.

    Returns
    -------
    The folder.

    Raises
    ------
    OSError
        If the folder cannot be created.
    """
    path = cache_root() / name
    try:
        create_directory(path)
    except OSError as error:
        raise OSError(
            f"Cannot create {path} ({error.strerror}). Set BITFOLD_CACHE to a writable folder."
        ) from None
    return path


def hash_files(paths: Iterable[Path]) -> str:
    """Return a digest of the content of files.

    Parameters
    ----------
    paths
        The files; their order matters, their names do not.

    Returns
    -------
    16 hexadecimal digits.
    """
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def hash_arrays(*arrays: AnyArray) -> str:
    """Return a digest of the content, type and shape of arrays.

    Parameters
    ----------
    arrays
        Arrays or memory maps; they are read block by block.

    Returns
    -------
    32 hexadecimal digits.

    Examples
    --------
    >>> hash_arrays(np.zeros(3)) == hash_arrays(np.zeros(3, np.float32))
    False
    """
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str} {array.shape} ".encode())
        step = max(1, _HASH_BLOCK_BYTES * len(array) // max(array.nbytes, 1))
        for start in range(0, len(array), step):
            digest.update(np.ascontiguousarray(array[start : start + step]).data)
    return digest.hexdigest()[:32]


def cache_rows(
    path: PathLike,
    shape: tuple[int, ...],
    dtype: Any,
    compute: Callable[[slice], AnyArray],
    *,
    step: int,
    stage: str,
    progress: ProgressCallback | None = None,
) -> AnyArray:
    """Return an array as a memory map; compute it block by block unless the file exists.

    Several processes may ask for the same file: the first computes it, and the others wait.

    Parameters
    ----------
    path
        The .npy file. Its name should identify everything that the content depends on.
    shape, dtype
        Shape and type of the array; a file with another shape or type is replaced.
    compute
        Function that returns the rows of a slice.
    step
        Rows per block.
    stage
        Name of the work, for ``progress``.
    progress
        Called with (stage, rows done, all rows).

    Returns
    -------
    The array.

    Raises
    ------
    OSError
        If the file cannot be written, or another program replaces it at the same time.

    Examples
    --------
    >>> cache_rows("x.npy", (4,), int, lambda rows: np.arange(4)[rows], step=2, stage="x").tolist()
    [0, 1, 2, 3]
    """
    array = _map_file(path, shape, dtype)
    if array is not None:
        return array
    # A second process waits for the first, instead of computing the same rows.
    lock_file = f"{resolve_target(path)}.lock"
    lock = acquire_lock(lock_file, f"{path} is being written by another process.", wait=True)
    try:
        array = _map_file(path, shape, dtype)
        if array is None:
            with show_progress(progress) as report, replace_atomically(path) as file:
                _write_rows(file, shape, np.dtype(dtype), compute, step, partial(report, stage))
            array = _map_file(path, shape, dtype)
    finally:
        remove_lock(lock)
    if array is None:
        raise OSError(f"{path} was changed by another program while it was being written.")
    return array


def _write_rows(
    file: BinaryIO,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    compute: Callable[[slice], AnyArray],
    step: int,
    report: Callable[[int, int], None],
) -> None:
    header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    for start in range(0, shape[0], step):
        rows = slice(start, min(start + step, shape[0]))
        file.write(np.ascontiguousarray(compute(rows), dtype).data)
        report(rows.stop, shape[0])


def _map_file(path: PathLike, shape: tuple[int, ...], dtype: Any) -> AnyArray | None:
    """Memory-map a .npy file; return None unless it has an array of this shape and type."""
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError, EOFError):
        return None
    return array if array.shape == shape and array.dtype == dtype else None
