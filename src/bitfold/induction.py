"""Step 3, induction: every point is the weighted mean of its nearest base points (Eq. 8-10)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitfold._kernels import nearest as _nearest
from bitfold._kernels.threads import scratch

FloatArray = NDArray[np.float32]


class Neighbours(NamedTuple):
    """The k nearest base points of each row, nearest first, ties by index."""

    indices: NDArray[np.int32]
    sq_distances: NDArray[np.float64]


@dataclass(frozen=True)
class BaseSet:
    """The base set B and the k nearest of it that carry a point.

    Base points and rows are relative to the same centre (see :mod:`bitfold._rows`).
    """

    points: FloatArray
    k: int

    @cached_property
    def _transposed(self) -> FloatArray:
        return np.ascontiguousarray(self.points.T)

    @cached_property
    def _sq_norms(self) -> FloatArray:
        sq_norms: FloatArray = np.einsum("ij,ij->i", self.points, self.points)
        return sq_norms

    def neighbours(self, rows: FloatArray) -> Neighbours:
        """Find the k nearest base points of each row of a block."""
        shape = (len(rows), min(self.k, len(self.points)))
        found = Neighbours(np.empty(shape, np.int32), np.empty(shape, np.float64))
        # A point too far for float32 overflows here and is measured in float64 instead.
        with np.errstate(over="ignore", invalid="ignore"):
            products = scratch("products", (len(rows), len(self.points)))
            np.matmul(rows, self._transposed, out=products)
        _nearest.nearest(rows, products, self.points, self._sq_norms, *found)
        return found

    def induce(self, rows: FloatArray, embedding: FloatArray, bandwidth: float) -> FloatArray:
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
        _nearest.weighted_mean(*self.neighbours(rows), bandwidth, embedding, out)
        return out


def learn_bandwidth(neighbours: Neighbours) -> float:
    """σ of the weights: σ² is how much farther, squared, the k nearest lie than the nearest.

    In the quotient of Eq. (8) only differences of squared distances count, so their mean is the
    scale: noise in directions of its own, which adds the same to all distances, changes nothing.
    """
    d = neighbours.sq_distances
    sigma = float(np.sqrt(np.mean(d - d[:, :1])))
    # One neighbour, or all of them equally far: any σ gives the same mean.
    return sigma if sigma > 0 else 1.0
