"""Elastic embedding of the base set: springs between neighbors, repulsion between all points."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.sparse import csr_array

from bitfold import _validation
from bitfold._types import Float32Array, Int32Array, Int64Array
from bitfold.embedding import repulsion
from bitfold.embedding.base import StochasticEmbedding
from bitfold.embedding.sne import neg_sq_distances
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


class ElasticEmbedding(StochasticEmbedding):
    """Elastic embedding: Laplacian eigenmaps with a repulsion that prevents a collapse.

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
    strength
        λ, the weight of the repulsion. It determines the scale of the embedding.

    References
    ----------
    Carreira-Perpiñán, *The elastic embedding algorithm for dimensionality reduction*, ICML 2010.

    Examples
    --------
    >>> embedding = ElasticEmbedding(perplexity=2, max_iter=50)
    >>> embedding.embed([[0.0], [1.0], [5.0], [6.0]], 16, rng=0).shape
    (4, 16)
    """

    def __init__(
        self,
        perplexity: float | None = None,
        max_iter: int = 400,
        learning_rate: float | None = None,
        strength: float = 1.0,
    ) -> None:
        super().__init__(perplexity, max_iter, learning_rate)
        self.strength = strength

    def _minimizer(self, m: int, points_per_base: float | None) -> partial[DescentResult]:
        strength = _validation.check_positive(self.strength, "strength", type(self).__name__)
        return partial(elastic_embedding, strength=strength)


def elastic_embedding(
    P: csr_array,
    n_components: int,
    rng: np.random.Generator,
    schedule: Schedule,
    strength: float,
) -> DescentResult:
    """Minimize Σ p_ij d² + λ mean exp(-d²) over all pairs."""
    m = P.shape[0]
    exact = partial(elastic_repulsion, strength=strength)
    estimate = partial(elastic_estimate, strength=strength)
    objective = repulsion.make_gaussian_objective(exact, estimate, m, rng)
    return descend(P, objective, random_start(m, n_components, rng), schedule)


def elastic_repulsion(Y: Float32Array, strength: float) -> Repulsion:
    """Return λ Σ_j exp(-d²) (y_i - y_j), as a mean over all pairs; its cost is λ mean exp(-d²)."""
    gram = GramBlocks(Y)
    force = np.empty_like(Y)
    share = strength / (len(Y) * (len(Y) - 1))

    def push(rows: slice) -> float:
        # The exponential of numpy is vectorized; that of the compiler is not.
        weights = np.exp(neg_sq_distances(gram, rows))
        sums = weights.sum(axis=1)
        force[rows] = push_apart(Y, rows, weights, sums)
        return float(sums.sum(dtype=np.float64))

    cost = share * sum_over_row_blocks(push, len(Y))
    force *= np.float32(share)
    return Repulsion(force, cost)


def elastic_estimate(
    Y: Float32Array, lists: Int32Array, sample: Int64Array, strength: float
) -> Repulsion:
    """Estimate ``elastic_repulsion`` from neighbor lists and, for other pairs, a sample."""
    pairs = repulsion.GaussianPairs(Y, lists, sample)
    force = np.empty_like(Y)
    share = strength / (len(Y) * (len(Y) - 1))

    def push(rows: slice) -> float:
        near, far = map(np.exp, pairs.exponents(rows))
        force[rows] = pairs.push_apart(rows, near, far)
        return float(near.sum(dtype=np.float64) + far.sum(dtype=np.float64))

    cost = share * sum_over_row_blocks(push, len(Y))
    force *= np.float32(share)
    return Repulsion(force, cost)
