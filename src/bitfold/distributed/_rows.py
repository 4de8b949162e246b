"""Rows that stay on the cluster: passes run where the data are, chosen rows travel."""

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
from bitfold.distributed._graph import call, in_order, sent
from bitfold.distributed._vectors import blocks, starts
from bitfold.io.rows import Rows, block_length

R = TypeVar("R")

_HELD = 3
"""Blocks kept on the cluster while pieces of them are fetched."""


class RemoteMatrix:
    """A Dask array that is indexed like a matrix: what is asked for is fetched, no more."""

    def __init__(self, array: da.Array) -> None:
        self.array = array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim
        self._blocks, self._edges = blocks(array), np.array(starts(array))
        self._held: OrderedDict[int, Delayed] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: slice | NDArray[np.integer[Any]]) -> AnyArray:
        if isinstance(rows, slice):
            return self._run(*rows.indices(len(self))[:2])
        return self._chosen(np.asarray(rows))

    def _run(self, start: int, stop: int) -> AnyArray:
        """Fetch the rows [start, stop)."""
        if start >= stop:
            return np.empty((0, self.shape[1]), self.dtype)
        first, last = np.searchsorted(self._edges, (start, stop - 1), side="right") - 1
        pieces = [
            call(_cut, self._hold(number), start - self._edges[number], stop - self._edges[number])
            for number in range(first, last + 1)
            if self._edges[number] < self._edges[number + 1]
        ]
        return np.concatenate(dask.compute(*pieces))

    def _chosen(self, rows: NDArray[np.integer[Any]]) -> AnyArray:
        """Fetch rows by number, in their order, with one task for each block that has any."""
        order = np.argsort(rows, kind="stable")
        ends = np.searchsorted(rows[order], self._edges)
        places = [order[a:b] for a, b in itertools.pairwise(ends)]
        asked = [number for number, place in enumerate(places) if len(place)]
        parts = in_order(
            [
                call(pick, self._blocks[number], rows[places[number]] - self._edges[number])
                for number in asked
            ]
        )
        out = np.empty((len(rows), self.shape[1]), self.dtype)
        for number, part in zip(asked, parts, strict=True):
            out[places[number]] = part
        return out

    def _hold(self, number: int) -> Delayed:
        """Return a block that the cluster keeps for a while: its next rows will be asked for."""
        with self._lock:
            if number not in self._held:
                self._held[number] = self._blocks[number].persist()
            self._held.move_to_end(number)
            while len(self._held) > _HELD:
                self._held.popitem(last=False)
            return self._held[number]


@dataclass(frozen=True)
class Frame:
    """How a block of raw rows is read on a worker."""

    center: Float32Array
    owner: str

    def blocks(
        self, block: Any, first_row: int, step: int, *, skip: int = 0, stride: int = 1
    ) -> Iterator[tuple[int, Float32Array]]:
        """Yield (number of the first row, centered rows), ``step`` rows at a time.

        The first ``skip`` such blocks are left out, and then of ``stride`` all but the first. The
        memory of a block is used again for the next.
        """
        matrix = np.asarray(block)
        rows = Rows(matrix, self.center, self.owner)
        for start in range(skip * step, len(matrix), step * stride):
            stop = min(start + step, len(matrix))
            with naming_rows(matrix, self.owner, first_row):
                values = rows.block(
                    start, stop, borrow_buffer("rows", (stop - start, rows.n_features))
                )
            yield first_row + start, values

    def take(self, block: Any, rows: NDArray[np.integer[Any]]) -> Float32Array:
        """Return chosen rows of a block, centered."""
        picked = pick(block, rows)
        return Rows(picked, self.center, self.owner).block(0, len(picked))


@contextmanager
def naming_rows(matrix: AnyArray, owner: str, first_row: int, name: str = "X") -> Iterator[None]:
    """Name a row that is not finite by its number in the whole, not in the block."""
    try:
        yield
    except ValueError:
        _validation.check_finite(matrix, owner, name=name, first_row=first_row)
        raise


