"""Sources: vectors that do not fit in memory, read block by block, whatever holds them.

A numpy array or memory map is read where it lies. Everything else becomes a :class:`Stream`, which
is sliced like an array but reads forward: HDF5 and Zarr arrays and their like (anything with
``shape``, ``dtype`` and slices of rows), Parquet files and Arrow tables, and iterables of blocks.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any

import numpy as np

from bitfold import _validation
from bitfold._threads import n_threads
from bitfold._types import AnyArray
from bitfold.io import arrow

Begin = Callable[[int], tuple[int, Iterator[Any]]]
"""Starts to read: given the row that is wanted, returns where it begins and the blocks from there.

What cannot jump begins at row 0.
"""

_LONGEST_BYTES = 16 << 20
"""What the longest blocks that anyone asks for weigh as float32."""

_SLAB_BYTES = 64 << 20
"""What is read of a chunked array at a time, at most; chunks are usually far smaller."""


class Stream:
    """Vectors that are read forward, sliced like an array; each block is read once in a pass.

    The rows last read are kept, so that threads which work on neighboring blocks may ask for
    them in any order. A slice from before those begins a new pass.

    Parameters
    ----------
    begin
        Starts to read at a row or before it.
    n_rows
        How many rows there are, if that is known; else the first pass tells.
    once
        Whether there is only one pass, as with a generator.
    seekable
        Whether ``begin`` can jump.

    Examples
    --------
    >>> stream = Stream.of_blocks(lambda: (np.full((3, 2), i) for i in range(4)))
    >>> stream[2:5].tolist()
    [[0, 0], [1, 1], [1, 1]]
    >>> stream.shape
    (12, 2)
    """

    def __init__(
        self, begin: Begin, *, n_rows: int | None = None, once: bool = False, seekable: bool = False
    ) -> None:
        self.n_rows = n_rows
        self.once = once
        self.seekable = seekable
        self._begin = begin
        self._lock = threading.Lock()
        self._about: AnyArray | None = None
        self._reading: Iterator[Any] | None = None
        self._window: deque[AnyArray] = deque()
        self._first = self._end = 0  # rows of the window
        self._begun = False

    @classmethod
    def of_blocks(cls, blocks: Callable[[], Iterable[Any]], n_rows: int | None = None) -> Stream:
        """Read what a function returns: an iterable of blocks, a new one for each pass."""
        return cls(lambda row: (0, iter(blocks())), n_rows=n_rows)

    @classmethod
    def of_slices(
        cls, matrix: Any, guard: Callable[[Iterator[Any]], Iterator[Any]] = iter
    ) -> Stream:
        """Read an array by slices of whole chunks, from any row on; ``guard`` sees all blocks."""
        n, step = int(matrix.shape[0]), _slab_length(matrix)

        def begin(row: int) -> tuple[int, Iterator[Any]]:
            first = row - row % step
            return first, guard(matrix[i : min(i + step, n)] for i in range(first, n, step))

        stream = cls(begin, n_rows=n, seekable=True)
        stream._about = np.empty((0, int(matrix.shape[1])), matrix.dtype)
        return stream

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features; if need be the rows are counted, in a pass."""
        return len(self), self.n_features

    @property
    def n_features(self) -> int:
        """Width of a row."""
        return int(self._look().shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the first block; others may differ."""
        return self._look().dtype

    def __len__(self) -> int:
        if self.n_rows is None:
            self._check_again("counted")
            with self._lock:
                while self.n_rows is None:
                    self._read(self._end, self._end + 1)
        return self.n_rows

    def __getitem__(self, rows: slice) -> AnyArray:
        """Rows [start, stop); there are fewer where the source ends, as with an array."""
        start, stop = rows.start or 0, rows.stop
        if rows.step not in (None, 1) or start < 0 or (stop or 0) < 0:
            _validation.raise_invalid("a slice", "a stream", "of rows forward", rows)
        if stop is None or self.n_rows is not None:
            stop = len(self) if stop is None else min(stop, len(self))
        if start >= stop:
            return self._look()
        with self._lock:
            self._read(start, stop)
            return self._cut(start, stop)

    def _look(self) -> AnyArray:
        """Return the first block without its rows."""
        if self._about is None:
            with self._lock:
                self._read(0, 1)
        if self._about is None:
            raise ValueError("a source of vectors must hold a row or more, got none.")
        return self._about

    def _read(self, start: int, stop: int) -> None:
        """Have the rows [start, stop) in the window, as far as there are such."""
        ahead = start - self._end
        too_far = self.seekable and self._window and ahead > len(self._window[-1])
        if self._reading is None or start < self._first or too_far:
            self._restart(start)
        while self._end < stop and self._take():
            oldest = min(start, stop - self._kept)
            while self._window and self._first + len(self._window[0]) <= oldest:
                self._first += len(self._window.popleft())

    def _restart(self, row: int) -> None:
        if self._begun:
            self._check_again("read again")
        self._begun = True
        self._window.clear()
        self._first, self._reading = self._begin(row)
        self._end = self._first

    def _take(self) -> bool:
        """Take one more block; False at the end."""
        try:
            block = next(self._reading or iter(()), None)
            block = None if block is None else self._checked(block)
        except BaseException:
            # A generator that raised looks as if it were at its end.
            self._reading = None
            raise
        if block is None:
            self._finish()
            return False
        self._window.append(block)
        self._end += len(block)
        return True

    def _checked(self, block: Any) -> AnyArray:
        rows: AnyArray = _validation.check_matrix(
            block, "a source of vectors", name="a block", min_rows=0
        )
        if self._about is None:
            self._about = rows[:0]
        if rows.shape[1] != self._about.shape[1]:
            demand = f"of {self._about.shape[1]} features, as the first"
            _validation.raise_invalid("a block", "a source of vectors", demand, rows.shape[1])
        return rows

    def _finish(self) -> None:
        if self.n_rows is None:
            self.n_rows = self._end
        if self._end < self.n_rows:
            self._reading = None
            raise ValueError(
                f"a source of vectors must hold the {self.n_rows} rows that it began with, "
                f"got {self._end}."
            )

    def _cut(self, start: int, stop: int) -> AnyArray:
        parts, at = [], self._first
        for block in self._window:
            if at < stop and start < at + len(block):
                parts.append(block[max(start - at, 0) : stop - at])
            at += len(block)
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts) if parts else self._about_rows()

    def _about_rows(self) -> AnyArray:
        return np.empty((0, 0)) if self._about is None else self._about

    @property
    def _kept(self) -> int:
        """Rows to keep: those that all threads may be at."""
        width = max(1, self._about_rows().shape[1])
        return (n_threads() + 2) * int(np.clip(_LONGEST_BYTES // (4 * width), 64, 4096))

    def _check_again(self, what: str) -> None:
        if self.once:
            raise TypeError(
                f"vectors must be readable more than once to be {what}, got an iterator; "
                "pass a function that returns a new one."
            )


def opened(X: Any) -> Any:
    """Return a stream over what is not to be read whole; anything else as it is."""
    if isinstance(X, (np.ndarray, Stream)):
        return X
    if _is_sliced(X):
        return Stream.of_slices(X)
    if arrow.is_tabular(X):
        return Stream.of_blocks(partial(arrow.blocks, X, _only_column(X)), arrow.n_rows(X))
    if callable(X) and not hasattr(X, "__array__"):
        return Stream.of_blocks(lambda: map(np.array, X()))
    if isinstance(X, Iterator):
        # Copied, because a generator may fill the same array again and again.
        return Stream(lambda row: (0, map(np.array, X)), once=True)
    if _is_blocks(X):
        return Stream.of_blocks(lambda: map(np.array, X))
    return X


def matrix(X: Any, owner: str, *, min_rows: int = 1, again: bool = False) -> Any:
    """Return ``X`` as a checked matrix or stream.

    Parameters
    ----------
    X
        What the user gave.
    owner
        Who asks, for errors.
    min_rows
        The fewest rows that will do.
    again
        Whether more than one pass is needed.
    """
    source = opened(X)
    if not isinstance(source, Stream):
        return _validation.check_matrix(source, owner, min_rows=min_rows)
    if again and source.once:
        raise TypeError(
            f"X of {owner} must be readable more than once, got an iterator; "
            "pass a function that returns a new one."
        )
    there = len(source[:min_rows])
    if there < min_rows:
        _validation.raise_invalid("X", owner, f"{min_rows} rows or more", there)
    return source


def width(matrix: Any) -> int:
    """Features of a row; a stream's rows are not counted for it."""
    return int(matrix.n_features if isinstance(matrix, Stream) else matrix.shape[1])


def length(matrix: Any) -> int | None:
    """Number of rows; None while a stream does not know it."""
    return matrix.n_rows if isinstance(matrix, Stream) else len(matrix)


def _is_sliced(X: Any) -> bool:
    """Whether this is a matrix that gives numpy arrays for slices of its rows."""
    shape = getattr(X, "shape", None)
    return (
        isinstance(getattr(X, "dtype", None), np.dtype)
        and isinstance(shape, tuple)
        and len(shape) == 2
        and all(isinstance(side, (int, np.integer)) for side in shape)
        and hasattr(X, "__getitem__")
        and not hasattr(X, "nnz")  # sparse
    )


def _is_blocks(X: Any) -> bool:
    """Whether this is an iterable of matrices, not a matrix of lists."""
    if not isinstance(X, Iterable) or hasattr(X, "__array__") or hasattr(X, "toarray"):
        return False
    if isinstance(X, Sequence):
        return len(X) > 0 and getattr(X[0], "ndim", 0) == 2
    return not isinstance(X, (Mapping, Set))


def _only_column(X: Any) -> str:
    names = arrow.list_columns(X)
    if len(names) != 1:
        raise ValueError(
            f"a table of vectors must have one column of lists, got {len(names)}; "
            "select it, or open the file with bitfold.datasets.open_vectors(path, name)."
        )
    return names[0]


def _slab_length(matrix: Any) -> int:
    """Rows to read together: whole chunks, or about a block's worth."""
    row = max(1, int(matrix.shape[1]) * matrix.dtype.itemsize)
    wanted = int(np.clip((2 << 20) // row, 64, 4096))
    chunks = getattr(matrix, "shards", None) or getattr(matrix, "chunks", None)
    chunk = chunks[0] if isinstance(chunks, tuple) and chunks else 1
    if not isinstance(chunk, (int, np.integer)):
        chunk = 1
    # A chunk of half the data is not held whole: it is rather read more than once.
    return int(min(-(-wanted // chunk) * chunk, max(64, _SLAB_BYTES // row)))
