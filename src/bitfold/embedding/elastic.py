"""Elastic embedding of the base set: springs between neighbors, repulsion between all."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.sparse import csr_array

from bitfold import _validation
from bitfold._types import Float32Array, Int32Array, Int64Array
from bitfold.embedding import descent, sampled_repulsion
from bitfold.embedding.sne import neg_sq_distances
from bitfold.embedding.stochastic import Minimize, Stochastic


def elastic_repulsion(Y: Float32Array, strength: float) -> descent.Push:
    """λ Σ_j exp(-d²) (y_i - y_j), as a mean over the pairs; its cost is λ times that mean."""
    products = descent.Products(Y)
    force = np.empty_like(Y)
    share = strength / (len(Y) * (len(Y) - 1))

    def push(rows: slice) -> float:
        # numpy's exponential is vectorized, the compiler's is not.
        weights = np.exp(neg_sq_distances(products, rows))
        sums = weights.sum(axis=1)
        force[rows] = descent.push_apart(Y, rows, weights, sums)
        return float(sums.sum(dtype=np.float64))

    cost = share * descent.over_row_blocks(push, len(Y))
    force *= np.float32(share)
    return descent.Push(force, cost)


def elastic_estimate(
    Y: Float32Array, near: Int32Array, sample: Int64Array, strength: float
) -> descent.Push:
    """As ``elastic_repulsion``, by the listed pairs and, for all others, by ``sample``."""
    pairs = sampled_repulsion.Gaussian(Y, near, sample)
    force = np.empty_like(Y)
    share = strength / (len(Y) * (len(Y) - 1))

    def push(rows: slice) -> float:
        close, far = map(np.exp, pairs.exponents(rows))
        force[rows] = pairs.push_apart(rows, close, far)
        return float(close.sum(dtype=np.float64) + far.sum(dtype=np.float64))

    cost = share * descent.over_row_blocks(push, len(Y))
    force *= np.float32(share)
    return descent.Push(force, cost)


def elastic_embedding(
    P: csr_array,
    n_components: int,
    rng: np.random.Generator,
    schedule: descent.Schedule,
    strength: float,
) -> descent.Descent:
    """Minimize Σ p_ij d² + λ mean exp(-d²) over all pairs."""
    objective = sampled_repulsion.objective(
        partial(elastic_repulsion, strength=strength),
        partial(elastic_estimate, strength=strength),
        P.shape[0],
        rng,
        student=False,
    )
    start = descent.random_start(P.shape[0], n_components, rng)
    return descent.descend(P, objective, start, schedule)


class ElasticEmbedding(Stochastic):
    """Elastic embedding: Laplacian eigenmaps with a repulsion that keeps points from collapsing.

    Parameters
    ----------
    perplexity
        Effective number of neighbors of a base point, by distance (the paper's form). None counts
        the neighbors in the training data, where there are 5 for each base point, and is 5 else.
    max_iter
        The most iterations; fewer if the cost stops falling.
    learning_rate
        Step of the descent; None is the number of base points.
    strength
        λ, the weight of the repulsion: it sets the scale of the embedding.

    References
    ----------
    Carreira-Perpiñán, *The elastic embedding algorithm for dimensionality reduction*, ICML 2010.
    """

    def __init__(
        self,
        perplexity: float | None = None,
        max_iter: int = 500,
        learning_rate: float | None = None,
        strength: float = 1.0,
    ) -> None:
        super().__init__(perplexity, max_iter, learning_rate)
        self.strength = strength

    def _minimizer(self, m: int, points_each: float | None) -> Minimize:
        strength = _validation.check_positive(self.strength, "strength", type(self).__name__)
        return partial(elastic_embedding, strength=strength)
