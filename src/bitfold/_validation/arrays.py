"""Arrays of numbers: two dimensions, real, finite, and small enough for distances in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from bitfold._types import AnyArray, Int64Array
from bitfold.errors import DataError, ParameterTypeError


def check_matrix(X: Any, owner: str, *, name: str = "X", min_rows: int = 1) -> AnyArray:
    """Return ``X`` as a 2-D array of real numbers, without copying an array.

    Memory maps stay memory maps. Whether the values are finite is checked block by block by
    :class:`bitfold.io.rows.Rows`, so that nothing is read twice.
    """
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise ParameterTypeError(name, owner, "dense", f"a sparse matrix; use {name}.toarray()")
    array = convert_to_array(X, name, owner)
    if array.dtype.kind == "c":
        # scikit-learn's checks look for the first three words.
        raise DataError(
            f"Complex data not supported: {name} of {owner} must be real, got dtype {array.dtype}."
        )
    if array.dtype.kind not in "fiub":
        array = _convert_to_floats(array, owner, name)
    if array.ndim != 2:
        raise DataError(
            f"{name} of {owner} must be 2-dimensional (rows, features), got shape {array.shape}. "
            f"Reshape your data with {name}.reshape(1, -1) if it is one row."
        )
    _check_shape(array.shape, owner, name, min_rows)
    return array


def convert_to_array(values: Any, name: str, owner: str) -> AnyArray:
    """Return ``values`` as an array, without copying one; raise if it is masked or ragged."""
    # numpy drops the mask of a masked array without a word.
    if np.ma.is_masked(values):
        raise DataError(
            f"{name} of {owner} has masked values; fill them with {name}.filled(value), or remove "
            f"their rows."
        )
    if isinstance(values, np.ndarray):
        return values.data if isinstance(values, np.ma.MaskedArray) else values
    try:
        return np.asarray(values)
    except ValueError as error:
        # numpy's own message speaks of setting an array element with a sequence.
        if not isinstance(values, (list, tuple)):
            raise DataError(f"{name} of {owner} is not an array: {error}") from None
        raise DataError(
            f"{name} of {owner} must be rectangular, got rows of different lengths."
        ) from None


def _convert_to_floats(array: AnyArray, owner: str, name: str) -> AnyArray:
    """Convert an object array of numbers to floats; raise for anything else."""
    try:
        if array.dtype.kind != "O":
            raise ValueError(f"dtype {array.dtype}")
        return array.astype(np.float64)
    except TypeError as error:
        # scikit-learn's contract: a value of the wrong type stays a TypeError.
        raise ParameterTypeError(name, owner, "numbers", error) from None
    except ValueError as error:
        raise DataError(f"{name} of {owner} must hold numbers, got {error}.") from None


def _check_shape(shape: tuple[int, ...], owner: str, name: str, min_rows: int) -> None:
    """Raise in the words that scikit-learn's checks expect."""
    rows, features = shape
    if features < 1:
        raise DataError(
            f"{name} of {owner} has 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        )
    if rows < min_rows:
        raise DataError(
            f"{name} of {owner} has {rows} sample(s) (shape={shape}) "
            f"while a minimum of {min_rows} is required."
        )


def check_finite(
    block: AnyArray,
    owner: str,
    *,
    name: str = "X",
    first_row: int = 0,
    rows: Int64Array | None = None,
) -> None:
    """Raise if a block contains NaN, infinity or values too large for float32; name the row.

    Rows are numbered from ``first_row``, or by ``rows`` if given.
    """
    if block.dtype.kind != "f":
        return
    # A quarter of float32's range: the difference of any two such values still fits.
    limit = np.finfo(np.float32).max / 4
    bad = ~(np.abs(block) <= limit)
    if bad.any():
        row = int(np.flatnonzero(bad.any(axis=1))[0])
        value = block[row][bad[row]][0]
        what = "NaN" if np.isnan(value) else "infinity or a value too large for float32"
        number = first_row + row if rows is None else int(rows[row])
        raise DataError(f"{name} of {owner} must be finite, got {what} in row {number}.")


def check_distances_fit(
    block: AnyArray, owner: str, *, name: str = "X", first_row: int = 0
) -> None:
    """Raise if distances between such rows could overflow float32, the type that faiss uses.

    faiss crashes on an infinite distance. The values themselves must be finite.
    """
    # Coordinates differ by at most twice the limit; another factor 2 covers intermediate sums.
    limit = float(np.sqrt(np.finfo(np.float32).max / block.shape[1])) / 4
    if max(block.max(), -block.min()) > limit:
        row, column = np.argwhere(np.abs(block) > limit)[0]
        raise DataError(
            f"{name} of {owner} must be within ±{limit:.2g}, so that distances fit into float32, "
            f"got {block[row, column]:.2g} in row {first_row + row}."
        )
