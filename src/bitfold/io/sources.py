"""Sources: the forms in which vectors may be given, opened without loading them into memory.

numpy arrays and memory maps are used as they are. Everything else becomes a
:class:`~bitfold.io.Stream`: HDF5 and Zarr arrays (anything with ``shape``, ``dtype`` and slices of
rows), Parquet files and Arrow tables, and iterables of blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any

import numpy as np

from bitfold import _validation
from bitfold.errors import DataError, ParameterTypeError
from bitfold.io import arrow
from bitfold.io.stream import AN_ITERATOR, Stream


def open_source(X: Any) -> Any:
    """Return a stream over anything that should not be read whole, and other objects unchanged.

    Parameters
    ----------
    X
        Vectors in any form that ``fit`` accepts.

    Returns
    -------
    A stream; or ``X`` itself if it is an array or can be converted to one.

    Raises
    ------
    DataError
        If a table does not have exactly one column of lists.

    Examples
    --------
    >>> open_source([np.zeros((2, 3)), np.ones((4, 3))]).shape
    (6, 3)
    """
    if isinstance(X, (np.ndarray, Stream)):
        return X
    if _is_sliceable(X):
        return Stream.from_slices(X)
    if arrow.is_table(X):
        read_blocks = partial(arrow.iter_blocks, X, _find_only_column(X))
        return Stream.from_blocks(read_blocks, arrow.count_rows(X))
    if callable(X) and not hasattr(X, "__array__"):
        return Stream.from_blocks(lambda: map(_copy_block, X()))
    if isinstance(X, Iterator):
        # Copied, because a generator may fill the same array again and again.
        return Stream(lambda row: (0, map(_copy_block, X)), single_pass=True)
    if _is_iterable_of_blocks(X):
        return Stream.from_blocks(lambda: map(_copy_block, X))
    return X


def check_source(X: Any, owner: str, *, min_rows: int = 1, single_pass: bool = True) -> Any:
    """Return ``X`` as a checked matrix or stream.

    Parameters
    ----------
    X
        Vectors in any form that ``fit`` accepts.
    owner
        Name of the caller, for error messages.
    min_rows
        Minimum number of rows.
    single_pass
        Whether one pass is enough; if not, iterators are rejected.

    Returns
    -------
    The vectors, one per row.

    Raises
    ------
    DataError
        If ``X`` is not a matrix of real numbers, or has too few rows.
    ParameterTypeError
        If ``X`` can be read only once but is needed more often, or is sparse.

    Examples
    --------
    >>> check_source([[1, 2], [3, 4]], "ITQ").shape
    (2, 2)
    """
    source = open_source(X)
    if not isinstance(source, Stream):
        return _validation.check_matrix(source, owner, min_rows=min_rows)
    if source.single_pass and not single_pass:
        raise ParameterTypeError("X", owner, "readable more than once", AN_ITERATOR)
    n_rows = len(source[:min_rows])
    if n_rows < min_rows:
        raise DataError(f"X of {owner} has {n_rows} rows, but needs at least {min_rows}.")
    return source


def _copy_block(block: Any) -> Any:
    """Copy a block; a masked one stays masked, so that its check can see it."""
    return block.copy() if isinstance(block, np.ma.MaskedArray) else np.array(block)


def _is_sliceable(X: Any) -> bool:
    """Return whether this is a dense matrix whose slices of rows are numpy arrays."""
    shape = getattr(X, "shape", None)
    return (
        isinstance(getattr(X, "dtype", None), np.dtype)
        and isinstance(shape, tuple)
        and len(shape) == 2
        and all(isinstance(side, (int, np.integer)) for side in shape)
        and hasattr(X, "__getitem__")
        and not hasattr(X, "nnz")  # sparse
    )


def _is_iterable_of_blocks(X: Any) -> bool:
    """Return whether this is an iterable of matrices, and not a matrix made of lists."""
    if not isinstance(X, Iterable) or hasattr(X, "__array__") or hasattr(X, "toarray"):
        return False
    if isinstance(X, Sequence):
        return len(X) > 0 and getattr(X[0], "ndim", 0) == 2
    return not isinstance(X, (Mapping, Set))


def _find_only_column(X: Any) -> str:
    names = arrow.find_list_columns(X)
    if len(names) != 1:
        raise DataError(
            f"A table of vectors must have one column of lists, got {len(names)}. "
            "Select the column, or open the file with bitfold.io.open_vectors(path, name)."
        )
    return names[0]
