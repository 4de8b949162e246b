"""Rows: the user's vectors, read block by block as centred float32.

Everything downstream works on float32 relative to one reference point. Centring keeps
|x|² - 2 x·b + |b|² from cancelling when the data lie far from the origin, and because the
reference is itself a float32 vector, the same value arrives as the same float32 whether it was
stored as uint8, float32 or float64.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitfold import _checks
from bitfold._kernels import centring

FloatArray = NDArray[np.float32]

BLOCK_BYTES = 2 << 20
"""What one block of float32 may weigh: it stays in a core's cache, more or less."""

_SCATTERED = 256
"""Chosen rows read at a time; each may bring in 16 pages of a memory map around it."""


class Block(NamedTuple):
    """A run of rows, converted."""

    start: int
    values: FloatArray


def block_length(width: int) -> int:
    """How many rows of ``width`` float32 make one block."""
    return int(np.clip(BLOCK_BYTES // (4 * max(width, 1)), 64, 4096))


@dataclass(frozen=True)
class Rows:
    """A matrix seen as float32 rows relative to ``centre``; nothing is copied whole."""

    matrix: NDArray[Any]
    centre: FloatArray
    owner: str

    @classmethod
    def centred(cls, matrix: NDArray[Any], owner: str) -> Rows:
        """Centre on the mean, found in one pass that also proves every distance finite."""
        rows = cls(matrix, np.zeros(matrix.shape[1], np.float32), owner)
        total = np.zeros(matrix.shape[1])
        for start, values in rows.blocks():
            _checks.measurable(values, owner, first_row=start)
            total += values.sum(axis=0, dtype=np.float64)
        return cls(matrix, (total / len(matrix)).astype(np.float32), owner)

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def n_features(self) -> int:
        """Width of a row."""
        return int(self.matrix.shape[1])

    def block(self, start: int, stop: int, out: FloatArray | None = None) -> FloatArray:
        """Rows [start, stop), converted, centred and checked."""
        values = self._convert(self.matrix[start:stop], range(start, stop), out)
        _release(self.matrix, start, stop)
        return values

    def blocks(self, width: int = 0) -> Iterator[Block]:
        """All rows in order, in blocks that suit a result of ``width`` columns."""
        step = block_length(max(width, self.n_features))
        for start in range(0, len(self), step):
            yield Block(start, self.block(start, min(start + step, len(self))))

    def take(self, indices: NDArray[np.integer[Any]]) -> FloatArray:
        """Return chosen rows; sorted indices read a memory map forwards."""
        out = np.empty((len(indices), self.n_features), np.float32)
        for start in range(0, len(indices), _SCATTERED):
            chosen = indices[start : start + _SCATTERED]
            self._convert(self.matrix[chosen], chosen, out[start : start + len(chosen)])
            _release(self.matrix, int(chosen.min()), int(chosen.max()) + 1)
        return out

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Return ``size`` random rows without repetition, in row order; all when there are less."""
        if size >= len(self):
            return self.take(np.arange(len(self)))
        return self.take(np.sort(rng.choice(len(self), size, replace=False, shuffle=False)))

    def _convert(
        self, part: NDArray[Any], numbers: Iterable[int], out: FloatArray | None
    ) -> FloatArray:
        """Convert the rows of these numbers."""
        if out is None:
            out = np.empty(part.shape, np.float32)
        # A sum of squares is finite only if all its terms are; it costs far less than a look at
        # each.
        if not np.isfinite(_centre(part, self.centre, out)):
            for number, row in zip(numbers, part, strict=True):
                _checks.finite(row[None], self.owner, first_row=int(number))
        return out


def _centre(part: NDArray[Any], centre: FloatArray, out: FloatArray) -> float:
    """Write ``part - centre`` as float32; return the sum of its squares."""
    if part.dtype == np.float32 and part.dtype.isnative and part.flags.c_contiguous:
        return float(centring.centre(part, centre, out))
    # Integers of 32 bits and more need double precision on the way.
    wide = part.dtype.itemsize > 2 and part.dtype != np.float32
    with np.errstate(over="ignore", invalid="ignore"):
        np.subtract(
            part, centre, out=out, dtype=np.float64 if wide else np.float32, casting="unsafe"
        )
        flat = out.reshape(-1)
        return float(np.dot(flat, flat))


def _release(matrix: NDArray[Any], start: int, stop: int) -> None:
    """Tell the system that these pages of a read-only memory map are done with.

    They stay in the page cache; they only stop counting as this process's memory.
    """
    source = getattr(matrix, "_mmap", None)
    if not isinstance(source, mmap.mmap) or getattr(matrix, "mode", "") != "r":
        return
    if not (hasattr(mmap, "MADV_DONTNEED") and matrix.flags.c_contiguous):
        return
    with memoryview(source) as view:
        origin = np.frombuffer(view, np.uint8).__array_interface__["data"][0]
    row = matrix.strides[0]
    first = matrix.__array_interface__["data"][0] - origin + start * row
    begin = first - first % mmap.PAGESIZE
    source.madvise(mmap.MADV_DONTNEED, begin, first + (stop - start) * row - begin)
