"""A point is carried in by the base points nearest to it: all are measured, or a short list."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bitfold._kernels import nearest as _nearest
from bitfold._kernels import products
from bitfold._kernels import shortlist as _shortlist
from bitfold._threads import scratch
from bitfold._types import Float32Array, Float64Array, Int32Array
from bitfold.induction.inverted_lists import LISTS, Shortlist, between_neighbors, shortlist

MANY, MOST_NEAREST = 2048, 8
"""Base points beyond which only some are looked at, for so many nearest at most."""

KEPT, AGREE = 18, 0.995
"""Base points that are measured after a look at some, and the share of the nearest among them
below which all are measured after all."""


class Neighbors(NamedTuple):
    """The k nearest base points of each row, nearest first, ties by index."""

    indices: Int32Array
    sq_distances: Float64Array


@dataclass(frozen=True)
class BaseSet:
    """The base set B and the k nearest of it that carry a point.

    Base points and rows are relative to the same center (see :mod:`bitfold.io.rows`). Of more than
    ``MANY`` base points, those that are found agree with the nearest in 99.5 % and more.
    """

    points: Float32Array
    k: int

    @property
    def width(self) -> int:
        """How many floats a row needs while its neighbors are looked for."""
        return len(self.points) if self._lists is None else LISTS

    @cached_property
    def _transposed(self) -> Float32Array:
        return np.ascontiguousarray(self.points.T)

    @cached_property
    def _sq_norms(self) -> Float32Array:
        sq_norms: Float32Array = np.einsum("ij,ij->i", self.points, self.points)
        return sq_norms

    @cached_property
    def _lists(self) -> Shortlist | None:
        """Lists to look into; None where base points are few, or lists would miss too many."""
        if len(self.points) <= MANY or self.k > MOST_NEAREST:
            return None
        between = between_neighbors(self.points)
        lists = shortlist(self.points, between, self.k)
        shape = (len(between), self.k)
        exact, found = (Neighbors(np.empty(shape, np.int32), np.empty(shape)) for _ in range(2))
        self._measure(between, exact)
        self._look(between, found, lists)
        agree = (found.indices[:, :, None] == exact.indices[:, None]).any(axis=1).mean()
        return lists if agree >= AGREE else None

    def neighbors(self, rows: Float32Array) -> Neighbors:
        """Find the k nearest base points of each row of a block."""
        shape = (len(rows), min(self.k, len(self.points)))
        found = Neighbors(np.empty(shape, np.int32), np.empty(shape, np.float64))
        if self._lists is None:
            self._measure(rows, found)
        else:
            self._look(rows, found, self._lists)
        return found

    def _measure(self, rows: Float32Array, found: Neighbors) -> None:
        """Look at all base points."""
        # A point too far for float32 overflows here and is measured in float64 instead.
        with np.errstate(over="ignore", invalid="ignore"):
            scores = scratch("products", (len(rows), len(self.points)))
            np.matmul(rows, self._transposed, out=scores)
        _nearest.nearest(rows, scores, self.points, self._sq_norms, *found)

    def _look(self, rows: Float32Array, found: Neighbors, lists: Shortlist) -> None:
        """Look at some base points, and closely at a short list of them."""
        seen = scratch("seen", (len(rows), len(lists.directions)))
        products.dots(rows, lists.directions, seen)
        scores = scratch("scores", (len(rows), len(lists.centers)))
        products.dots(seen, lists.centers, scores)
        _shortlist.nearest_of_some(rows, seen, scores, *lists[2:], KEPT, self.points, *found)

    def induce(self, rows: Float32Array, embedding: Float32Array, bandwidth: float) -> Float32Array:
        """Eq. (8): embed a block of rows, each by itself.

        Parameters
        ----------
        rows
            The block, float32.
        embedding
            Embedding of the base points, one a row.
        bandwidth
            σ of the weights exp(-d²/σ²).
        """
        out = np.empty((len(rows), embedding.shape[1]), np.float32)
        _nearest.weighted_mean(*self.neighbors(rows), bandwidth, embedding, out)
        return out


def learn_bandwidth(neighbors: Neighbors, m: int = 1) -> float:
    """σ of the weights: σ² is how much farther, squared, the k nearest lie than the nearest.

    In the quotient of Eq. (8) only differences of squared distances count, so their mean is the
    scale: noise in directions of its own, which adds the same to all distances, changes nothing.
    Of more than a thousand base points the k nearest are closer than a neighborhood is wide; σ
    then reaches beyond them, by the cube root of the thousands.
    """
    d = neighbors.sq_distances
    sigma = float(np.sqrt(np.mean(d - d[:, :1]))) * max(1.0, float(np.cbrt(m / 1000)))
    # One neighbor, or all of them equally far: any σ gives the same mean.
    return sigma if sigma > 0 else 1.0
