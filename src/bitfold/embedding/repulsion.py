"""The repulsion of many points, estimated: near pairs exactly, far pairs from a sample.

In 16 and more dimensions, nearly all of the repulsion on a point comes from the few points close
to it; the rest is small and smooth. The close points are therefore kept in neighbor lists, which
are rebuilt from time to time (Verlet lists in molecular dynamics), and all others are represented
by a sample that changes at every step. A step costs m × (neighbors + sample) instead of m × m.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bitfold._kernels import induction
from bitfold._types import Float32Array, Int32Array, Int64Array
from bitfold.embedding.stochastic import GramBlocks, Objective, Repulsion, sum_over_row_blocks

MAX_EXACT_POINTS = 4096
"""Up to this number of points, all pairs are computed."""

COST_ERROR = 0.02
"""Relative error of an estimated cost."""

N_LISTED = 23
"""Length of the neighbor list of a point."""

N_SAMPLED = 512
"""Points that represent all points outside a list."""

STEPS_BEFORE_FIRST_BUILD = 20
MIN_STEPS_BETWEEN_REBUILDS = 5
MAX_STEPS_BETWEEN_REBUILDS = 50
"""Lists are rebuilt after a fifth of the steps so far, within these limits."""


class NeighborListRepulsion:
    """An estimated repulsion, called once per step of the descent.

    Parameters
    ----------
    estimate
        Computes the repulsion from all points, their neighbor lists, and a sample of all points.
    m
        Number of points.
    rng
        Generator of the samples.
    max_steps
        Maximum number of steps between two rebuilds of the lists.
    """

    def __init__(
        self,
        estimate: Callable[[Float32Array, Int32Array, Int64Array], Repulsion],
        m: int,
        rng: np.random.Generator,
        max_steps: int = MAX_STEPS_BETWEEN_REBUILDS,
    ) -> None:
        self._estimate = estimate
        self._max_steps = max_steps
        self._rng = rng
        self._order = rng.permutation(m)
        self._n_drawn = 0
        self._lists = np.empty((m, 0), np.int32)
        self._n_steps, self._next_build = 0, STEPS_BEFORE_FIRST_BUILD

    def __call__(self, Y: Float32Array) -> Repulsion:
        """Return the repulsion of all points."""
        if self._n_steps == self._next_build:
            self._lists = build_neighbor_lists(Y)
            fifth = max(MIN_STEPS_BETWEEN_REBUILDS, self._n_steps // 5)
            self._next_build += min(self._max_steps, fifth)
        self._n_steps += 1
        return self._estimate(Y, self._lists, self._draw_sample())

    def _draw_sample(self) -> Int64Array:
        """Return the next sample; every point is drawn before any is drawn again."""
        if self._n_drawn + N_SAMPLED > len(self._order):
            self._order = self._rng.permutation(len(self._order))
            self._n_drawn = 0
        self._n_drawn += N_SAMPLED
        return self._order[self._n_drawn - N_SAMPLED : self._n_drawn]


def make_gaussian_objective(
    exact: Callable[[Float32Array], Repulsion],
    estimate: Callable[[Float32Array, Int32Array, Int64Array], Repulsion],
    m: int,
    rng: np.random.Generator,
) -> Objective:
    """Return the objective of a Gaussian repulsion, estimated if there are many points."""
    if m <= MAX_EXACT_POINTS:
        return Objective(exact, is_student=False)
    # A Gaussian gives the nearest points so much weight that the lists must be recent.
    estimated = NeighborListRepulsion(estimate, m, rng, MIN_STEPS_BETWEEN_REBUILDS)
    return Objective(estimated, is_student=False, cost_error=COST_ERROR)


def build_neighbor_lists(Y: Float32Array) -> Int32Array:
    """Return the nearest other points of each point, (m, N_LISTED)."""
    m = len(Y)
    gram = GramBlocks(Y)
    lists = np.empty((m, N_LISTED), np.int32)

    def find(rows: slice) -> float:
        scores = gram.compute(rows)
        indices = np.empty((len(scores), N_LISTED + 1), np.int32)
        induction.nearest(Y[rows], scores, Y, gram.sq_norms, indices, np.empty(indices.shape))
        # A point is not always the first of its own list: others may have the same position.
        own = indices == np.arange(rows.start, rows.stop)[:, None]
        own[~own.any(axis=1), -1] = True
        lists[rows] = indices[~own].reshape(-1, N_LISTED)
        return 0.0

    sum_over_row_blocks(find, m)
    return lists


class GaussianPairs:
    """Gaussian weights between each point and its neighbor list, and a sample of the others.

    Parameters
    ----------
    Y
        The points.
    lists
        The neighbor list of each point.
    sample
        Indices of the sampled points.
    """

    def __init__(self, Y: Float32Array, lists: Int32Array, sample: Int64Array) -> None:
        self.Y, self.lists, self.sample = Y, lists, sample
        self._columns = np.ascontiguousarray(Y[sample])
        self._sq_norms = np.einsum("ij,ij->i", self._columns, self._columns)
        self._log_share = np.float32(np.log(len(Y) / len(sample)))
        self._column_of = np.full(len(Y), -1)
        self._column_of[sample] = np.arange(len(sample))

    def exponents(self, rows: slice) -> tuple[Float32Array, Float32Array]:
        """Return the logarithms of the weights of listed pairs, and of sampled pairs.

        A sampled pair has the weight of all pairs that it represents.
        """
        own, listed = self.Y[rows], self.lists[rows]
        apart = own[:, None] - self.Y[listed]
        near = -np.einsum("nkc,nkc->nk", apart, apart)
        far = own @ self._columns.T
        far *= 2
        far -= np.einsum("ij,ij->i", own, own)[:, None]
        far -= self._sq_norms
        np.minimum(far, 0, out=far)
        far += self._log_share
        # Listed points, and the point itself, are not represented by the sample.
        known = np.column_stack([listed, np.arange(rows.start, rows.stop)])
        i, j = np.nonzero(self._column_of[known] >= 0)
        far[i, self._column_of[known[i, j]]] = -np.inf
        return near, far

    def push_apart(self, rows: slice, near: Float32Array, far: Float32Array) -> Float32Array:
        """Return Σ_j weight_ij (y_i - y_j) over listed and sampled pairs."""
        force: Float32Array = (near.sum(axis=1) + far.sum(axis=1))[:, None] * self.Y[rows]
        force -= far @ self._columns
        force -= np.einsum("nk,nkc->nc", near, self.Y[self.lists[rows]])
        return force
