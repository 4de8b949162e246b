"""Stream: vectors that are read forward, block by block, and sliced like an array."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitfold import _validation
from bitfold._threads import count_threads
from bitfold._types import AnyArray, IntpArray
from bitfold.errors import DataError, ParameterTypeError

_MAX_BLOCK_BYTES = 16 << 20
"""Size, as float32, of the largest blocks that any caller requests."""

_MAX_SLAB_BYTES = 64 << 20
"""Maximum size of one read from a chunked array; chunks are usually far smaller."""

AN_ITERATOR = "an iterator; pass a function that returns a new one"
"""End of the message about a source that can be read only once."""

_OWNER = "Stream"


class Stream:
    """Vectors that are read forward and sliced like an array.

    Each block is read once per pass. The most recent rows are kept, so that threads which work on
    adjacent blocks may request them in any order. Slicing rows before those starts a new pass.

    Parameters
    ----------
    start_reading
        Function that is given the first wanted row and returns (first row, iterator of blocks).
        The first row may be any row before the wanted one; a source that cannot seek returns 0.
    n_rows
        Number of rows, if known; otherwise it is known after the first pass.
    single_pass
        Whether the source can be read only once, such as a generator.
    is_seekable
        Whether ``start_reading`` can start in the middle.

    Raises
    ------
    DataError
        When reading, if blocks differ in width, rows are missing, or there are none.
    ParameterTypeError
        When reading, if a single-pass source would have to be read again.

    Examples
    --------
    >>> stream = Stream.from_blocks(lambda: (np.full((3, 2), i) for i in range(4)))
    >>> stream[2:5].tolist()
    [[0, 0], [1, 1], [1, 1]]
    >>> stream.shape
    (12, 2)
    """

    def __init__(
        self,
        start_reading: Callable[[int], tuple[int, Iterator[Any]]],
        *,
        n_rows: int | None = None,
        single_pass: bool = False,
        is_seekable: bool = False,
    ) -> None:
        self.n_rows = n_rows
        self.single_pass = single_pass
        self.is_seekable = is_seekable
        self._start_reading = start_reading
        self._lock = threading.Lock()
        self._empty_block: AnyArray | None = None  # has the width and type of all blocks
        self._blocks: Iterator[Any] | None = None
        self._window: deque[AnyArray] = deque()
        self._window_start = self._window_stop = 0
        self._has_started = False

    @classmethod
    def from_blocks(
        cls, read_blocks: Callable[[], Iterable[Any]], n_rows: int | None = None
    ) -> Stream:
        """Read the blocks that a function returns; it is called once per pass.

        Parameters
        ----------
        read_blocks
            Function that returns an iterable of matrices.
        n_rows
            Number of rows, if known.

        Returns
        -------
        The vectors.
        """
        return cls(lambda row: (0, iter(read_blocks())), n_rows=n_rows)

    @classmethod
    def from_slices(
        cls, matrix: Any, guard: Callable[[Iterator[Any]], Iterator[Any]] = iter
    ) -> Stream:
        """Read a matrix by slices of whole chunks; reading may start at any row.

        Parameters
        ----------
        matrix
            Object with ``shape``, ``dtype`` and slices of rows, such as an HDF5 or Zarr array.
        guard
            Wraps the iterator of blocks, for example to translate errors.

        Returns
        -------
        The vectors.
        """
        n_rows, step = int(matrix.shape[0]), _slab_length(matrix)

        def start_reading(row: int) -> tuple[int, Iterator[Any]]:
            first = row - row % step
            starts = range(first, n_rows, step)
            return first, guard(matrix[start : min(start + step, n_rows)] for start in starts)

        stream = cls(start_reading, n_rows=n_rows, is_seekable=True)
        stream._empty_block = np.empty((0, int(matrix.shape[1])), matrix.dtype)
        return stream

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features; counting the rows may need a pass."""
        return len(self), self.n_features

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self._peek().shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the first block; others may differ."""
        return self._peek().dtype

    def __len__(self) -> int:
        if self.n_rows is None:
            self._check_rereadable("counted")
            with self._lock:
                while self.n_rows is None:
                    self._advance_to(self._window_stop, self._window_stop + 1)
        return self.n_rows

    def __getitem__(self, rows: slice) -> AnyArray:
        """Return rows [start, stop), fewer at the end of the source, as with an array."""
        start, stop = rows.start or 0, rows.stop
        if rows.step not in (None, 1) or start < 0 or (stop or 0) < 0:
            requirement = "a slice of consecutive rows, without negative numbers"
            _validation.raise_invalid("rows", _OWNER, requirement, rows)
        if stop is None or self.n_rows is not None:
            stop = len(self) if stop is None else min(stop, len(self))
        if start >= stop:
            return self._peek()
        with self._lock:
            self._advance_to(start, stop)
            return self._cut_window(start, stop)

    def iter_chosen(
        self, indices: NDArray[np.integer[Any]], step: int
    ) -> Iterator[tuple[IntpArray, AnyArray]]:
        """Yield chosen rows, read forward in blocks of at most ``step`` rows.

        Parameters
        ----------
        indices
            Numbers of the rows, in any order.
        step
            Maximum number of rows to read at a time.

        Yields
        ------
        Positions of some rows in ``indices``, and these rows as they are stored.
        """
        order = np.argsort(indices, kind="stable")
        ascending, done = indices[order], 0
        while done < len(ascending):
            start = int(ascending[done])
            end = int(np.searchsorted(ascending, start + step))
            chosen = ascending[done:end]
            yield order[done:end], self[start : int(chosen[-1]) + 1][chosen - start]
            done = end

    def _peek(self) -> AnyArray:
        """Return an empty block; read the first block if necessary."""
        if self._empty_block is None:
            with self._lock:
                self._advance_to(0, 1)
        if self._empty_block is None:
            raise DataError("A source of vectors must contain at least one row, got none.")
        return self._empty_block

    def _advance_to(self, start: int, stop: int) -> None:
        """Read until the window contains rows [start, stop), or the source ends."""
        n_skipped = start - self._window_stop
        is_far = self.is_seekable and self._window and n_skipped > len(self._window[-1])
        if self._blocks is None or start < self._window_start or is_far:
            self._restart(start)
        while self._window_stop < stop and self._read_block():
            oldest = min(start, stop - self._n_kept_rows)
            while self._window and self._window_start + len(self._window[0]) <= oldest:
                self._window_start += len(self._window.popleft())

    def _restart(self, row: int) -> None:
        if self._has_started:
            self._check_rereadable("read again")
        self._has_started = True
        self._window.clear()
        self._window_start, self._blocks = self._start_reading(row)
        self._window_stop = self._window_start

    def _read_block(self) -> bool:
        """Append one block to the window; return False at the end."""
        try:
            block = next(self._blocks or iter(()), None)
            block = None if block is None else self._check_block(block)
        except BaseException:
            # A generator that raised would look exhausted; the next read must start over.
            self._blocks = None
            raise
        if block is None:
            self._finish_pass()
            return False
        self._window.append(block)
        self._window_stop += len(block)
        return True

    def _check_block(self, block: Any) -> AnyArray:
        rows: AnyArray = _validation.check_matrix(block, _OWNER, name="Each block", min_rows=0)
        if self._empty_block is None:
            self._empty_block = rows[:0]
        width = self._empty_block.shape[1]
        if rows.shape[1] != width:
            raise DataError(
                f"All blocks of a source must have the same width: "
                f"the first has {width} features, another has {rows.shape[1]}."
            )
        return rows

    def _finish_pass(self) -> None:
        if self.n_rows is None:
            self.n_rows = self._window_stop
        if self._window_stop < self.n_rows:
            self._blocks = None
            raise DataError(
                f"A source of vectors must keep its {self.n_rows} rows, "
                f"but it ended after {self._window_stop}."
            )

    def _cut_window(self, start: int, stop: int) -> AnyArray:
        pieces, first = [], self._window_start
        for block in self._window:
            if first < stop and start < first + len(block):
                pieces.append(block[max(start - first, 0) : stop - first])
            first += len(block)
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate(pieces) if pieces else self._peek_unlocked()

    def _peek_unlocked(self) -> AnyArray:
        return np.empty((0, 0)) if self._empty_block is None else self._empty_block

    @property
    def _n_kept_rows(self) -> int:
        """Rows to keep in the window: those that any thread may still request."""
        width = max(1, self._peek_unlocked().shape[1])
        return (count_threads() + 2) * int(np.clip(_MAX_BLOCK_BYTES // (4 * width), 64, 4096))

    def _check_rereadable(self, purpose: str) -> None:
        if self.single_pass:
            requirement = f"readable more than once, to be {purpose}"
            raise ParameterTypeError("X", _OWNER, requirement, AN_ITERATOR)


def _slab_length(matrix: Any) -> int:
    """Return the number of rows to read together: whole chunks, about one block in total."""
    row_bytes = max(1, int(matrix.shape[1]) * matrix.dtype.itemsize)
    wanted = int(np.clip((2 << 20) // row_bytes, 64, 4096))
    chunks = getattr(matrix, "shards", None) or getattr(matrix, "chunks", None)
    chunk = chunks[0] if isinstance(chunks, tuple) and chunks else 1
    if not isinstance(chunk, (int, np.integer)):
        chunk = 1
    # Reading a huge chunk several times is better than holding it in memory.
    return int(min(-(-wanted // chunk) * chunk, max(64, _MAX_SLAB_BYTES // row_bytes)))
