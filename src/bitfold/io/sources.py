"""Sources: the forms in which vectors may be given, opened without loading them into memory.

numpy arrays and memory maps are used as they are. Everything else becomes a
:class:`~bitfold.io.Stream`: HDF5 and Zarr arrays (anything with ``shape``, ``dtype`` and slices of
rows), Parquet files and Arrow tables, and iterables of blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitfold import _validation
from bitfold._types import AnyArray, IntpArray
from bitfold.errors import DataError, ParameterTypeError
from bitfold.io import arrow
from bitfold.io.stream import AN_ITERATOR, Stream


class Block(NamedTuple):
    """Consecutive rows, and the number of the first.

    Examples
    --------
    >>> start, values = Block(64, np.zeros((2, 3)))
    >>> range(start, start + len(values))
    range(64, 66)
    """

    start: int
    values: AnyArray


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
        return Stream.from_blocks(lambda: map(np.array, X()))
    if isinstance(X, Iterator):
        # Copied, because a generator may fill the same array again and again.
        return Stream(lambda row: (0, map(np.array, X)), single_pass=True)
    if _is_iterable_of_blocks(X):
        return Stream.from_blocks(lambda: map(np.array, X))
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


def iter_blocks(matrix: Any, step: int, *, stride: int = 1, first: int = 0) -> Iterator[Block]:
    """Yield the rows of a matrix or stream in order, as they are stored.

    Parameters
    ----------
    matrix
        An array, memory map or stream.
    step
        Rows per block.
    stride
        Yield every ``stride``-th block only.
    first
        Row to start with.

    Yields
    ------
    Of an array or a memory map, a view that has not been read yet.

    Examples
    --------
    >>> [block.start for block in iter_blocks(np.zeros((5, 2)), 2)]
    [0, 2, 4]
    """
    start = first
    while (n_rows := count_rows(matrix)) is None or start < n_rows:
        values = matrix[start : start + step]
        if not len(values):  # the end of a stream of unknown length
            return
        yield Block(start, values)
        start += step * stride


def iter_chosen(
    stream: Stream, indices: NDArray[np.integer[Any]], step: int
) -> Iterator[tuple[IntpArray, AnyArray]]:
    """Yield chosen rows of a stream, read forward in blocks of at most ``step`` rows.

    Each result is the positions of some rows in ``indices``, and these rows as they are stored.
    """
    order = np.argsort(indices, kind="stable")
    ascending, done = indices[order], 0
    while done < len(ascending):
        start = int(ascending[done])
        end = int(np.searchsorted(ascending, start + step))
        chosen = ascending[done:end]
        yield order[done:end], stream[start : int(chosen[-1]) + 1][chosen - start]
        done = end


def count_features(matrix: Any) -> int:
    """Return the number of columns, without counting the rows of a stream."""
    return int(matrix.n_features if isinstance(matrix, Stream) else matrix.shape[1])


def count_rows(matrix: Any) -> int | None:
    """Return the number of rows, or None if a stream does not know it yet."""
    return matrix.n_rows if isinstance(matrix, Stream) else len(matrix)


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
