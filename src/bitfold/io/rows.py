"""Rows: the user's vectors, read block by block as centered float32.

Everything downstream works on float32 relative to one reference point. Centering keeps
|x|² - 2 x·b + |b|² from canceling when the data lie far from the origin, and because the
reference is itself a float32 vector, the same value arrives as the same float32 whether it was
stored as uint8, float32 or float64.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bitfold import _validation
from bitfold._kernels import centering
from bitfold._threads import map_blocks, scratch
from bitfold._types import AnyArray, Float32Array
from bitfold.io import sources

R = TypeVar("R")

BLOCK_BYTES = 2 << 20
"""What one block of float32 may weigh: it stays in a core's cache, more or less."""

_SCATTERED = 256
"""Chosen rows read at a time; each may bring in 16 pages of a memory map around it."""


_AROUND = 2 << 20
"""Bytes beside a page that the system may map with it."""


class Block(NamedTuple):
    """A run of rows, converted."""

    start: int
    values: Float32Array


class Part(NamedTuple):
    """A run of rows as it is stored; of an array or a memory map it is a view, not read yet."""

    start: int
    stored: AnyArray


def block_length(width: int) -> int:
    """How many rows of ``width`` float32 make one block."""
    return int(np.clip(BLOCK_BYTES // (4 * max(width, 1)), 64, 4096))


@dataclass(frozen=True)
class Rows:
    """A matrix seen as float32 rows relative to ``center``; nothing is copied whole.

    The matrix is an array, a memory map or a :class:`bitfold.io.sources.Stream`.
    """

    matrix: Any
    center: Float32Array
    owner: str

    @classmethod
    def centered(cls, matrix: Any, owner: str) -> Rows:
        """Center on the mean, found in one pass that also proves every distance finite."""
        rows = cls(matrix, np.zeros(sources.width(matrix), np.float32), owner)
        total = np.zeros(rows.n_features)
        for start, values in rows.blocks():
            _validation.check_distances_fit(values, owner, first_row=start)
            total += values.sum(axis=0, dtype=np.float64)
        return cls(matrix, (total / len(matrix)).astype(np.float32), owner)

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def length(self) -> int | None:
        """Number of rows; None while a stream does not know it."""
        return sources.length(self.matrix)

    @property
    def n_features(self) -> int:
        """Width of a row."""
        return len(self.center)

    def parts(self, step: int, *, stride: int = 1, first: int = 0) -> Iterator[Part]:
        """Rows in order, ``step`` at a time, as they are stored.

        Of ``stride`` parts only the first is taken; ``first`` is the row to begin with.
        """
        start = first
        while self.length is None or start < self.length:
            stored = self.matrix[start : start + step]
            if not len(stored):  # the end of a stream that did not know its length
                return
            yield Part(start, stored)
            start += step * stride

    def converted(self, part: Part, out: Float32Array | None = None) -> Float32Array:
        """Rows as float32, centered and checked."""
        start, stored = part
        stop = start + len(stored)
        values = self._convert(stored, range(start, stop), out)
        _release(self.matrix, start, stop)
        return values

    def block(self, start: int, stop: int, out: Float32Array | None = None) -> Float32Array:
        """Rows [start, stop), converted, centered and checked."""
        return self.converted(Part(start, self.matrix[start:stop]), out)

    def blocks(self, width: int = 0) -> Iterator[Block]:
        """All rows in order, in blocks that suit a result of ``width`` columns."""
        step = block_length(max(width, self.n_features))
        for part in self.parts(step):
            yield Block(part.start, self.converted(part))

    def map(
        self,
        work: Callable[[Float32Array, int], R],
        step: int,
        *,
        stride: int = 1,
        first: int = 0,
        spread: bool = True,
    ) -> Iterator[tuple[int, R]]:
        """Apply ``work`` to (rows, number of the first), block by block; yield (number, result).

        Blocks of ``step`` rows in order; of ``stride`` blocks only the first; ``first`` is the row
        to begin with; ``spread`` uses all cores. A result must not be a view of its block, whose
        memory is used again, and ``work`` must not refer to these rows: it goes to where they are.
        """

        def at(part: Part) -> tuple[int, R]:
            room = scratch("rows", (len(part.stored), self.n_features))
            return part.start, work(self.converted(part, room), part.start)

        parts = self.parts(step, stride=stride, first=first)
        return map_blocks(at, parts) if spread else map(at, parts)

    def take(self, indices: NDArray[np.integer[Any]]) -> Float32Array:
        """Return chosen rows; sorted indices read a memory map forward."""
        if isinstance(self.matrix, sources.Stream):
            return self._take_forward(indices)
        out = np.empty((len(indices), self.n_features), np.float32)
        for start in range(0, len(indices), _SCATTERED):
            chosen = indices[start : start + _SCATTERED]
            self._convert(self.matrix[chosen], chosen, out[start : start + len(chosen)])
            _release(self.matrix, int(chosen.min()), int(chosen.max()) + 1)
        return out

    def sample(self, size: int, rng: np.random.Generator) -> Float32Array:
        """Return ``size`` random rows without repetition, in row order; all when there are less."""
        if size >= len(self):
            return self.take(np.arange(len(self)))
        return self.take(np.sort(rng.choice(len(self), size, replace=False, shuffle=False)))

    def _take_forward(self, indices: NDArray[np.integer[Any]]) -> Float32Array:
        """Return chosen rows of a stream, read in their order whatever that of the indices."""
        order = np.argsort(indices, kind="stable")
        rising = indices[order]
        out = np.empty((len(indices), self.n_features), np.float32)
        step, done = block_length(self.n_features), 0
        while done < len(rising):
            start = int(rising[done])
            end = int(np.searchsorted(rising, start + step))
            chosen = rising[done:end]
            stored = self.matrix[start : int(chosen[-1]) + 1][chosen - start]
            out[order[done:end]] = self._convert(stored, chosen, None)
            done = end
        return out

    def _convert(
        self, part: AnyArray, numbers: Iterable[int], out: Float32Array | None
    ) -> Float32Array:
        """Convert the rows of these numbers."""
        if out is None:
            out = np.empty(part.shape, np.float32)
        # A sum of squares is finite only if all its terms are; it costs far less than a look at
        # each.
        if not np.isfinite(_center(part, self.center, out)):
            for number, row in zip(numbers, part, strict=True):
                _validation.check_finite(row[None], self.owner, first_row=int(number))
        return out


def _center(part: AnyArray, center: Float32Array, out: Float32Array) -> float:
    """Write ``part - center`` as float32; return the sum of its squares."""
    if part.dtype == np.float32 and part.dtype.isnative and part.flags.c_contiguous:
        return float(centering.center(part, center, out))
    # Integers of 32 bits and more need double precision on the way.
    wide = part.dtype.itemsize > 2 and part.dtype != np.float32
    with np.errstate(over="ignore", invalid="ignore"):
        np.subtract(
            part, center, out=out, dtype=np.float64 if wide else np.float32, casting="unsafe"
        )
        flat = out.reshape(-1)
        return float(np.dot(flat, flat))


def _release(matrix: Any, start: int, stop: int) -> None:
    """Tell the system that these pages of a read-only memory map are done with.

    They stay in the page cache; they only stop counting as this process's memory.
    """
    source = getattr(matrix, "_mmap", None)
    if not isinstance(source, mmap.mmap) or getattr(matrix, "mode", "") != "r":
        return
    # Rows may stand apart, as in texmex files, but each must lie in one piece.
    in_order = matrix.ndim == 2 and matrix.strides[0] >= matrix.strides[1] * matrix.shape[1] > 0
    if not (hasattr(mmap, "MADV_DONTNEED") and in_order):
        return
    with memoryview(source) as view:
        origin = np.frombuffer(view, np.uint8).__array_interface__["data"][0]
    row = matrix.strides[0]
    first = matrix.__array_interface__["data"][0] - origin + start * row
    # A look at one page maps those around it, on either side: what came back that way goes too.
    begin = max(0, first - first % mmap.PAGESIZE - _AROUND)
    source.madvise(mmap.MADV_DONTNEED, begin, first + (stop - start) * row - begin)
