"""The cache folder: files that were downloaded, unpacked or computed, named by their content."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bitfold._progress import show_progress
from bitfold._types import AnyArray, PathLike, ProgressCallback
from bitfold.io.atomic import create_directory, replace_atomically

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
        If the file cannot be written, or another process replaces it at the same time.

    Examples
    --------
    >>> cache_rows("x.npy", (4,), int, lambda rows: np.arange(4)[rows], step=2, stage="x").tolist()
    [0, 1, 2, 3]
    """
    array = _map_file(path)
    if array is not None and array.shape == shape and array.dtype == dtype:
        return array
    header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    with show_progress(progress) as report, replace_atomically(path) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, shape[0], step):
            rows = slice(start, min(start + step, shape[0]))
            file.write(np.ascontiguousarray(compute(rows), dtype).data)
            report(stage, rows.stop, shape[0])
    array = _map_file(path)
    if array is None or array.shape != shape:
        raise OSError(f"{path} was changed by another process while it was being written.")
    return array


def _map_file(path: PathLike) -> AnyArray | None:
    """Memory-map a .npy file; return None if that is not possible."""
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError, EOFError):
        return None
