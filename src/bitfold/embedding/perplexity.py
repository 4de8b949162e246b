"""The affinities of the paper, Eq. (11): Gaussian neighbors of a given perplexity."""

from __future__ import annotations

import warnings

import faiss
import numpy as np
from scipy.sparse import csr_array

from bitfold._threads import map_rows
from bitfold._types import Float32Array, Float64Array, Int64Array


def perplexity_affinities(
    base: Float32Array, perplexity: float, n_neighbors: int | None = None
) -> csr_array:
    """Return p_ij of Eq. (11), the symmetrized conditional probabilities of Gaussian neighbors.

    The bandwidth of each point gives its neighbors the perplexity (2 to the entropy).

    Parameters
    ----------
    base
        The base set, one row per base point.
    perplexity
        Effective number of neighbors.
    n_neighbors
        Number of nearest base points that count; None is 3 × perplexity, which leaves out about a
        hundredth of the probability. 20 × perplexity leaves out less than a thousandth.

    Returns
    -------
    A symmetric matrix that sums to 1.

    Examples
    --------
    >>> P = perplexity_affinities(np.array([[0.0], [1.0], [9.0]], np.float32), 1.5)
    >>> bool(P[0, 1] > P[1, 2] > P[0, 2])
    True
    """
    k = n_neighbors or int(np.ceil(3 * perplexity))
    sq_distances, neighbors = _find_neighbors(base, k)
    conditional = _match_perplexity(sq_distances, perplexity)
    m, k = neighbors.shape
    P = csr_array((conditional.ravel(), neighbors.ravel(), np.arange(m + 1) * k), shape=(m, m))
    P = (P + P.T).tocsr() / (2 * m)
    P.sort_indices()
    return P


def _find_neighbors(base: Float32Array, k: int) -> tuple[Float64Array, Int64Array]:
    """Return squared distances and indices of the k nearest others of each base point."""
    m = len(base)
    k = min(k, m - 1)
    # Near the origin and at scale 1, float32 products neither cancel nor overflow; affinities do
    # not depend on either.
    base = base - np.median(base, axis=0).astype(np.float32)
    base /= np.abs(base).max() or np.float32(1)
    distances, indices = map_rows(faiss.knn, base, base, k + 1)
    # Among duplicates, a point need not be the first of its own list.
    own = indices == np.arange(m)[:, None]
    own[~own.any(axis=1), -1] = True
    return distances[~own].reshape(m, k).astype(np.float64), indices[~own].reshape(m, k)


def _match_perplexity(sq_distances: Float64Array, perplexity: float) -> Float64Array:
    """Return normalized rows exp(-β_i d²), with β_i found by bisection of the entropy."""
    k = sq_distances.shape[1]
    if perplexity >= k:
        warnings.warn(
            f"perplexity {perplexity:g} cannot be reached with {k + 1} base points; "
            f"all {k} neighbors of a base point get the same weight.",
            stacklevel=6,
        )
        return np.full_like(sq_distances, 1 / k)
    shifted = sq_distances - sq_distances[:, :1]
    scale = shifted.mean(axis=1, keepdims=True)
    shifted = np.divide(shifted, scale, out=np.zeros_like(shifted), where=scale > 0)
    low, high = np.full((len(shifted), 1), -30.0), np.full((len(shifted), 1), 30.0)
    for _ in range(60):  # halves the range of log2 β below the resolution of float64
        middle = (low + high) / 2
        p: Float64Array = np.exp(-np.exp2(middle) * shifted)
        p /= p.sum(axis=1, keepdims=True)
        entropy = -np.sum(p * np.log(p, out=np.zeros_like(p), where=p > 0), axis=1, keepdims=True)
        too_wide = entropy > np.log(perplexity)
        low, high = np.where(too_wide, middle, low), np.where(too_wide, high, middle)
    return p
