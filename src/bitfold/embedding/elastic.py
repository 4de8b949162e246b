"""Elastic embedding of the base set: springs between neighbors, repulsion between all points."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.sparse import csr_array

from bitfold import _validation
from bitfold._linalg.principal import N_DIRECTIONS, is_wide, randomized_directions
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

REPULSIONS = ("uniform", "distance")
"""The weights that pairs of base points can have in the repulsion; the first is the default."""


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
    repulsion
        Weight of a pair of base points in the repulsion. ``"uniform"``: all pairs alike.
        ``"distance"``: its squared distance, as in the original, relative to the mean over all
        pairs, so that the scale of the data does not matter.

    Notes
    -----
    Uniform weights are the default because codes are slightly better: of 10,000 digits of MNIST
    with 64 bits and 400 base points, MAP is 68.9 with them and 67.9 with distances; on CIFAR-10 it
    is 19.2 and 18.5.

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
        repulsion: str = "uniform",
    ) -> None:
        super().__init__(perplexity, max_iter, learning_rate)
        self.strength = strength
        self.repulsion = repulsion

    def _minimizer(
        self, base: Float32Array, points_per_base: float | None
    ) -> partial[DescentResult]:
        owner = type(self).__name__
        strength = _validation.check_positive(self.strength, "strength", owner)
        kind = _validation.check_choice(self.repulsion, "repulsion", owner, REPULSIONS)
        weights = RepulsionWeights(base) if kind == "distance" else None
        return partial(elastic_embedding, strength=strength, weights=weights)


class RepulsionWeights:
    """The weights w⁻ of pairs of base points: their squared distances relative to the mean.

    Parameters
    ----------
    base
        The base set. If it is wide and too large for all pairs, inner products are those along
        its leading principal directions.
    """

    def __init__(self, base: Float32Array) -> None:
        points = base - base.mean(axis=0, dtype=np.float64)
        # The mean over all pairs of different points is 2m / (m - 1) times the variance.
        m = len(points)
        mean = 2 * float(np.square(points).sum()) / max(m - 1, 1)
        scaled = (points / (np.sqrt(mean) or 1.0)).astype(np.float32)
        self._sq_norms = np.einsum("ij,ij->i", scaled, scaled)
        if m > repulsion.MAX_EXACT_POINTS and is_wide(scaled.shape[1]):
            scaled = scaled @ randomized_directions(scaled, N_DIRECTIONS).T
        self._points = scaled

    def between(self, rows: slice, columns: slice | Int64Array) -> Float32Array:
        """Return the weights of some points with some others, (rows, columns)."""
        weights: Float32Array = self._points[rows] @ self._points[columns].T
        weights *= -2
        weights += self._sq_norms[rows, None]
        weights += self._sq_norms[columns]
        return np.maximum(weights, 0, out=weights)

    def listed(self, rows: slice, lists: Int32Array) -> Float32Array:
        """Return the weights of some points with those in their neighbor lists."""
        listed = lists[rows]
        products = np.einsum("nc,nkc->nk", self._points[rows], self._points[listed])
        sums = self._sq_norms[rows, None] + self._sq_norms[listed]
        weights: Float32Array = np.maximum(sums - 2 * products, 0)
        return weights


def elastic_embedding(
    P: csr_array,
    n_components: int,
    rng: np.random.Generator,
    schedule: Schedule,
    strength: float,
    weights: RepulsionWeights | None = None,
) -> DescentResult:
    """Minimize Σ p_ij d² + λ mean w⁻ exp(-d²) over all pairs; without weights, w⁻ is 1."""
    m, all_weights = P.shape[0], None
    if weights is not None and m <= repulsion.MAX_EXACT_POINTS:
        # At most 64 MB; to compute them again at every step would take longer than the step.
        all_weights = weights.between(slice(None), slice(None))
    exact = partial(elastic_repulsion, strength=strength, weights=all_weights)
    estimate = partial(elastic_estimate, strength=strength, weights=weights)
    objective = repulsion.make_gaussian_objective(exact, estimate, m, rng)
    return descend(P, objective, random_start(m, n_components, rng), schedule)


def elastic_repulsion(
    Y: Float32Array, strength: float, weights: Float32Array | None = None
) -> Repulsion:
    """Return λ Σ_j w⁻ exp(-d²) (y_i - y_j), as a mean over all pairs.

    Its cost is λ mean w⁻ exp(-d²). ``weights`` are the w⁻ of all pairs, or None for 1.
    """
    gram = GramBlocks(Y)
    force = np.empty_like(Y)
    share = strength / (len(Y) * (len(Y) - 1))

    def push(rows: slice) -> float:
        # The exponential of numpy is vectorized; that of the compiler is not.
        pushes = np.exp(neg_sq_distances(gram, rows))
        if weights is not None:
            pushes *= weights[rows]
        sums = pushes.sum(axis=1)
        force[rows] = push_apart(Y, rows, pushes, sums)
        return float(sums.sum(dtype=np.float64))

    cost = share * sum_over_row_blocks(push, len(Y))
    force *= np.float32(share)
    return Repulsion(force, cost)


def elastic_estimate(
    Y: Float32Array,
    lists: Int32Array,
    sample: Int64Array,
    strength: float,
    weights: RepulsionWeights | None = None,
) -> Repulsion:
    """Estimate ``elastic_repulsion`` from neighbor lists and, for other pairs, a sample."""
    pairs = repulsion.GaussianPairs(Y, lists, sample)
    force = np.empty_like(Y)
    share = strength / (len(Y) * (len(Y) - 1))

    def push(rows: slice) -> float:
        near, far = map(np.exp, pairs.exponents(rows))
        if weights is not None:
            near *= weights.listed(rows, lists)
            far *= weights.between(rows, sample)
        force[rows] = pairs.push_apart(rows, near, far)
        return float(near.sum(dtype=np.float64) + far.sum(dtype=np.float64))

    cost = share * sum_over_row_blocks(push, len(Y))
    force *= np.float32(share)
    return Repulsion(force, cost)
