"""Affinities: who attracts whom in the stochastic and elastic embeddings.

Two ways to know: by the distances between base points, as in the paper, or by counting, in the
training data, which base points are near to the same point.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import faiss
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from bitfold.embedding._base import Neighbours

FloatArray = NDArray[np.float32]


def perplexity_affinities(
    base: FloatArray, perplexity: float, n_neighbors: int | None = None
) -> csr_array:
    """p_ij of Eq. (11): symmetrised conditional probabilities of Gaussian neighbours, sum 1.

    Each point's bandwidth gives its neighbours the wanted perplexity (2 to the entropy).

    Parameters
    ----------
    base
        The base set, one point a row.
    perplexity
        Effective number of neighbours.
    n_neighbors
        How many nearest count; None is 3 × perplexity, which leaves out less than a thousandth.
    """
    sq_distances, neighbours = _neighbours(base, n_neighbors or int(np.ceil(3 * perplexity)))
    conditional = _match_perplexity(sq_distances, perplexity)
    m, k = neighbours.shape
    P = csr_array((conditional.ravel(), neighbours.ravel(), np.arange(m + 1) * k), shape=(m, m))
    P = (P + P.T).tocsr() / (2 * m)
    P.sort_indices()
    return P


def counted_affinities(
    blocks: Iterable[Neighbours], m: int, n_neighbors: int = 12, power: float = 2.0
) -> csr_array:
    """p_ij from the data: how many training points lie between base points i and j.

    A point counts for the pair of its nearest base point and its second, third and fourth. Where
    the data are dense along the way from i to j many points do, and where there is a gap none
    does, however near the two are: the graph follows the manifold. It is the competitive Hebbian
    rule of topology-representing networks.

    Parameters
    ----------
    blocks
        Nearest base points of the training points, at least two of each.
    m
        Number of base points.
    n_neighbors
        Strongest links that a base point keeps.
    power
        Sharpens the counts.

    References
    ----------
    Martinetz and Schulten, *Topology representing networks*, Neural Networks 1994.
    """
    counts = csr_array((m, m))
    for block in blocks:
        others = block.indices[:, 1:4]
        nearest = np.repeat(block.indices[:, 0], others.shape[1])
        ones = np.ones(others.size)
        counts = counts + coo_array((ones, (nearest, others.ravel())), shape=(m, m)).tocsr()
    links = _strongest((counts + counts.T).tocoo(), n_neighbors, power)
    # Each base point shares out the same weight, so that none is left out where data are thin.
    totals = np.asarray(links.sum(axis=1)).ravel()
    conditional = links.multiply(1 / np.maximum(totals, 1e-300)[:, None]).tocsr()
    P = (conditional + conditional.T).tocsr()
    P /= P.sum()
    P.sort_indices()
    return P


def _strongest(counts: coo_array, n_neighbors: int, power: float) -> csr_array:
    """Keep the largest counts of each row, sharpened."""
    order = np.lexsort((counts.col, -counts.data, counts.row))
    row, col, data = counts.row[order], counts.col[order], counts.data[order]
    place = np.arange(len(row)) - np.searchsorted(row, row)
    kept = place < n_neighbors
    values = (data[kept], (row[kept], col[kept]))
    strongest = coo_array(values, shape=counts.shape).tocsr()
    strongest.data **= power
    return strongest


def _neighbours(base: FloatArray, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Squared distances and indices of the k nearest others of each base point."""
    m = len(base)
    k = min(k, m - 1)
    # Near the origin and at scale 1 float32 products neither cancel nor overflow; affinities do
    # not depend on either.
    base = base - np.median(base, axis=0).astype(np.float32)
    base /= np.abs(base).max() or np.float32(1)
    distances, indices = faiss.knn(base, base, k + 1)
    # Among duplicates a point need not come first in its own list.
    own = indices == np.arange(m)[:, None]
    own[~own.any(axis=1), -1] = True
    return distances[~own].reshape(m, k).astype(np.float64), indices[~own].reshape(m, k)


def _match_perplexity(sq_distances: NDArray[np.float64], perplexity: float) -> NDArray[np.float64]:
    """Rows exp(-β_i d²), normalised, with β_i bisected for the wanted entropy."""
    k = sq_distances.shape[1]
    if perplexity >= k:
        warnings.warn(
            f"perplexity {perplexity:g} is out of reach with {k + 1} base points; "
            f"all {k} neighbours of a point count alike.",
            stacklevel=5,
        )
        return np.full_like(sq_distances, 1 / k)
    shifted = sq_distances - sq_distances[:, :1]
    scale = shifted.mean(axis=1, keepdims=True)
    shifted = np.divide(shifted, scale, out=np.zeros_like(shifted), where=scale > 0)
    low, high = np.full((len(shifted), 1), -30.0), np.full((len(shifted), 1), 30.0)
    for _ in range(60):  # halving log2 β's range below float64's resolution of it
        middle = (low + high) / 2
        p = _normalised(shifted, np.exp2(middle))
        entropy = -np.sum(p * np.log(p, out=np.zeros_like(p), where=p > 0), axis=1, keepdims=True)
        too_wide = entropy > np.log(perplexity)
        low, high = np.where(too_wide, middle, low), np.where(too_wide, high, middle)
    return p


def _normalised(shifted: NDArray[np.float64], beta: NDArray[np.float64]) -> NDArray[np.float64]:
    p = np.exp(-beta * shifted)
    normalised: NDArray[np.float64] = p / p.sum(axis=1, keepdims=True)
    return normalised
