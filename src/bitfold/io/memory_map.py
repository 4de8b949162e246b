"""Memory maps: release what has been read, so that it does not count as memory in use."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

_FAULT_AROUND_BYTES = 2 << 20
"""Bytes around a page that the system may map together with it."""


def release_pages(matrix: Any, start: int, stop: int) -> None:
    """Release the pages of these rows of a read-only memory map.

    They stay in the page cache, but no longer count as memory of this process.
    """
    source = getattr(matrix, "_mmap", None)
    if not isinstance(source, mmap.mmap) or getattr(matrix, "mode", "") != "r":
        return
    # Rows may be separated by gaps, as in texmex files, but each must be contiguous.
    in_order = matrix.ndim == 2 and matrix.strides[0] >= matrix.strides[1] * matrix.shape[1] > 0
    if not (hasattr(mmap, "MADV_DONTNEED") and in_order):
        return
    with memoryview(source) as view:
        origin = np.frombuffer(view, np.uint8).__array_interface__["data"][0]
    row_bytes = matrix.strides[0]
    first = matrix.__array_interface__["data"][0] - origin + start * row_bytes
    # A page fault also maps the pages around it, on both sides; release those too.
    begin = max(0, first - first % mmap.PAGESIZE - _FAULT_AROUND_BYTES)
    source.madvise(mmap.MADV_DONTNEED, begin, first + (stop - start) * row_bytes - begin)
