"""SNE of the base set: the Gaussian predecessor of t-SNE."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from bitfold._kernels import base_points
from bitfold._types import Float32Array, Int32Array, Int64Array
from bitfold.embedding import repulsion
from bitfold.embedding.base import StochasticEmbedding
from bitfold.embedding.stochastic import (
    DescentResult,
    GramBlocks,
    Repulsion,
    Schedule,
    descend,
    push_apart,
    random_start,
    sum_over_row_blocks,
)


class SNE(StochasticEmbedding):
    """Stochastic neighbor embedding: conditional probabilities, Gaussian on both sides.

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

    References
    ----------
    Hinton and Roweis, *Stochastic neighbor embedding*, NIPS 2002.

    Examples
    --------
    >>> SNE(perplexity=2, max_iter=50).embed([[0.0], [1.0], [5.0], [6.0]], 16, rng=0).shape
    (4, 16)
    """

    def _minimizer(
        self, base: Float32Array, points_per_base: float | None
    ) -> partial[DescentResult]:
        return partial(sne)


def sne(
    P: csr_array, n_components: int, rng: np.random.Generator, schedule: Schedule
) -> DescentResult:
    """Minimize the mean of KL(P_i || Q_i) over the points i, with q_j|i ∝ exp(-|y_i - y_j|²).

    The cost leaves out the entropy of P, which is constant.
    """
    m = P.shape[0]
    objective = repulsion.make_gaussian_objective(gaussian_repulsion, gaussian_estimate, m, rng)
    return descend(P, objective, random_start(m, n_components, rng), schedule)


def gaussian_repulsion(Y: Float32Array) -> Repulsion:
    """Return Σ_j (q_j|i + q_i|j) (y_i - y_j) / 2m; its cost is the mean of log Z_i.

    Each point has its own normalizer Z_i = Σ_j exp(-d²). A first pass computes the normalizers, a
    second one the forces.
    """
    gram = GramBlocks(Y)
    log_Z, force = np.empty(len(Y), np.float32), np.empty_like(Y)

    def normalize(rows: slice) -> float:
        log_Z[rows] = _log_sum_exp(neg_sq_distances(gram, rows))
        return float(log_Z[rows].sum(dtype=np.float64))

    def push(rows: slice) -> float:
        exponents = neg_sq_distances(gram, rows)
        weights = np.exp(exponents - log_Z[rows, None])
        weights += np.exp(exponents - log_Z)
        force[rows] = push_apart(Y, rows, weights, weights.sum(axis=1))
        return 0.0

    return _sum_forces(normalize, push, force)


def _sum_forces(
    normalize: Callable[[slice], float], push: Callable[[slice], float], force: Float32Array
) -> Repulsion:
    """Compute the normalizers, then the forces; return their mean over the points."""
    m = len(force)
    cost = sum_over_row_blocks(normalize, m) / m
    sum_over_row_blocks(push, m)
    force *= np.float32(0.5 / m)
    return Repulsion(force, cost)


def neg_sq_distances(gram: GramBlocks, rows: slice) -> Float32Array:
    """Return -|y_i - y_j|² for a block of rows, -∞ on the diagonal."""
    exponents = gram.compute(rows)
    base_points.exponents(exponents, gram.sq_norms, rows.start)
    return exponents


def _log_sum_exp(exponents: Float32Array) -> Float32Array:
    """Return log Σ exp of each row, overwriting the exponents."""
    # Relative to the nearest point; otherwise Z of a point far from all others would underflow.
    nearest = exponents.max(axis=1)
    exponents -= nearest[:, None]
    log_sums: Float32Array = nearest + np.log(np.exp(exponents, out=exponents).sum(axis=1))
    return log_sums


def gaussian_estimate(Y: Float32Array, lists: Int32Array, sample: Int64Array) -> Repulsion:
    """Estimate ``gaussian_repulsion`` from neighbor lists and, for other pairs, a sample."""
    pairs = repulsion.GaussianPairs(Y, lists, sample)
    log_Z, force = np.empty(len(Y), np.float32), np.empty_like(Y)

    def normalize(rows: slice) -> float:
        log_Z[rows] = _log_sum_exp(np.hstack(pairs.exponents(rows)))
        return float(log_Z[rows].sum(dtype=np.float64))

    def push(rows: slice) -> float:
        own = log_Z[rows, None]
        near, far = pairs.exponents(rows)
        # The normalizer of the other point may not include this pair, but q_i|j ≤ 1 must hold.
        returned = np.minimum(near - log_Z[lists[rows]], 0)
        returned_far = np.minimum(far - log_Z[sample], 0)
        force[rows] = pairs.push_apart(
            rows, np.exp(near - own) + np.exp(returned), np.exp(far - own) + np.exp(returned_far)
        )
        return 0.0

    return _sum_forces(normalize, push, force)
