"""IMH-tSNE as the paper's authors ran it, written as plainly as possible: an oracle.

Nothing is approximated, and nothing of bitfold is used: k-means and the bandwidth see all rows, and
t-SNE has affinities between all pairs of base points.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import faiss
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

N_KMEANS_ITER = 10
N_NEIGHBORS = 5
PERPLEXITY = 10
MIN_DIRECTIONS = 20

N_ITER = 1000
N_EXAGGERATED, EXAGGERATION = 100, 4.0
N_SLOW, MOMENTA = 250, (0.5, 0.8)
LEARNING_RATE = 500.0
MIN_GAIN = 0.01
TINY = float(np.finfo(np.float64).tiny)


class PlainCodes(NamedTuple):
    """Bits of the database and of the queries."""

    database: Array
    queries: Array


def encode(
    database: Array, queries: Array, n_bits: int, n_base_points: int, seed: int
) -> PlainCodes:
    """Learn from the database, and return the bits of both."""
    rng = np.random.default_rng(seed)
    X, Q = _to_unit_rows(database), _to_unit_rows(queries)
    base = find_centers(X, n_base_points, rng)
    Y = embed(base.astype(np.float64), n_bits, rng)
    sq_distances, nearest = faiss.knn(X, base, N_NEIGHBORS)
    sigma = np.sqrt(sq_distances[:, -1]).mean()
    return PlainCodes(
        _average(sq_distances, nearest, Y, sigma) > 0,
        _average(*faiss.knn(Q, base, N_NEIGHBORS), Y, sigma) > 0,
    )


def find_centers(X: Array, m: int, rng: np.random.Generator) -> Array:
    """Run k-means from random rows."""
    centers: Array = X[rng.choice(len(X), m, replace=False)]
    for _ in range(N_KMEANS_ITER):
        nearest = faiss.knn(X, centers, 1)[1][:, 0]
        for j in range(m):
            own = X[nearest == j]
            if len(own):
                centers[j] = own.mean(axis=0)
    return centers


def embed(base: Array, n_components: int, rng: np.random.Generator) -> Array:
    """Run t-SNE on the leading principal components."""
    centered = base - base.mean(axis=0)
    directions = np.linalg.svd(centered, full_matrices=False)[2]
    X = centered @ directions[: max(MIN_DIRECTIONS, n_components)].T
    conditional = np.stack([_reach_perplexity(row, i) for i, row in enumerate(_pair_up(X))])
    P = np.maximum((conditional + conditional.T) / (2 * len(X)), TINY)
    Y = 1e-4 * rng.standard_normal((len(X), n_components))
    step, gains = np.zeros_like(Y), np.ones_like(Y)
    for done in range(N_ITER):
        factor = EXAGGERATION if done < N_EXAGGERATED else 1.0
        weights = 1 / (1 + _pair_up(Y))
        np.fill_diagonal(weights, 0)
        forces = (factor * P - np.maximum(weights / weights.sum(), TINY)) * weights
        gradient = 4 * (forces.sum(axis=1)[:, None] * Y - forces @ Y)
        is_same = np.sign(gradient) == np.sign(step)
        gains = np.maximum(np.where(is_same, 0.8 * gains, gains + 0.2), MIN_GAIN)
        step = MOMENTA[done >= N_SLOW] * step - LEARNING_RATE * gains * gradient
        Y = Y + step
        Y -= Y.mean(axis=0)
    return Y


def _reach_perplexity(sq_distances: Array, own: int) -> Array:
    """Return affinities of the given perplexity, by bisection of the precision."""
    others = np.delete(sq_distances, own)
    low, high = 0.0, np.inf
    precision = 1.0
    for _ in range(100):
        weights = np.exp(-precision * (others - others.min()))
        p = weights / weights.sum()
        entropy = -(p * np.log(np.maximum(p, TINY))).sum()
        if entropy > np.log(PERPLEXITY):
            low = precision
        else:
            high = precision
        precision = 2 * precision if high == np.inf else (low + high) / 2
    return np.insert(p, own, 0.0)


def _average(sq_distances: Array, nearest: Array, Y: Array, sigma: float) -> Array:
    """Return the weighted means of the nearest base points, Eq. (8)."""
    weights = np.exp(-sq_distances / sigma**2)
    weights /= weights.sum(axis=1, keepdims=True)
    means: Array = np.einsum("nk,nkd->nd", weights, Y[nearest])
    return means


def _pair_up(X: Array) -> Array:
    """Return squared distances between all rows."""
    sq_norms = np.einsum("ij,ij->i", X, X)
    distances: Array = np.maximum(sq_norms[:, None] + sq_norms - 2 * X @ X.T, 0)
    return distances


def _to_unit_rows(X: Array) -> Array:
    rows = np.asarray(X, np.float32)
    unit: Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit
