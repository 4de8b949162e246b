"""The graph of the base set: who is near whom, how far, and the weight that makes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from bitfold._types import Float64Array, FloatingArray, IntpArray

COINCIDENT = 1e-300
"""Length of the edge between equal points: a zero would be no edge at all to scipy."""

FAINTEST = 1e-8
"""No edge weighs less. Below that a Laplacian in float64 no longer feels it, and a base point
far from all others would fall out of the graph it has been joined to."""


class Nearest(NamedTuple):
    """The nearest other base points of each base point, nearest first."""

    indices: IntpArray
    distances: Float64Array


def centered(base: FloatingArray) -> Float64Array:
    """Return the points around their mean, where |x|² - 2 x·y + |y|² cancels least."""
    points: Float64Array = np.array(base, np.float64)
    points -= points.mean(axis=0)
    return points


def nearest(base: FloatingArray, n_neighbors: int) -> Nearest:
    """Find the n_neighbors nearest other points of each point; all others when there are less."""
    points = centered(base)
    finder = NearestNeighbors(n_neighbors=min(n_neighbors, len(points) - 1), algorithm="brute")
    distances, indices = finder.fit(points).kneighbors()
    return Nearest(indices, _settle(distances, points))


def all_distances(base: FloatingArray) -> Float64Array:
    """Return the m × m distances within the base set."""
    points = centered(base)
    return _settle(pairwise_distances(points), points)


def _settle(distances: Float64Array, points: Float64Array) -> Float64Array:
    """Set to zero what is only the rounding of |x|² - 2 x·y + |y|² between equal points."""
    rounding = 1e-7 * np.sqrt(np.square(points).sum(axis=1).max())
    return np.where(distances <= rounding, 0.0, distances)


def typical_distance(neighbors: Nearest) -> float:
    """Return the mean distance to the farthest of the neighbors: the default σ.

    Where duplicates make it zero, the mean of the other distances; 1 where there are none.
    """
    farthest = neighbors.distances[:, -1].mean()
    apart = neighbors.distances[neighbors.distances > 0]
    return float(farthest or (apart.mean() if apart.size else 1.0))


def gaussian(distances: Float64Array, bandwidth: float) -> Float64Array:
    """Return w = exp(-d²/σ²) of Eq. (1), never below ``FAINTEST``."""
    with np.errstate(over="ignore"):
        return np.maximum(np.exp(-np.square(distances / bandwidth)), FAINTEST)


def sparse_rows(
    columns: NDArray[np.integer[Any]], values: Float64Array, width: int
) -> sparse.csr_array:
    """Return the matrix that holds values[i, j] in row i and column columns[i, j]."""
    n, k = columns.shape
    starts = np.arange(0, n * k + 1, k)
    return sparse.csr_array((values.ravel(), columns.ravel(), starts), shape=(n, width))


def length_graph(neighbors: Nearest) -> sparse.csr_array:
    """Return the symmetric graph of distances: an edge where either point is near the other."""
    lengths = np.maximum(neighbors.distances, COINCIDENT)
    graph = sparse_rows(neighbors.indices, lengths, len(lengths))
    return graph.maximum(graph.T)


def join_components(graph: sparse.csr_array, base: FloatingArray) -> sparse.csr_array:
    """Add the shortest edges that make a graph of distances connected.

    They are the minimum spanning tree of its components, two components being as far apart as
    their closest points; a connected graph comes back as it is.
    """
    n_parts, part = csgraph.connected_components(graph, directed=False)
    if n_parts == 1:
        return graph
    distances = np.maximum(all_distances(base), COINCIDENT)
    members = [np.flatnonzero(part == label) for label in range(n_parts)]
    tree = csgraph.minimum_spanning_tree(_gaps(distances, part))
    bridges = [_closest_pair(distances, members[a], members[b]) for a, b in np.argwhere(tree > 0)]
    i, j = np.transpose(bridges)
    bridge_graph = sparse.csr_array((distances[i, j], (i, j)), shape=graph.shape)
    return graph.maximum(bridge_graph).maximum(bridge_graph.T)


def _gaps(distances: Float64Array, part: NDArray[np.integer[Any]]) -> Float64Array:
    """Return the shortest distance between each two components."""
    order = np.argsort(part, kind="stable")
    starts = np.flatnonzero(np.diff(part[order], prepend=-1))
    rows = np.minimum.reduceat(distances[order], starts, axis=0)
    gaps: Float64Array = np.minimum.reduceat(rows[:, order], starts, axis=1)
    np.fill_diagonal(gaps, 0)
    return gaps


def _closest_pair(distances: Float64Array, left: IntpArray, right: IntpArray) -> tuple[int, int]:
    """Return the shortest edge between two sets of points."""
    i, j = divmod(int(distances[np.ix_(left, right)].argmin()), len(right))
    return int(left[i]), int(right[j])


def neighbor_graph(base: FloatingArray, n_neighbors: int) -> sparse.csr_array:
    """Return the connected graph of distances between near base points."""
    return join_components(length_graph(nearest(base, n_neighbors)), base)


def gaussian_graph(
    base: FloatingArray, n_neighbors: int, bandwidth: float | None = None
) -> sparse.csr_array:
    """Return W_B, the connected symmetric graph with the weights of Eq. (1).

    Parameters
    ----------
    base
        The base set, one point a row.
    n_neighbors
        Points to which each point is linked; at most all others.
    bandwidth
        σ; ``None`` is the mean distance to the farthest of these neighbors.
    """
    neighbors = nearest(base, n_neighbors)
    graph = join_components(length_graph(neighbors), base)
    graph.data = gaussian(graph.data, bandwidth or typical_distance(neighbors))
    return graph


def laplacian(weights: sparse.csr_array) -> Float64Array:
    """Return D - W as a dense matrix."""
    dense: Float64Array = csgraph.laplacian(weights).toarray()
    return dense
