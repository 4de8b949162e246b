"""Vectors of an exact search, read in blocks: some rows of a matrix, scaled by the metric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import AnyArray, Float32Array, Int64Array
from bitfold.io.rows import Block, Rows
from bitfold.io.unit_length import scale_to_unit_length

METRICS = ("l2", "cosine")
"""Distances of an exact search."""


@dataclass(frozen=True)
class VectorBlocks:
    """Some rows of a matrix as vectors whose ℓ2 distances are searched.

    ``rows`` are ascending row numbers, or None for all rows. For the metric "cosine", vectors are
    scaled to unit length, after which both metrics give the same order.
    """

    source: Rows
    rows: Int64Array | None

    @classmethod
    def open(cls, matrix: Any, name: str, metric: str, rows: ArrayLike | None) -> VectorBlocks:
        """Check the matrix and the rows, and compute the center."""
        X = _validation.check_matrix(matrix, name)
        chosen = None if rows is None else _check_rows(rows, len(X))
        return cls(Rows.centered(X, name, normalize=metric == "cosine"), chosen)

    def __len__(self) -> int:
        return len(self.source) if self.rows is None else len(self.rows)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.source.n_features

    def with_center(self, center: Float32Array) -> VectorBlocks:
        """Return the same vectors relative to another center."""
        return VectorBlocks(replace(self.source, center=center), self.rows)

    def blocks(self, step: int) -> Iterator[Block]:
        """Yield all vectors in order, centered, ``step`` at a time."""
        for first in range(0, len(self), step):
            yield Block(first, self.centered(first, min(first + step, len(self))))

    def centered(self, first: int, stop: int) -> Float32Array:
        """Return the vectors at positions [first, stop) relative to the center."""
        chosen = self._choose(first, stop)
        if isinstance(chosen, slice):
            return self.source.block(first, stop)
        return self.source.take(chosen)

    def values(self, first: int, stop: int) -> AnyArray:
        """Return the vectors as they are compared: the given values, or of unit length.

        The result is a contiguous copy in float32, or in float64 if float32 would round.
        """
        stored = self.source.matrix[self._choose(first, stop)]
        if self.source.normalize:
            return scale_to_unit_length(stored, self.source.owner)
        kind = np.float32 if np.can_cast(stored.dtype, np.float32) else np.float64
        return np.array(stored, kind, order="C")

    def _choose(self, first: int, stop: int) -> slice | Int64Array:
        return slice(first, stop) if self.rows is None else self.rows[first:stop]


def _check_rows(rows: ArrayLike, n_rows: int) -> Int64Array:
    """Return ascending row numbers."""
    array = np.asarray(rows)
    is_valid = array.ndim == 1 and array.dtype.kind in "iu" and len(array)
    if not is_valid or (array[1:] <= array[:-1]).any() or array[0] < 0 or array[-1] >= n_rows:
        requirement = f"ascending row numbers below n_rows={n_rows}"
        _validation.raise_invalid("rows", "an exact search", requirement, repr(rows))
    return array.astype(np.int64)