@dataclass(frozen=True)
class DaskRows(Rows):
    """A Dask array of known blocks seen as float32 rows relative to ``center``.

    All that :class:`bitfold.io.rows.Rows` offers works, with the same numbers bit for bit: blocks
    and samples are fetched. :meth:`map` is for passes over everything: it runs on the workers, and
    tells ``on_rows`` how many rows are done.
    """

    on_rows: StepCallback | None = None

    @classmethod
    def of(cls, array: da.Array, owner: str, on_rows: StepCallback | None = None) -> DaskRows:
        """Center on the mean, found in one pass that also proves every distance finite."""
        matrix: Any = RemoteMatrix(array)
        rows = cls(matrix, np.zeros(array.shape[1], np.float32), owner, on_rows)
        total = np.zeros(array.shape[1])
        add_up = partial(_measured_sum, owner=owner)
        for _, part in rows.map(add_up, block_length(rows.n_features)):
            total += part
        return cls(matrix, (total / len(rows)).astype(np.float32), owner)

    @property
    def array(self) -> da.Array:
        """The vectors as they came."""
        remote: Any = self.matrix
        array: da.Array = remote.array
        return array

    @property
    def frame(self) -> Frame:
        """How workers read the vectors."""
        return Frame(self.center, self.owner)

    def map(
        self,
        work: Callable[[Float32Array, int], R],
        step: int,
        *,
        stride: int = 1,
        first: int = 0,
        spread: bool = True,
    ) -> Iterator[tuple[int, R]]:
        """Apply ``work`` to (rows, number of the first) on the workers; yield (number, result).

        The blocks are those of data in memory, in their order, wherever Dask's begin: ``step`` rows
        from ``first`` on; of ``stride`` blocks only the first is looked at. The cluster decides
        how work is spread.
        """
        array = self.array[first:]
        aligned = array.rechunk((_aligned(array.chunks[0], step), -1))
        frame, job = sent(self.frame, "frame"), sent(work, "pass")
        tasks = []
        for block, start, length in zip(
            blocks(aligned), starts(aligned), aligned.chunks[0], strict=False
        ):
            skip = -(start // step) % stride
            if skip * step < length:
                tasks.append(call(_map, block, first + start, frame, job, step, skip, stride))
        for results in in_order(tasks):
            yield from results
            if self.on_rows:
                self.on_rows(min(results[-1][0] + step * stride, len(self)), len(self))

    def take(self, indices: NDArray[np.integer[Any]]) -> Float32Array:
        """Return chosen rows."""
        fetched = self.matrix[indices]
        return Rows(fetched, self.center, self.owner).block(0, len(fetched))


def _aligned(lengths: tuple[int, ...], step: int) -> tuple[int, ...]:
    """Move the edges between blocks of rows up to multiples of ``step``."""
    edges = np.cumsum(lengths)
    lengthened = np.diff(np.minimum(-(-edges // step) * step, edges[-1]), prepend=0)
    return tuple(lengthened[lengthened > 0].tolist())


def _map(
    block: Any,
    first_row: int,
    frame: Frame,
    work: Callable[[Float32Array, int], R],
    step: int,
    skip: int,
    stride: int,
) -> list[tuple[int, R]]:
    # On one thread, as a block is in memory: on more, BLAS sums in another order.
    with serial_blas():
        return [
            (start, work(values, start))
            for start, values in frame.blocks(block, first_row, step, skip=skip, stride=stride)
        ]


def _measured_sum(values: Float32Array, start: int, owner: str) -> Float64Array:
    _validation.check_distances_fit(values, owner, first_row=start)
    total: Float64Array = values.sum(axis=0, dtype=np.float64)
    return total


def _cut(block: Any, start: int, stop: int) -> AnyArray:
    return np.ascontiguousarray(np.asarray(block)[max(start, 0) : stop])


def pick(block: Any, rows: NDArray[np.integer[Any]]) -> AnyArray:
    """Return rows of a block by number."""
    picked: AnyArray = np.asarray(block)[rows]
    return picked
