"""Rows: the user's vectors, read block by block as centered float32.

All methods work on float32 vectors relative to one center. Centering prevents cancellation in
|x|² - 2 x·b + |b|² for data far from the origin. Because the center is a float32 vector too, equal
values become the same float32 whether they are stored as uint8, float32 or float64.

For cosine data, rows are scaled to unit length before they are centered, also block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bitfold import _validation
from bitfold._kernels.induction import center_rows
from bitfold._progress import ignore_step
from bitfold._threads import borrow_buffer, map_blocks
from bitfold._types import AnyArray, Float32Array, StepCallback
from bitfold.io.memory_map import release_pages
from bitfold.io.stream import Stream
from bitfold.io.unit_length import subtract_center_of_unit_rows

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
    return min(max(BLOCK_BYTES // (4 * max(width, 1)), 64), 4096)


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


def count_features(matrix: Any) -> int:
    """Return the number of columns, without counting the rows of a stream."""
    return int(matrix.n_features if isinstance(matrix, Stream) else matrix.shape[1])


def count_rows(matrix: Any) -> int | None:
    """Return the number of rows, or None if a stream does not know it yet."""
    return matrix.n_rows if isinstance(matrix, Stream) else len(matrix)


R = TypeVar("R")

_N_SCATTERED_ROWS = 256
"""Rows taken at a time from scattered places; each may load 16 pages of a memory map."""


@dataclass(frozen=True)
class Rows:
    """A matrix seen as float32 rows relative to a center; it is never copied as a whole.

    Parameters
    ----------
    matrix
        An array, a memory map or a :class:`Stream`.
    center
        The vector that is subtracted from every row.
    owner
        Name of the caller, for error messages.
    normalize
        Whether rows are scaled to unit length before the center is subtracted.

    Examples
    --------
    >>> rows = Rows.centered(np.array([[1.0, 2.0], [3.0, 6.0]]), "example")
    >>> rows.center.tolist()
    [2.0, 4.0]
    >>> rows.block(0, 2).tolist()
    [[-1.0, -2.0], [1.0, 2.0]]
    """

    matrix: Any
    center: Float32Array
    owner: str
    normalize: bool = False

    @classmethod
    def centered(
        cls,
        matrix: Any,
        owner: str,
        *,
        normalize: bool = False,
        on_step: StepCallback = ignore_step,
    ) -> Rows:
        """Return rows relative to their mean.

        Parameters
        ----------
        matrix
            An array, a memory map or a :class:`Stream`; it is read once.
        owner
            Name of the caller, for error messages.
        normalize
            Whether to scale rows to unit length first; the mean is that of the scaled rows.
        on_step
            Called with (done, total), counting rows; a total of 0 is unknown.

        Returns
        -------
        The rows, with the mean as center.

        Raises
        ------
        ParameterError
            If ``normalize`` is not True or False.
        DataError
            If a value is not finite, or so large that distances would overflow float32.
        """
        normalize = _validation.check_boolean(normalize, "normalize", owner)
        rows = cls(matrix, np.zeros(count_features(matrix), np.float32), owner, normalize)
        total = np.zeros(rows.n_features)
        for start, values in rows.blocks():
            _validation.check_distances_fit(values, owner, first_row=start)
            total += values.sum(axis=0, dtype=np.float64)
            on_step(start + len(values), rows.n_rows or 0)
        return cls(matrix, (total / len(matrix)).astype(np.float32), owner, normalize)

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def n_rows(self) -> int | None:
        """Number of rows; None if a stream does not know it yet."""
        return count_rows(self.matrix)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.center)

    def block(self, start: int, stop: int, out: Float32Array | None = None) -> Float32Array:
        """Return the centered rows [start, stop).

        Parameters
        ----------
        start, stop
            Range of rows.
        out
            Array to write to; a new one by default.

        Returns
        -------
        The rows as float32.

        Raises
        ------
        DataError
            If a value is not finite.
        """
        return self._convert(Block(start, self.matrix[start:stop]), out)

    def blocks(self, width: int = 0) -> Iterator[Block]:
        """Yield all rows in order, centered.

        Parameters
        ----------
        width
            Columns of the result per block; if there are more than features, blocks are shorter.

        Yields
        ------
        Number of the first row, and the rows as float32.

        Raises
        ------
        DataError
            If a value is not finite.
        """
        step = block_length(max(width, self.n_features))
        for block in iter_blocks(self.matrix, step):
            yield Block(block.start, self._convert(block))

    def map(
        self,
        work: Callable[[Float32Array, int], R],
        step: int,
        *,
        stride: int = 1,
        first: int = 0,
        spread: bool = True,
    ) -> Iterator[tuple[int, R]]:
        """Apply a function to the rows, block by block, on all cores.

        Parameters
        ----------
        work
            Function of (rows, number of the first row). It must not return a view of the rows,
            whose memory is reused, nor refer to ``self``: Dask sends it to the workers.
        step
            Rows per block.
        stride
            Visit every ``stride``-th block only.
        first
            Row to start with.
        spread
            Whether to use all cores.

        Yields
        ------
        Number of the first row of a block, and the result, in the order of the rows.

        Raises
        ------
        DataError
            If a value is not finite.
        """

        def apply(block: Block) -> tuple[int, R]:
            out = borrow_buffer("rows", (len(block.values), self.n_features))
            return block.start, work(self._convert(block, out), block.start)

        blocks = iter_blocks(self.matrix, step, stride=stride, first=first)
        return map_blocks(apply, blocks) if spread else map(apply, blocks)

    def take(self, indices: NDArray[np.integer[Any]]) -> Float32Array:
        """Return chosen rows, centered.

        Parameters
        ----------
        indices
            Numbers of the rows; ascending numbers read a memory map forward.

        Returns
        -------
        The rows as float32, in the order of ``indices``.

        Raises
        ------
        DataError
            If a value is not finite.
        """
        out = np.empty((len(indices), self.n_features), np.float32)
        if isinstance(self.matrix, Stream):
            for at, stored in self.matrix.iter_chosen(indices, block_length(self.n_features)):
                out[at] = self._center(stored, indices[at], np.empty(stored.shape, np.float32))
            return out
        for start in range(0, len(indices), _N_SCATTERED_ROWS):
            chosen = indices[start : start + _N_SCATTERED_ROWS]
            self._center(self.matrix[chosen], chosen, out[start : start + len(chosen)])
            if isinstance(self.matrix, np.memmap):
                release_pages(self.matrix, int(chosen.min()), int(chosen.max()) + 1)
        return out

    def sample(self, size: int, rng: np.random.Generator) -> Float32Array:
        """Return random rows without repetition, centered, in ascending order of row number.

        Parameters
        ----------
        size
            Number of rows; all are returned if there are fewer.
        rng
            Source of randomness.

        Returns
        -------
        The rows as float32.

        Raises
        ------
        DataError
            If a value is not finite.
        """
        if size >= len(self):
            return self.take(np.arange(len(self)))
        return self.take(np.sort(rng.choice(len(self), size, replace=False, shuffle=False)))

    def _convert(self, block: Block, out: Float32Array | None = None) -> Float32Array:
        """Return a stored block as centered float32, and release its pages."""
        start, stored = block
        stop = start + len(stored)
        if out is None:
            out = np.empty(stored.shape, np.float32)
        self._center(stored, range(start, stop), out)
        if isinstance(self.matrix, np.memmap):
            release_pages(self.matrix, start, stop)
        return out

    def _center(
        self, stored: AnyArray, numbers: range | NDArray[np.integer[Any]], out: Float32Array
    ) -> Float32Array:
        """Write ``stored - center`` to ``out``; raise if a value is not finite."""
        if self.normalize:
            is_finite = subtract_center_of_unit_rows(stored, self.center, out)
        else:
            # A sum of squares is finite only if every value is; testing each would take longer.
            is_finite = np.isfinite(subtract_center(stored, self.center, out))
        if not is_finite:
            _validation.check_finite(stored, self.owner, rows=np.asarray(numbers))
        return out


def subtract_center(stored: AnyArray, center: Float32Array, out: Float32Array) -> float:
    """Write ``stored - center`` as float32; return the sum of squares."""
    if stored.dtype == np.float32 and stored.dtype.isnative and stored.flags.c_contiguous:
        return float(center_rows(stored, center, out))
    # float32 cannot represent all integers of 32 bits and more.
    is_wide = stored.dtype.itemsize > 2 and stored.dtype != np.float32
    dtype = np.float64 if is_wide else np.float32
    with np.errstate(over="ignore", invalid="ignore"):
        np.subtract(stored, center, out=out, dtype=dtype, casting="unsafe")
        flat = out.reshape(-1)
        return float(np.dot(flat, flat))
