"""Rows that stay on the cluster: functions run where the data are, only chosen rows are fetched."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed
from numpy.typing import NDArray

from bitfold import _validation
from bitfold._threads import borrow_buffer, serial_blas
from bitfold._types import AnyArray, Float32Array, Float64Array, StepCallback
from bitfold.distributed._graph import compute_in_order, make_task, send
from bitfold.distributed._input import block_edges, list_blocks
from bitfold.errors import DataError
from bitfold.io.rows import Rows, block_length

R = TypeVar("R")

_N_CACHED_BLOCKS = 3
"""Blocks that the cluster keeps while parts of them are fetched."""


class RemoteMatrix:
    """A Dask array that is indexed like a matrix and fetches only the requested rows."""

    def __init__(self, array: da.Array) -> None:
        self.array = array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim
        self._blocks, self._edges = list_blocks(array), np.array(block_edges(array))
        self._cached: OrderedDict[int, Delayed] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: slice | NDArray[np.integer[Any]]) -> AnyArray:
        if isinstance(rows, slice):
            return self._fetch_range(*rows.indices(len(self))[:2])
        return self._fetch_rows(np.asarray(rows))

    def _fetch_range(self, start: int, stop: int) -> AnyArray:
        """Fetch the rows [start, stop)."""
        if start >= stop:
            return np.empty((0, self.shape[1]), self.dtype)
        edges = self._edges
        first, last = np.searchsorted(edges, (start, stop - 1), side="right") - 1
        parts = [
            make_task(_slice_block, self._persist(i), start - edges[i], stop - edges[i])
            for i in range(first, last + 1)
            if edges[i] < edges[i + 1]
        ]
        return np.concatenate(dask.compute(*parts))

    def _fetch_rows(self, rows: NDArray[np.integer[Any]]) -> AnyArray:
        """Fetch rows by number, in the given order, with one task per block that has any."""
        order = np.argsort(rows, kind="stable")
        ends = np.searchsorted(rows[order], self._edges)
        positions = [order[a:b] for a, b in itertools.pairwise(ends)]
        numbers = [number for number, chosen in enumerate(positions) if len(chosen)]
        tasks = [
            make_task(take_rows, self._blocks[i], rows[positions[i]] - self._edges[i])
            for i in numbers
        ]
        out = np.empty((len(rows), self.shape[1]), self.dtype)
        for number, part in zip(numbers, compute_in_order(tasks), strict=True):
            out[positions[number]] = part
        return out

    def _persist(self, number: int) -> Delayed:
        """Return a block that the cluster keeps for a while, because more rows will be needed."""
        with self._lock:
            if number not in self._cached:
                self._cached[number] = self._blocks[number].persist()
            self._cached.move_to_end(number)
            while len(self._cached) > _N_CACHED_BLOCKS:
                self._cached.popitem(last=False)
            return self._cached[number]


@dataclass(frozen=True)
class BlockReader:
    """Reads blocks of stored rows on a worker, relative to a center."""

    center: Float32Array
    owner: str
    normalize: bool

    def read(
        self, block: Any, first_row: int, step: int, *, skip: int = 0, stride: int = 1
    ) -> Iterator[tuple[int, Float32Array]]:
        """Yield (number of the first row, centered rows), ``step`` rows at a time.

        Skip the first ``skip`` such runs of rows, then visit every ``stride``-th. The memory of a
        run is reused for the next.
        """
        matrix = np.asarray(block)
        rows = Rows(matrix, self.center, self.owner, self.normalize)
        for start in range(skip * step, len(matrix), step * stride):
            stop = min(start + step, len(matrix))
            out = borrow_buffer("rows", (stop - start, rows.n_features))
            with report_global_rows(matrix, self.owner, first_row):
                values = rows.block(start, stop, out)
            yield first_row + start, values

    def take(self, block: Any, rows: NDArray[np.integer[Any]]) -> Float32Array:
        """Return chosen rows of a block, centered."""
        chosen = take_rows(block, rows)
        return Rows(chosen, self.center, self.owner, self.normalize).block(0, len(chosen))


@contextmanager
def report_global_rows(
    matrix: AnyArray, owner: str, first_row: int, name: str = "X"
) -> Iterator[None]:
    """Name a row that is not finite by its number in the array, not in the block."""
    try:
        yield
    except DataError:
        _validation.check_finite(matrix, owner, name=name, first_row=first_row)
        raise


@dataclass(frozen=True)
class DaskRows(Rows):
    """A Dask array with blocks of known length, as float32 rows relative to ``center``.

    All methods of :class:`bitfold.io.Rows` work and give the same numbers bit for bit: blocks and
    samples are fetched. :meth:`map` runs on the workers and calls ``on_rows`` with (done, total).
    """

    on_rows: StepCallback | None = None

    @classmethod
    def from_array(
        cls,
        array: da.Array,
        owner: str,
        *,
        normalize: bool = False,
        on_rows: StepCallback | None = None,
    ) -> DaskRows:
        """Return rows relative to their mean; raise if distances would overflow float32."""
        normalize = _validation.check_boolean(normalize, "normalize", owner)
        matrix: Any = RemoteMatrix(array)
        rows = cls(matrix, np.zeros(array.shape[1], np.float32), owner, normalize, on_rows)
        total = np.zeros(array.shape[1])
        add_up = partial(_checked_sum, owner=owner)
        for _, part in rows.map(add_up, block_length(rows.n_features)):
            total += part
        return cls(matrix, (total / len(rows)).astype(np.float32), owner, normalize)

    @property
    def array(self) -> da.Array:
        """The vectors as they are stored."""
        return self.matrix.array

    @property
    def reader(self) -> BlockReader:
        """What workers read the vectors with."""
        return BlockReader(self.center, self.owner, self.normalize)

    def map(
        self,
        work: Callable[[Float32Array, int], R],
        step: int,
        *,
        stride: int = 1,
        first: int = 0,
        spread: bool = True,
    ) -> Iterator[tuple[int, R]]:
        """Apply a function to the rows on the workers, as :meth:`bitfold.io.Rows.map` does.

        Blocks have ``step`` rows wherever those of Dask begin. The cluster decides how the work is
        spread.
        """
        array = self.array[first:]
        aligned = array.rechunk((_align_lengths(array.chunks[0], step), -1))
        reader, shared_work = send(self.reader, "reader"), send(work, "work")
        tasks = []
        blocks = zip(list_blocks(aligned), block_edges(aligned), aligned.chunks[0], strict=False)
        for block, start, length in blocks:
            skip = -(start // step) % stride
            if skip * step < length:
                arguments = (first + start, reader, shared_work, step, skip, stride)
                tasks.append(make_task(_map_block, block, *arguments))
        for results in compute_in_order(tasks):
            yield from results
            if self.on_rows:
                self.on_rows(min(results[-1][0] + step * stride, len(self)), len(self))

    def take(self, indices: NDArray[np.integer[Any]]) -> Float32Array:
        """Return chosen rows, centered."""
        fetched = self.matrix[indices]
        return Rows(fetched, self.center, self.owner, self.normalize).block(0, len(fetched))


def _align_lengths(lengths: tuple[int, ...], step: int) -> tuple[int, ...]:
    """Move the edges between blocks of rows up to multiples of ``step``."""
    edges = np.cumsum(lengths)
    aligned = np.diff(np.minimum(-(-edges // step) * step, edges[-1]), prepend=0)
    return tuple(aligned[aligned > 0].tolist())


def _map_block(
    block: Any,
    first_row: int,
    reader: BlockReader,
    work: Callable[[Float32Array, int], R],
    step: int,
    skip: int,
    stride: int,
) -> list[tuple[int, R]]:
    # One BLAS thread per block, as in memory: several threads sum in another order.
    with serial_blas():
        runs = reader.read(block, first_row, step, skip=skip, stride=stride)
        return [(start, work(values, start)) for start, values in runs]


def _checked_sum(values: Float32Array, start: int, owner: str) -> Float64Array:
    _validation.check_distances_fit(values, owner, first_row=start)
    total: Float64Array = values.sum(axis=0, dtype=np.float64)
    return total


def _slice_block(block: Any, start: int, stop: int) -> AnyArray:
    return np.ascontiguousarray(np.asarray(block)[max(start, 0) : stop])


def take_rows(block: Any, rows: NDArray[np.integer[Any]]) -> AnyArray:
    """Return rows of a block by number."""
    chosen: AnyArray = np.asarray(block)[rows]
    return chosen
