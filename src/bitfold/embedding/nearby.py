"""The Cauchy repulsion of many points: near pairs one by one, far ones by a sample.

In 16 and more dimensions an embedding is wide: of the repulsion on a point nearly all comes from
the few points close to it, and the rest is small and smooth. So the close ones are listed, and
listed again from time to time as points move (Verlet's lists in molecular dynamics), and counted
exactly; all others are stood for by a sample, another one at every step. A step costs m × (near +
sample) instead of m × m.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bitfold._kernels import forces
from bitfold._kernels import nearest as _nearest
from bitfold.embedding import descent

FloatArray = NDArray[np.float32]

NEAR, SAMPLE = 23, 512
"""Points that are listed of each point, and points that stand for all others."""

FIRST, OFTEN, RARELY = 20, 5, 50
"""Steps before the first listing, and the fewest and most between two: a fifth of those made."""


class NearAndFar:
    """Σ_j w_ij² (y_i - y_j) / Z with w = 1 / (1 + d²), estimated; it may be called once a step.

    Parameters
    ----------
    m
        Number of points.
    rng
        Draws the samples.
    """

    def __init__(self, m: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._order = rng.permutation(m)
        self._drawn = 0
        self._near = np.empty((m, 0), np.int32)
        self._steps, self._due = 0, FIRST

    def __call__(self, Y: FloatArray) -> descent.Push:
        """Push all points apart."""
        if self._steps == self._due:
            self._near = listed(Y)
            self._due += min(RARELY, max(OFTEN, self._steps // 5))
        self._steps += 1
        return estimate(Y, self._near, self._draw())

    def _draw(self) -> NDArray[np.int64]:
        """Return the next sample: all points take their turn before any comes again."""
        if self._drawn + SAMPLE > len(self._order):
            self._order = self._rng.permutation(len(self._order))
            self._drawn = 0
        self._drawn += SAMPLE
        return self._order[self._drawn - SAMPLE : self._drawn]


def listed(Y: FloatArray) -> NDArray[np.int32]:
    """Return the nearest others of each point."""
    m = len(Y)
    products = descent.Products(Y)
    near = np.empty((m, NEAR), np.int32)

    def find(rows: slice) -> float:
        scores = products.of(rows)
        indices = np.empty((len(scores), NEAR + 1), np.int32)
        _nearest.nearest(Y[rows], scores, Y, products.sq_norms, indices, np.empty(indices.shape))
        # A point is not always the first of its own list: others may be in the same place.
        own = indices == np.arange(rows.start, rows.stop)[:, None]
        own[~own.any(axis=1), -1] = True
        near[rows] = indices[~own].reshape(-1, NEAR)
        return 0.0

    descent.over_row_blocks(find, m)
    return near


def estimate(Y: FloatArray, near: NDArray[np.int32], sample: NDArray[np.int64]) -> descent.Push:
    """Repulsion by the listed pairs and, for all others, by ``sample``; its cost is log Z."""
    m, share = len(Y), len(Y) / len(sample)
    columns = np.ascontiguousarray(Y[sample])
    transposed = np.ascontiguousarray(columns.T)
    column_norms = np.einsum("ij,ij->i", columns, columns)
    # What a listed pair counts beyond what it counts as part of the sample.
    beyond = np.ones(m, np.float32)
    beyond[sample] -= np.float32(share)
    force = np.empty_like(Y)

    def push(rows: slice) -> float:
        mine = Y[rows]
        weights = mine @ transposed
        sums = np.empty(len(mine), np.float32)
        norms = np.einsum("ij,ij->i", mine, mine)
        far = forces.cauchy_between(weights, norms, column_norms, sums)
        part = sums[:, None] * mine
        part -= weights @ columns
        part *= np.float32(share)
        mass = forces.add_near(Y, near, beyond, rows.start, part)
        force[rows] = part
        return float(share * far + mass)

    # A sampled point met itself once, at weight 1.
    Z = descent.over_row_blocks(push, m) - share * len(sample)
    return descent.normalised(force, Z)
