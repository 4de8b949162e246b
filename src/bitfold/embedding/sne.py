"""SNE of the base set: the Gaussian ancestor of t-SNE."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from bitfold._kernels import forces
from bitfold._types import Float32Array, Int32Array, Int64Array
from bitfold.embedding import descent, sampled_repulsion
from bitfold.embedding.stochastic import Minimize, Stochastic


def gaussian_repulsion(Y: Float32Array) -> descent.Push:
    """Σ_j (q_j|i + q_i|j) (y_i - y_j) / 2m; its cost is the mean of log Z_i.

    Each point has its own normalizer Z_i = Σ_j exp(-d²), so that they must all be known before
    the first force: a pass for them, then one for the forces.
    """
    products = descent.Products(Y)
    m = len(Y)
    log_Z, force = np.empty(m, np.float32), np.empty_like(Y)

    def normalize(rows: slice) -> float:
        exponents = neg_sq_distances(products, rows)
        # Relative to the nearest point, or a point far from all others would have Z = 0.
        nearest = exponents.max(axis=1)
        exponents -= nearest[:, None]
        log_Z[rows] = nearest + np.log(np.exp(exponents, out=exponents).sum(axis=1))
        return float(log_Z[rows].sum(dtype=np.float64))

    def push(rows: slice) -> float:
        exponents = neg_sq_distances(products, rows)
        weights = np.exp(exponents - log_Z[rows, None])
        weights += np.exp(exponents - log_Z)
        force[rows] = descent.push_apart(Y, rows, weights, weights.sum(axis=1))
        return 0.0

    cost = descent.over_row_blocks(normalize, m) / m
    descent.over_row_blocks(push, m)
    force *= np.float32(0.5 / m)
    return descent.Push(force, cost)


def neg_sq_distances(products: descent.Products, rows: slice) -> Float32Array:
    """-|y_i - y_j|² for a row block, -∞ on the diagonal: exponents of the Gaussian weights."""
    exponents = products.of(rows)
    forces.exponents(exponents, products.sq_norms, rows.start)
    return exponents


def gaussian_estimate(Y: Float32Array, near: Int32Array, sample: Int64Array) -> descent.Push:
    """As ``gaussian_repulsion``, by the listed pairs and, for all others, by ``sample``."""
    m = len(Y)
    pairs = sampled_repulsion.Gaussian(Y, near, sample)
    log_Z, force = np.empty(m, np.float32), np.empty_like(Y)

    def normalize(rows: slice) -> float:
        exponents = np.hstack(pairs.exponents(rows))
        nearest = exponents.max(axis=1)
        exponents -= nearest[:, None]
        log_Z[rows] = nearest + np.log(np.exp(exponents, out=exponents).sum(axis=1))
        return float(log_Z[rows].sum(dtype=np.float64))

    def push(rows: slice) -> float:
        own = log_Z[rows, None]
        close, far = pairs.exponents(rows)
        # The other point's normalizer may not have met this one, which q_i|j ≤ 1 would need.
        returned = np.minimum(close - log_Z[near[rows]], 0)
        returned_far = np.minimum(far - log_Z[sample], 0)
        force[rows] = pairs.push_apart(
            rows, np.exp(close - own) + np.exp(returned), np.exp(far - own) + np.exp(returned_far)
        )
        return 0.0

    cost = descent.over_row_blocks(normalize, m) / m
    descent.over_row_blocks(push, m)
    force *= np.float32(0.5 / m)
    return descent.Push(force, cost)


def sne(
    P: csr_array, n_components: int, rng: np.random.Generator, schedule: descent.Schedule
) -> descent.Descent:
    """Minimize the mean of KL(P_i || Q_i) over the points i, with q_j|i ∝ exp(-|y_i - y_j|²).

    The cost is exact up to the constant entropy of P.
    """
    objective = sampled_repulsion.objective(
        gaussian_repulsion, gaussian_estimate, P.shape[0], rng, student=False
    )
    start = descent.random_start(P.shape[0], n_components, rng)
    return descent.descend(P, objective, start, schedule)


class SNE(Stochastic):
    """Stochastic neighbor embedding: conditional probabilities, Gaussian on both sides.

    Parameters
    ----------
    perplexity
        Effective number of neighbors of a base point, by distance (the paper's form). None counts
        the neighbors in the training data, where there are 5 for each base point, and is 5 else.
    max_iter
        The most iterations; fewer if the cost stops falling.
    learning_rate
        Step of the descent; None is the number of base points.

    References
    ----------
    Hinton and Roweis, *Stochastic neighbor embedding*, NIPS 2002.
    """

    def _minimizer(self, m: int, points_each: float | None) -> Minimize:
        return sne
