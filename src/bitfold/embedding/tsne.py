"""t-SNE of the base set (Sec. III-D, Eq. 11), in as many dimensions as the code has bits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bitfold import _validation
from bitfold._kernels import base_points
from bitfold._types import Float32Array, Int32Array, Int64Array
from bitfold.embedding import repulsion
from bitfold.embedding.base import StochasticEmbedding
from bitfold.embedding.pca import principal_components
from bitfold.embedding.perplexity import perplexity_affinities
from bitfold.embedding.stochastic import (
    MIN_POINTS_CUBED,
    MOMENTUM,
    DescentResult,
    GramBlocks,
    Objective,
    Repulsion,
    Schedule,
    descend,
    map_row_blocks,
    normalize_repulsion,
    random_start,
    sum_over_row_blocks,
)
from bitfold.embedding.wide import WideObjective

EXAGGERATED_FRACTION = 0.2
"""Final fraction of the iterations in which attraction is exaggerated."""

MIN_DIRECTIONS = 20
"""Smallest automatic number of principal directions."""

MAX_CROWDED_DIMENSIONS = 3
"""Up to this number of dimensions, points block each other's way ..."""

EARLY_EXAGGERATION = 4.0
"""... unless attraction is exaggerated at first, by the factor of the t-SNE paper."""


MIN_WIDE_POINTS, MAX_WIDE_POINTS = 256, 2048
"""Numbers of points for which all pairs may be held, in two matrices of at most 16 MB; with fewer
points nothing is gained."""

MIN_WIDE_FRACTION = 1 / 10
"""Fraction of the pairs with an affinity above which a graph counts as wide."""


class TSNE(StochasticEmbedding):
    """t-distributed stochastic neighbor embedding, the best method of the paper (IMH-tSNE).

    Neighbors in the base set stay neighbors. All other pairs are pushed apart by a heavy-tailed
    distribution, so that clusters do not crowd together: Eq. (11).

    Parameters
    ----------
    perplexity
        Effective number of neighbors of a base point by distance, as in the paper. None counts
        affinities in the training data, or uses a perplexity of 5 if there are fewer than 5
        training points per base point.
    max_iter
        Maximum number of iterations; fewer if the cost stops falling.
    learning_rate
        Step size of the descent; None is the number of base points.
    exaggeration
        Factor of the attraction in the last fifth of the iterations. With a larger factor more
        points share a code, and a radius lookup finds more. None is 1, or (m / 1000)^(1/6) for
        m > 1000 base points with fewer than 50 training points each, unless the data are noisy.
    early_exaggeration
        Factor of the attraction in the first iterations. It keeps classes in one piece where
        points cannot pass each other. None is 4 in up to 3 dimensions, and 1 in more.
    n_exaggerated_iter
        Number of iterations with ``early_exaggeration``.
    early_momentum
        Momentum of the first 250 iterations, at least 0 and below 1; later it is 0.8.
    tolerance
        The descent ends if 50 iterations lower the cost by less than this fraction, and steps
        that raise the cost much are taken back. None is plain t-SNE: it makes all iterations, even
        if long steps scatter the points at first, and computes all pairs, where more than 4,096
        base points are otherwise pushed apart by neighbors and a sample.
    n_directions
        Number of principal directions of the base set along which distances for ``perplexity``
        are measured, at most as many as there are. "auto" is ``n_components``, but at least 20;
        None measures them in all features.
    n_neighbors
        Number of nearest base points among which ``perplexity`` is reached; None is 3 times the
        perplexity. More is slower.

    References
    ----------
    van der Maaten and Hinton, *Visualizing data using t-SNE*, JMLR 2008.

    Examples
    --------
    >>> TSNE(perplexity=2, max_iter=50).embed([[0.0], [1.0], [5.0], [6.0]], 16, rng=0).shape
    (4, 16)
    """

    def __init__(
        self,
        perplexity: float | None = None,
        max_iter: int = 400,
        learning_rate: float | None = None,
        exaggeration: float | None = None,
        *,
        early_exaggeration: float | None = None,
        n_exaggerated_iter: int = 100,
        early_momentum: float = MOMENTUM,
        tolerance: float | None = 1e-4,
        n_directions: int | str | None = None,
        n_neighbors: int | None = None,
    ) -> None:
        super().__init__(perplexity, max_iter, learning_rate)
        self.exaggeration = exaggeration
        self.early_exaggeration = early_exaggeration
        self.n_exaggerated_iter = n_exaggerated_iter
        self.early_momentum = early_momentum
        self.tolerance = tolerance
        self.n_directions = n_directions
        self.n_neighbors = n_neighbors

    def _check_schedule(self, n_components: int) -> Schedule:
        owner, factor, tolerance = type(self).__name__, self.early_exaggeration, self.tolerance
        if factor is None:
            factor = EARLY_EXAGGERATION if n_components <= MAX_CROWDED_DIMENSIONS else 1.0
        if tolerance is not None:
            tolerance = _validation.check_fraction(tolerance, "tolerance", owner)
        return replace(
            super()._check_schedule(n_components),
            tolerance=tolerance,
            early_exaggeration=_validation.check_positive(factor, "early_exaggeration", owner),
            n_exaggerated_iter=_validation.check_integer(
                self.n_exaggerated_iter, "n_exaggerated_iter", owner, low=0
            ),
            early_momentum=_validation.check_fraction(self.early_momentum, "early_momentum", owner),
        )

    def _distance_affinities(self, base: Float32Array, n_components: int) -> csr_array:
        perplexity, k = self._check_perplexity(), self.n_neighbors
        if k is not None:
            k = _validation.check_integer(k, "n_neighbors", type(self).__name__, low=1)
        n = self._check_n_directions(n_components)
        if n is not None:
            base = principal_components(base, min(n, *base.shape)).astype(np.float32)
        return perplexity_affinities(base, perplexity, k)

    def _check_n_directions(self, n_components: int) -> int | None:
        n, owner = self.n_directions, type(self).__name__
        if n is None:
            return None
        if n == "auto":
            return max(MIN_DIRECTIONS, n_components)
        if isinstance(n, str):
            _validation.raise_invalid("n_directions", owner, 'an integer, "auto" or None', repr(n))
        return _validation.check_integer(n, "n_directions", owner, low=1)

    def _minimizer(
        self, base: Float32Array, points_per_base: float | None
    ) -> partial[DescentResult]:
        return partial(tsne, exaggeration=self._choose_exaggeration(len(base), points_per_base))

    def _choose_exaggeration(self, m: int, points_per_base: float | None) -> float:
        if self.exaggeration is not None:
            return _validation.check_positive(
                self.exaggeration, "exaggeration", type(self).__name__
            )
        if points_per_base is None or points_per_base >= MIN_POINTS_CUBED:
            return 1.0
        # The more base points, the less each pair attracts, and the looser clusters become.
        return max(1.0, float((m / 1000) ** (1 / 6)))


