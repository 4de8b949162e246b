"""What users hand over, as a Dask array of vectors, one a row."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray
from bitfold.distributed._graph import call


def vectors(X: Any, owner: str, *, min_rows: int = 1) -> da.Array:
    """Return a Dask array or a column of lists as a Dask array, its rows whole; lazily.

    Parameters
    ----------
    X
        A Dask array (n, d), or a Dask Series whose values are lists or arrays of d numbers.
    owner
        Whom errors speak of.
    min_rows
        How many rows there must be, where the number is known.
    """
    if _is_series(X):
        X = _stacked(X, owner)
    if not isinstance(X, da.Array):
        demand = "a Dask array or a column of a Dask DataFrame"
        raise TypeError(f"X of {owner} must be {demand}, got {type(X).__module__}.{_name(X)}.")
    _check_matrix(X, owner, min_rows)
    return X.rechunk({1: -1})


def known(array: da.Array) -> da.Array:
    """Return the array with the lengths of its blocks, counted if Dask does not know them."""
    if not np.isnan(array.shape[0]):
        return array
    lengths = dask.compute(*(call(len, block) for block in blocks(array)))
    return da.Array(array.dask, array.name, (lengths, array.chunks[1]), meta=array._meta)


def blocks(array: da.Array) -> list[Any]:
    """Return the blocks of rows as tasks, in order."""
    return list(array.to_delayed().ravel())


def starts(array: da.Array) -> list[int]:
    """Return the number of each block's first row, and at the end the number of rows."""
    return [0, *np.cumsum(array.chunks[0]).tolist()]


def _name(X: Any) -> str:
    return type(X).__name__


def _is_series(X: Any) -> bool:
    """Tell a Dask Series, old or new, without an import of pandas."""
    return _name(X) == "Series" and type(X).__module__.startswith("dask")


def _check_matrix(X: da.Array, owner: str, min_rows: int) -> None:
    if X.dtype.kind == "O":
        raise TypeError(f"X of {owner} must hold numbers, got dtype object.")
    if not isinstance(X._meta, np.ndarray):
        raise TypeError(f"X of {owner} must have blocks of numpy arrays, got {_name(X._meta)}.")
    if X.ndim == 2 and np.isnan(X.shape[1]):
        _validation.raise_invalid("X", owner, "of a known number of features", "an unknown one")
    shape = tuple(min_rows if np.isnan(side) else side for side in X.shape)
    # A view of nothing in the array's shape: the one check sees all it looks at.
    _validation.check_matrix(
        np.broadcast_to(np.empty((), X.dtype), shape), owner, min_rows=min_rows
    )


def _stacked(column: Any, owner: str) -> da.Array:
    """Turn a column of vectors into an array of blocks of unknown length."""
    parts, name = column.to_delayed(), f"X[{column.name!r}]"
    firsts = (call(_first, part, name, owner).compute() for part in parts)
    first = next(filter(None, firsts), None)
    if first is None:
        raise ValueError(f"{name} of {owner} must have at least 1 row, got an empty column.")
    width, dtype = first
    stacked = [
        da.from_delayed(
            call(_stack, part, number, width, dtype, name, owner), (np.nan, width), dtype
        )
        for number, part in enumerate(parts)
    ]
    return da.concatenate(stacked, allow_unknown_chunksizes=True)


def _first(part: Any, name: str, owner: str) -> tuple[int, str] | None:
    """Return the width of a partition's first vector and the type that holds its values exactly."""
    if not len(part):
        return None
    if isinstance(part.iloc[0], str):
        raise TypeError(
            f"{name} of {owner} must hold vectors, got strings; Dask makes strings of Python lists "
            "unless its option dataframe.convert-string is False."
        )
    value = np.atleast_1d(_vector(part.iloc[0]))
    return value.size, "f4" if np.can_cast(value.dtype, np.float32) else "f8"


def _stack(part: Any, number: int, width: int, dtype: str, name: str, owner: str) -> AnyArray:
    """Stack the vectors of one partition."""
    out = np.empty((len(part), width), dtype)
    for row, value in enumerate(part):
        vector = _vector(value)
        if vector.shape != (width,) or not np.can_cast(vector.dtype, dtype, "same_kind"):
            came = "None" if value is None else f"{vector.dtype} of shape {vector.shape}"
            raise ValueError(
                f"{name} of {owner} must hold vectors of {width} numbers, "
                f"got {came} in row {row} of partition {number}."
            )
        if np.dtype(dtype) != np.float64 and not np.can_cast(vector.dtype, dtype):
            raise ValueError(
                f"{name} of {owner} must hold {np.dtype(dtype)} as its first vector does, "
                f"got {vector.dtype} in row {row} of partition {number}."
            )
        out[row] = vector
    return out


def _vector(value: Any) -> AnyArray:
    try:
        return np.asarray(value)
    except ValueError:  # lists of different lengths in a list
        return np.asarray(value, object)
