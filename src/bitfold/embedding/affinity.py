"""Affinities: who attracts whom in the stochastic and elastic embeddings.

Two ways to know: by the distances between base points, as in the paper, or by counting, in the
training data, which base points are near to the same point.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import reduce
from operator import matmul

import faiss
import numpy as np
from scipy.sparse import coo_array, csr_array

from bitfold._types import Float32Array, Float64Array, Int64Array
from bitfold.embedding.base import Neighbors

_PAIRS_AT_ONCE = 4 << 20
"""Pairs of base points that wait to be counted."""


def perplexity_affinities(
    base: Float32Array, perplexity: float, n_neighbors: int | None = None
) -> csr_array:
    """p_ij of Eq. (11): symmetrized conditional probabilities of Gaussian neighbors, sum 1.

    Each point's bandwidth gives its neighbors the wanted perplexity (2 to the entropy).

    Parameters
    ----------
    base
        The base set, one point a row.
    perplexity
        Effective number of neighbors.
    n_neighbors
        How many nearest count; None is 3 × perplexity, which leaves out less than a thousandth.
    """
    sq_distances, neighbors = _neighbors(base, n_neighbors or int(np.ceil(3 * perplexity)))
    conditional = _match_perplexity(sq_distances, perplexity)
    m, k = neighbors.shape
    P = csr_array((conditional.ravel(), neighbors.ravel(), np.arange(m + 1) * k), shape=(m, m))
    P = (P + P.T).tocsr() / (2 * m)
    P.sort_indices()
    return P


def counted_affinities(
    blocks: Iterable[Neighbors], m: int, n_neighbors: int = 12, power: float = 3.0, steps: int = 1
) -> csr_array:
    """p_ij from the data: how many training points lie between base points i and j.

    A point counts for the pair of its nearest base point and its second, third and fourth. Where
    the data are dense along the way from i to j many points do, and where there is a gap none
    does, however near the two are: the graph follows the manifold. It is the competitive Hebbian
    rule of topology-representing networks. Counts are relative to how many points the two have,
    as in a cosine, or base points in dense regions would be everybody's neighbors.

    Parameters
    ----------
    blocks
        Nearest base points of the training points, at least two of each.
    m
        Number of base points.
    n_neighbors
        Strongest links that a base point keeps.
    power
        Sharpens the links.
    steps
        Links that a random walk goes; more than one smooths out what few points count badly.

    References
    ----------
    Martinetz and Schulten, *Topology representing networks*, Neural Networks 1994.
    """
    links = _shared_points(blocks, m)
    if steps > 1:
        walk = _rows_sum_to_one(links)
        links = reduce(matmul, [walk] * steps)
    conditional = _rows_sum_to_one(_strongest((links + links.T).tocoo(), n_neighbors, power))
    # Each base point shares out the same weight, so that none is left out where data are thin.
    P = (conditional + conditional.T).tocsr()
    P /= P.sum()
    P.sort_indices()
    return P


def _shared_points(blocks: Iterable[Neighbors], m: int) -> csr_array:
    """Count the points between each two base points, relative to what the two have."""
    sizes = np.ones(m)  # one more than it has, so that nothing is divided by zero
    pairs, times = np.empty(0, np.int64), np.empty(0, np.int64)
    waiting: list[Int64Array] = []
    for block in blocks:
        nearest = block.indices[:, :1].astype(np.int64)
        sizes += np.bincount(nearest[:, 0], minlength=m)
        waiting.append((nearest * m + block.indices[:, 1:4]).ravel())
        if sum(map(len, waiting)) > _PAIRS_AT_ONCE:
            pairs, times = _tallied(pairs, times, waiting)
            waiting = []
    pairs, times = _tallied(pairs, times, waiting)
    i, j = np.divmod(pairs, m)
    shared = csr_array((times / np.sqrt(sizes[i] * sizes[j]), (i, j)), shape=(m, m))
    return (shared + shared.T).tocsr()


def _tallied(
    pairs: Int64Array, times: Int64Array, waiting: list[Int64Array]
) -> tuple[Int64Array, Int64Array]:
    """Add pairs that wait to be counted to those that were."""
    if not waiting:
        return pairs, times
    fresh, count = np.unique(np.concatenate(waiting), return_counts=True)
    all_pairs, place = np.unique(np.concatenate([pairs, fresh]), return_inverse=True)
    total = np.bincount(place, np.concatenate([times, count]))
    return all_pairs, total.astype(np.int64)


def _rows_sum_to_one(links: csr_array) -> csr_array:
    totals = np.asarray(links.sum(axis=1)).ravel()
    return links.multiply(1 / np.maximum(totals, 1e-300)[:, None]).tocsr()


def _strongest(links: coo_array, n_neighbors: int, power: float) -> csr_array:
    """Keep the strongest links of each row to others, sharpened."""
    others = links.row != links.col
    row, col, data = links.row[others], links.col[others], links.data[others]
    order = np.lexsort((col, -data, row))
    row, col, data = row[order], col[order], data[order]
    place = np.arange(len(row)) - np.searchsorted(row, row)
    kept = place < n_neighbors
    values = (data[kept] ** power, (row[kept], col[kept]))
    return coo_array(values, shape=links.shape).tocsr()


def _neighbors(base: Float32Array, k: int) -> tuple[Float64Array, Int64Array]:
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


def _match_perplexity(sq_distances: Float64Array, perplexity: float) -> Float64Array:
    """Rows exp(-β_i d²), normalized, with β_i bisected for the wanted entropy."""
    k = sq_distances.shape[1]
    if perplexity >= k:
        warnings.warn(
            f"perplexity {perplexity:g} is out of reach with {k + 1} base points; "
            f"all {k} neighbors of a point count alike.",
            stacklevel=5,
        )
        return np.full_like(sq_distances, 1 / k)
    shifted = sq_distances - sq_distances[:, :1]
    scale = shifted.mean(axis=1, keepdims=True)
    shifted = np.divide(shifted, scale, out=np.zeros_like(shifted), where=scale > 0)
    low, high = np.full((len(shifted), 1), -30.0), np.full((len(shifted), 1), 30.0)
    for _ in range(60):  # halving log2 β's range below float64's resolution of it
        middle = (low + high) / 2
        p = _normalized(shifted, np.exp2(middle))
        entropy = -np.sum(p * np.log(p, out=np.zeros_like(p), where=p > 0), axis=1, keepdims=True)
        too_wide = entropy > np.log(perplexity)
        low, high = np.where(too_wide, middle, low), np.where(too_wide, high, middle)
    return p


def _normalized(shifted: Float64Array, beta: Float64Array) -> Float64Array:
    p = np.exp(-beta * shifted)
    normalized: Float64Array = p / p.sum(axis=1, keepdims=True)
    return normalized
