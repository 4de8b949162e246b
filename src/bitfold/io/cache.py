"""The cache folder: what was downloaded, unpacked or computed once, found again by its content."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bitfold._types import AnyArray
from bitfold.io import atomic

_HASHED_BYTES = 16 << 20


def root() -> Path:
    """Return the folder that ``BITFOLD_CACHE`` names, by default ``~/.cache/bitfold``."""
    return Path(os.environ.get("BITFOLD_CACHE") or Path.home() / ".cache" / "bitfold")


def folder(name: str) -> Path:
    """Make and return a folder of the cache."""
    path = root() / name
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror
        raise OSError(
            f"BITFOLD_CACHE must name a folder that can be written, got {root()} ({reason})."
        ) from None
    return path


def digest_of_files(paths: list[Path]) -> str:
    """Return 16 hexadecimal digits that tell the content of these files."""
    whole = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()[:16]


def digest_of(*arrays: AnyArray) -> str:
    """Return 32 hexadecimal digits that tell the content of these arrays."""
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(f"{array.dtype.str} {array.shape} ".encode())
        step = max(1, _HASHED_BYTES * len(array) // max(array.nbytes, 1))
        for start in range(0, len(array), step):
            whole.update(np.ascontiguousarray(array[start : start + step]).data)
    return whole.hexdigest()[:32]


def kept_rows(
    path: Path,
    shape: tuple[int, ...],
    dtype: Any,
    make: Callable[[slice], AnyArray],
    *,
    step: int,
    report: Callable[[int, int], None],
) -> AnyArray:
    """Map an array of the cache into memory, made block by block the first time.

    Parameters
    ----------
    path
        Its .npy file, whose name tells all that the content depends on.
    shape, dtype
        What it holds; a file that holds something else is made anew.
    make
        Gives the rows of a slice.
    step
        Rows of one block.
    report
        Called with the rows done and their number.
    """
    held = _mapped(path)
    if held is not None and held.shape == shape and held.dtype == dtype:
        return held
    about = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    with atomic.replace_atomically(path) as file:
        np.lib.format.write_array_header_1_0(file, about)
        for start in range(0, shape[0], step):
            rows = slice(start, min(start + step, shape[0]))
            file.write(np.ascontiguousarray(make(rows), dtype).data)
            report(rows.stop, shape[0])
    made = _mapped(path)
    if made is None or made.shape != shape:
        raise OSError(f"{path} must stay as it was written, got changed meanwhile.")
    return made


def _mapped(path: Path) -> AnyArray | None:
    """Map a file of the cache, None if there is none that can be."""
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError, EOFError):
        return None
