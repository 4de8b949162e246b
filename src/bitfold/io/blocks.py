"""Blocks: consecutive rows of a matrix or a stream, as they are stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitfold._types import AnyArray, IntpArray
from bitfold.io.stream import Stream

BLOCK_BYTES = 2 << 20
"""Size of one block of float32, which roughly fits in the cache of a core."""


def block_length(width: int) -> int:
    """Return the number of rows of ``width`` float32 values that make one block.

    Parameters
    ----------
    width
        Number of columns.

    Returns
    -------
    From 64 to 4,096 rows.

    Examples
    --------
    >>> block_length(1024)
    512
    """
    return int(np.clip(BLOCK_BYTES // (4 * max(width, 1)), 64, 4096))


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
    Blocks of rows; of an array or a memory map, views that have not been read yet.

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
