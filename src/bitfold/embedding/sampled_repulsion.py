"""The repulsion of many points: near pairs one by one, far ones by a sample.

In 16 and more dimensions an embedding is wide: of the repulsion on a point nearly all comes from
the few points close to it, and the rest is small and smooth. So the close ones are listed, and
listed again from time to time as points move (Verlet's lists in molecular dynamics), and counted
exactly; all others are stood for by a sample, another one at every step. A step costs m × (near +
sample) instead of m × m.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bitfold._kernels import nearest as _nearest
from bitfold._types import Float32Array, Int32Array, Int64Array
from bitfold.embedding import descent

Estimate = Callable[[Float32Array, Int32Array, Int64Array], descent.Push]
"""A repulsion from all points, the nearest of each, and a sample of all."""

MANY = 4096
"""Points up to which every pair is looked at."""

DOUBT = 0.02
"""How far, as a share, a cost estimated so may be off."""

NEAR, SAMPLE = 23, 512
"""Points that are listed of each point, and points that stand for all others."""

FIRST, OFTEN, RARELY = 20, 5, 50
"""Steps before the first listing, and the fewest and most between two: a fifth of those made."""


def objective(
    exact: Callable[[Float32Array], descent.Push],
    estimate: Estimate,
    m: int,
    rng: np.random.Generator,
    *,
    student: bool,
    constant: float = 0.0,
) -> descent.Objective:
    """Return the objective of m points: by all pairs or, if they are many, by an estimate."""
    if m <= MANY:
        return descent.Objective(exact, student, constant)
    # A Gaussian weighs the nearest so much more than the rest that its lists must be fresh.
    estimated = NearAndFar(estimate, m, rng, RARELY if student else OFTEN)
    return descent.Objective(estimated, student, constant, DOUBT)


class NearAndFar:
    """A repulsion, estimated; it may be called once a step.

    Parameters
    ----------
    estimate
        The method's repulsion, from lists and a sample.
    m
        Number of points.
    rng
        Draws the samples.
    rarely
        The most steps between two listings.
    """

    def __init__(
        self, estimate: Estimate, m: int, rng: np.random.Generator, rarely: int = RARELY
    ) -> None:
        self._estimate = estimate
        self._rarely = rarely
        self._rng = rng
        self._order = rng.permutation(m)
        self._drawn = 0
        self._near = np.empty((m, 0), np.int32)
        self._steps, self._due = 0, FIRST

    def __call__(self, Y: Float32Array) -> descent.Push:
        """Push all points apart."""
        if self._steps == self._due:
            self._near = listed(Y)
            self._due += min(self._rarely, max(OFTEN, self._steps // 5))
        self._steps += 1
        return self._estimate(Y, self._near, self._draw())

    def _draw(self) -> Int64Array:
        """Return the next sample: all points take their turn before any comes again."""
        if self._drawn + SAMPLE > len(self._order):
            self._order = self._rng.permutation(len(self._order))
            self._drawn = 0
        self._drawn += SAMPLE
        return self._order[self._drawn - SAMPLE : self._drawn]


def listed(Y: Float32Array) -> Int32Array:
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


class Gaussian:
    """Gaussian weights of each point's listed neighbors, and of a sample that stands for others.

    Parameters
    ----------
    Y
        The points.
    near
        Those listed for each.
    sample
        Those that stand for all.
    """

    def __init__(self, Y: Float32Array, near: Int32Array, sample: Int64Array) -> None:
        self.Y, self.near, self.sample = Y, near, sample
        self._columns = np.ascontiguousarray(Y[sample])
        self._sq_norms = np.einsum("ij,ij->i", self._columns, self._columns)
        self._log_share = np.float32(np.log(len(Y) / len(sample)))
        self._place = np.full(len(Y), -1)
        self._place[sample] = np.arange(len(sample))

    def exponents(self, rows: slice) -> tuple[Float32Array, Float32Array]:
        """Logarithms of the weights: of the listed pairs, and of the sampled ones' shares."""
        mine, near = self.Y[rows], self.near[rows]
        apart = mine[:, None] - self.Y[near]
        close = -np.einsum("nkc,nkc->nk", apart, apart)
        far = mine @ self._columns.T
        far *= 2
        far -= np.einsum("ij,ij->i", mine, mine)[:, None]
        far -= self._sq_norms
        np.minimum(far, 0, out=far)
        far += self._log_share
        # What is listed, and the point itself, no sample has to stand for.
        known = np.column_stack([near, np.arange(rows.start, rows.stop)])
        i, j = np.nonzero(self._place[known] >= 0)
        far[i, self._place[known[i, j]]] = -np.inf
        return close, far

    def push_apart(self, rows: slice, close: Float32Array, far: Float32Array) -> Float32Array:
        """Σ_j weight_ij (y_i - y_j), listed and sampled."""
        force: Float32Array = (close.sum(axis=1) + far.sum(axis=1))[:, None] * self.Y[rows]
        force -= far @ self._columns
        force -= np.einsum("nk,nkc->nc", close, self.Y[self.near[rows]])
        return force
