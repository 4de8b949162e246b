"""Vectors of the user as a Dask array, one vector per row."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray
from bitfold.distributed._graph import make_task
from bitfold.errors import DataError, ParameterTypeError


def check_vectors(X: Any, owner: str, *, min_rows: int = 1) -> da.Array:
    """Return a Dask array or a column of lists as a lazy Dask array of complete rows.

    Parameters
    ----------
    X
        A Dask array (n, d), or a Dask Series whose values are lists or arrays of d numbers.
    owner
        Class that is named in errors.
    min_rows
        Minimum number of rows, if the number is known.
    """
    if _is_series(X):
        X = _stack_column(X, owner)
    if not isinstance(X, da.Array):
        value = f"{type(X).__module__}.{type(X).__name__}"
        requirement = "a Dask array or a column of a Dask DataFrame"
        raise ParameterTypeError("X", owner, requirement, value)
    _check_shape(X, owner, min_rows)
    return X.rechunk({1: -1})


def with_known_rows(array: da.Array) -> da.Array:
    """Return the array with the lengths of its blocks, counting them if Dask does not know them."""
    if not np.isnan(array.shape[0]):
        return array
    lengths = dask.compute(*(make_task(len, block) for block in list_blocks(array)))
    return da.Array(array.dask, array.name, (lengths, array.chunks[1]), meta=array._meta)


def list_blocks(array: da.Array) -> list[Any]:
    """Return the blocks of rows as tasks, in order."""
    return list(array.to_delayed().ravel())


def block_edges(array: da.Array) -> list[int]:
    """Return the number of the first row of each block, and the number of rows at the end."""
    return [0, *np.cumsum(array.chunks[0]).tolist()]


def _is_series(X: Any) -> bool:
    """Return whether this is a Dask Series of any version, without importing pandas."""
    return type(X).__name__ == "Series" and type(X).__module__.startswith("dask")


def _check_shape(X: da.Array, owner: str, min_rows: int) -> None:
    if X.dtype.kind == "O":
        raise ParameterTypeError("X", owner, "numbers", "dtype object")
    if not isinstance(X._meta, np.ndarray):
        raise ParameterTypeError("X", owner, "blocks of numpy arrays", type(X._meta).__name__)
    if X.ndim == 2 and np.isnan(X.shape[1]):
        raise DataError(f"X of {owner} must have a known number of features, got an unknown one.")
    shape = tuple(min_rows if np.isnan(side) else side for side in X.shape)
    # An array of the same shape and type that takes no memory.
    placeholder = np.broadcast_to(np.empty((), X.dtype), shape)
    _validation.check_matrix(placeholder, owner, min_rows=min_rows)


def _stack_column(column: Any, owner: str) -> da.Array:
    """Return a column of vectors as an array with blocks of unknown length."""
    partitions, name = column.to_delayed(), f"X[{column.name!r}]"
    types = (make_task(_inspect_first, part, name, owner).compute() for part in partitions)
    first = next(filter(None, types), None)
    if first is None:
        raise DataError(f"{name} of {owner} must have at least 1 row, got an empty column.")
    width, dtype = first
    tasks = [
        make_task(_stack_partition, part, number, width, dtype, name, owner)
        for number, part in enumerate(partitions)
    ]
    blocks = [da.from_delayed(task, (np.nan, width), dtype) for task in tasks]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _inspect_first(partition: Any, name: str, owner: str) -> tuple[int, str] | None:
    """Return the width of the first vector and the type that represents its values exactly."""
    if not len(partition):
        return None
    if isinstance(partition.iloc[0], str):
        value = (
            "strings; set Dask's option dataframe.convert-string to False, "
            "which otherwise converts Python lists to strings"
        )
        raise ParameterTypeError(name, owner, "vectors", value)
    vector = np.atleast_1d(_to_array(partition.iloc[0]))
    return vector.size, "f4" if np.can_cast(vector.dtype, np.float32) else "f8"


def _stack_partition(
    partition: Any, number: int, width: int, dtype: str, name: str, owner: str
) -> AnyArray:
    """Stack the vectors of one partition."""
    out = np.empty((len(partition), width), dtype)
    for row, value in enumerate(partition):
        vector = _to_array(value)
        where = f"in row {row} of partition {number}"
        if vector.shape != (width,) or not np.can_cast(vector.dtype, dtype, "same_kind"):
            got = "None" if value is None else f"{vector.dtype} of shape {vector.shape}"
            raise DataError(
                f"{name} of {owner} must hold vectors of {width} numbers, got {got} {where}."
            )
        if np.dtype(dtype) != np.float64 and not np.can_cast(vector.dtype, dtype):
            raise DataError(
                f"{name} of {owner} must hold {np.dtype(dtype)} like its first vector, "
                f"got {vector.dtype} {where}."
            )
        out[row] = vector
    return out


def _to_array(value: Any) -> AnyArray:
    try:
        return np.asarray(value)
    except ValueError:  # a list of lists of different lengths
        return np.asarray(value, object)