def tsne(
    P: csr_array,
    n_components: int,
    rng: np.random.Generator,
    schedule: Schedule,
    exaggeration: float = 1.0,
) -> DescentResult:
    """Minimize KL(P || Q), Eq. (11), with q_ij ∝ 1 / (1 + |y_i - y_j|²).

    In the last fifth of the iterations, attraction is multiplied by ``exaggeration``: points that
    belong together move closer and share their codes.
    """
    start = random_start(P.shape[0], n_components, rng)
    objective = kl_divergence(P, rng, is_exact=schedule.tolerance is None)
    if exaggeration == 1:
        return descend(P, objective, start, schedule)
    first, last = split_schedule(schedule, EXAGGERATED_FRACTION)
    found = descend(P, objective, start, first)
    if not last.max_iter:
        return found
    closer = descend(exaggeration * P, objective, found.Y, last)
    return closer._replace(n_iter=found.n_iter + closer.n_iter)


def split_schedule(schedule: Schedule, fraction: float) -> tuple[Schedule, Schedule]:
    """Split a schedule into all but the last ``fraction`` of its iterations, and the rest."""
    n_last = int(fraction * schedule.max_iter)
    n_first = schedule.max_iter - n_last

    def report(done: int, total: int, offset: int) -> None:
        if schedule.on_step:
            schedule.on_step(offset + done, schedule.max_iter)

    first = replace(schedule, max_iter=n_first, on_step=partial(report, offset=0))
    last = Schedule(
        n_last, schedule.learning_rate, schedule.tolerance, partial(report, offset=n_first)
    )
    return first, last


