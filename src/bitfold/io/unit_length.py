"""Rows of unit length, for data that are compared by cosine."""

from __future__ import annotations

import numpy as np

from bitfold import _validation
from bitfold._kernels.induction import center_unit_rows
from bitfold._types import AnyArray, Float64Array


def subtract_center_of_unit_rows(stored: AnyArray, center: AnyArray, out: AnyArray) -> bool:
    """Write ``stored / |stored| - center``; return whether all stored values can be used."""
    is_plain = stored.dtype in (np.float32, np.float64) and stored.dtype.isnative
    if not (is_plain and stored.flags.c_contiguous):
        stored = np.ascontiguousarray(stored, np.float64)
    return bool(center_unit_rows(stored, center, out))


def scale_to_unit_length(matrix: AnyArray, owner: str) -> Float64Array:
    """Return rows scaled to unit length, as hashers with ``normalize=True`` scale them.

    Parameters
    ----------
    matrix
        One vector per row, of numbers of any type.
    owner
        Name of the caller, for error messages.

    Returns
    -------
    The scaled rows. Rows of zeros remain zero.

    Raises
    ------
    DataError
        If a value is not finite, or too large for float32.

    Examples
    --------
    >>> scale_to_unit_length(np.array([[0.0, 2.0], [0.0, 0.0]]), "example").tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    out = np.empty(matrix.shape)
    if not subtract_center_of_unit_rows(matrix, np.zeros(matrix.shape[1]), out):
        _validation.check_finite(matrix, owner)
    return out
