"""The .fvecs, .bvecs and .ivecs files of the texmex corpus, memory-mapped."""

from __future__ import annotations

import numpy as np

from bitfold._types import AnyArray
from bitfold.io.formats.request import ReadRequest

_DTYPES = {".fvecs": "<f4", ".bvecs": "u1", ".ivecs": "<i4"}

_MAX_CHECKED_ROWS = 1 << 16
"""Rows whose length field is checked, evenly spaced."""


def open_texmex(request: ReadRequest) -> AnyArray:
    """Memory-map rows that each begin with their length as a 32-bit integer."""
    request.check_no_name()
    suffix = request.path.suffix.lower()
    dtype = np.dtype(_DTYPES[suffix])
    with request.translate_errors(f"{suffix} vectors of one length"):
        raw = np.memmap(request.path, np.uint8, "r")
        length = int(raw[:4].view("<i4")[0])
        if length < 1:
            raise ValueError("no vectors")
        rows = raw.reshape(-1, 4 + dtype.itemsize * length)
        checked = np.linspace(0, len(rows) - 1, min(len(rows), _MAX_CHECKED_ROWS)).astype(int)
        if (rows[checked, :4].copy().view("<i4") != length).any():
            raise ValueError("rows of several lengths")
        return rows[:, 4:].view(dtype)