def is_wide(P: csr_array) -> bool:
    """Return whether enough pairs have an affinity to make computing all pairs faster."""
    m = int(P.shape[0])
    is_held = MIN_WIDE_POINTS <= m <= MAX_WIDE_POINTS
    return is_held and int(P.nnz) > MIN_WIDE_FRACTION * m * m


def kl_divergence(P: csr_array, rng: np.random.Generator, *, is_exact: bool = False) -> Objective:
    """Return Eq. (11), estimated if there are many points and it need not be exact."""
    p = P.data[P.data > 0]
    negative_entropy = float(np.sum(p * np.log(p)))
    m = P.shape[0]
    if is_wide(P):
        return WideObjective(cauchy_repulsion, is_student=True, constant=negative_entropy)
    if is_exact or m <= repulsion.MAX_EXACT_POINTS:
        return Objective(cauchy_repulsion, is_student=True, constant=negative_entropy)
    estimated = repulsion.NeighborListRepulsion(cauchy_estimate, m, rng)
    return Objective(estimated, True, negative_entropy, repulsion.COST_ERROR)


def cauchy_repulsion(Y: Float32Array) -> Repulsion:
    """Return Σ_j w_ij² (y_i - y_j) / Z with w = 1 / (1 + d²); its cost is log Z.

    The weight of a pair is computed once, for both of its points: by the block of rows of the first
    one. Blocks are added in their order, so that the number of threads makes no difference.
    """
    pushes, sums, Z = np.zeros_like(Y), np.zeros(len(Y), np.float32), 0.0
    for block in map_row_blocks(partial(_weigh_block, GramBlocks(Y)), len(Y)):
        stop = block.rows.stop
        pushes[block.rows] += block.pushes
        pushes[stop:] += block.other_pushes
        sums[block.rows] += block.sums
        sums[stop:] += block.other_sums
        Z += block.mass
    force = sums[:, None] * Y
    force -= pushes
    return normalize_repulsion(force, Z)


class _WeighedBlock(NamedTuple):
    """Squared weights of a block of points with itself and all points after it.

    Parameters
    ----------
    rows
        The points of the block.
    pushes, sums
        Weights times the other points of each pair, and the weights, summed for each point of the
        block.
    other_pushes, other_sums
        The same for each point after the block.
    mass
        Sum of all weights, not squared.
    """

    rows: slice
    pushes: Float32Array
    sums: Float32Array
    other_pushes: Float32Array
    other_sums: Float32Array
    mass: float


def _weigh_block(gram: GramBlocks, rows: slice) -> _WeighedBlock:
    n, from_block = rows.stop - rows.start, slice(rows.start, None)
    weights = gram.compute(rows, rows.start)
    sums, other_sums = np.empty(n, np.float32), np.empty(len(gram.Y) - rows.stop, np.float32)
    mass = base_points.cauchy_pairs(weights, gram.sq_norms[from_block], sums, other_sums)
    mass -= base_points.remove_own_weights(weights, 0, sums)
    pushes, other_pushes = weights @ gram.Y[from_block], weights[:, n:].T @ gram.Y[rows]
    return _WeighedBlock(rows, pushes, sums, other_pushes, other_sums, float(mass))


def cauchy_estimate(Y: Float32Array, lists: Int32Array, sample: Int64Array) -> Repulsion:
    """Estimate ``cauchy_repulsion`` from neighbor lists and, for other pairs, a sample."""
    m, share = len(Y), len(Y) / len(sample)
    columns = np.ascontiguousarray(Y[sample])
    transposed = np.ascontiguousarray(columns.T)
    column_norms = np.einsum("ij,ij->i", columns, columns)
    # Weight of a listed pair in addition to its weight in the sample.
    additional = np.ones(m, np.float32)
    additional[sample] -= np.float32(share)
    force = np.empty_like(Y)

    def push(rows: slice) -> float:
        own = Y[rows]
        weights = own @ transposed
        sums = np.empty(len(own), np.float32)
        norms = np.einsum("ij,ij->i", own, own)
        far = base_points.cauchy_between(weights, norms, column_norms, sums)
        part = sums[:, None] * own
        part -= weights @ columns
        part *= np.float32(share)
        near = base_points.add_near(Y, lists, additional, rows.start, part)
        force[rows] = part
        return float(share * far + near)

    # Each sampled point was compared with itself, at weight 1.
    Z = sum_over_row_blocks(push, m) - share * len(sample)
    return normalize_repulsion(force, Z)
