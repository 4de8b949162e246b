"""Neighbor graphs of a few thousand points: distances, Gaussian or cosine weights, Laplacians."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from sklearn import metrics
from sklearn.neighbors import NearestNeighbors

from bitfold._types import Float64Array, FloatingArray, IntpArray

MIN_LENGTH = 1e-300
"""Length of the edge between equal points; scipy treats a zero as no edge."""

MIN_WEIGHT = 1e-8
"""Smallest weight of an edge. In float64, a Laplacian would lose smaller ones, and a base point
far from all others would be disconnected."""


class PointNeighbors(NamedTuple):
    """The nearest other points of each point, nearest first."""

    indices: IntpArray
    distances: Float64Array


def center_points(points: FloatingArray) -> Float64Array:
    """Return the points relative to their mean, where |x|² - 2 x·y + |y|² cancels least."""
    centered: Float64Array = np.array(points, np.float64)
    centered -= centered.mean(axis=0)
    return centered


def find_neighbors(points: FloatingArray, n_neighbors: int) -> PointNeighbors:
    """Find the nearest other points of each point; all others if there are fewer."""
    centered = center_points(points)
    finder = NearestNeighbors(n_neighbors=min(n_neighbors, len(centered) - 1), algorithm="brute")
    distances, indices = finder.fit(centered).kneighbors()
    return PointNeighbors(indices, _clear_rounding(distances, centered))


def pairwise_distances(points: FloatingArray) -> Float64Array:
    """Return the distances between all points."""
    centered = center_points(points)
    return _clear_rounding(metrics.pairwise_distances(centered), centered)


def _clear_rounding(distances: Float64Array, points: Float64Array) -> Float64Array:
    """Set to zero the distances that are only rounding errors of |x|² - 2 x·y + |y|²."""
    rounding = 1e-7 * np.sqrt(np.square(points).sum(axis=1).max())
    return np.where(distances <= rounding, 0.0, distances)


def mean_neighbor_distance(neighbors: PointNeighbors) -> float:
    """Return the mean distance to the farthest of the neighbors: the default σ.

    If duplicates make it zero, return the mean of the other distances, or 1 if there are none.
    """
    farthest = neighbors.distances[:, -1].mean()
    positive = neighbors.distances[neighbors.distances > 0]
    return float(farthest or (positive.mean() if positive.size else 1.0))


def gaussian_weights(distances: Float64Array, bandwidth: float) -> Float64Array:
    """Return w = exp(-d²/σ²) of Eq. (1), at least ``MIN_WEIGHT``."""
    with np.errstate(over="ignore"):
        return np.maximum(np.exp(-np.square(distances / bandwidth)), MIN_WEIGHT)


def sparse_rows(
    columns: NDArray[np.integer[Any]], values: Float64Array, n_columns: int
) -> sparse.csr_array:
    """Return the matrix with values[i, j] in row i and column columns[i, j]."""
    n, k = columns.shape
    starts = np.arange(0, n * k + 1, k)
    return sparse.csr_array((values.ravel(), columns.ravel(), starts), shape=(n, n_columns))


def distance_graph(points: FloatingArray, n_neighbors: int) -> sparse.csr_array:
    """Return the connected symmetric graph of distances between neighbors."""
    return _connect(_link_neighbors(find_neighbors(points, n_neighbors)), points)


def gaussian_graph(
    points: FloatingArray, n_neighbors: int, bandwidth: float | None = None
) -> sparse.csr_array:
    """Return W_B, the connected symmetric graph with the weights of Eq. (1).

    Parameters
    ----------
    points
        The base set, one row per base point.
    n_neighbors
        Number of points to which each point is linked; at most all others.
    bandwidth
        σ; None is the mean distance to the farthest neighbor.

    Returns
    -------
    A symmetric matrix of weights.
    """
    neighbors = find_neighbors(points, n_neighbors)
    graph = _connect(_link_neighbors(neighbors), points)
    graph.data = gaussian_weights(graph.data, bandwidth or mean_neighbor_distance(neighbors))
    return graph


def cosine_graph(points: FloatingArray, n_neighbors: int) -> sparse.csr_array:
    """Return the connected symmetric graph of nearest points by cosine, weighted by cosines.

    Parameters
    ----------
    points
        Points as they are: cosines are taken at the origin. A zero has the cosine 0 with all.
    n_neighbors
        Number of points to which each point is linked; at most all others.

    Returns
    -------
    A symmetric matrix of weights, at least ``MIN_WEIGHT``.
    """
    lengths = np.linalg.norm(np.asarray(points, np.float64), axis=1, keepdims=True)
    unit = points / np.where(lengths > 0, lengths, 1)
    # The nearest of points of unit length are those with the largest cosines.
    graph = _connect(_link_neighbors(find_neighbors(unit, n_neighbors)), unit).tocoo()
    squares = np.square(unit).sum(axis=1)
    cosines = (squares[graph.row] + squares[graph.col] - np.square(graph.data)) / 2
    graph.data = np.maximum(cosines, MIN_WEIGHT)
    return graph.tocsr()


def laplacian(weights: sparse.csr_array) -> Float64Array:
    """Return D - W as a dense matrix."""
    dense: Float64Array = csgraph.laplacian(weights).toarray()
    return dense


def _link_neighbors(neighbors: PointNeighbors) -> sparse.csr_array:
    """Return the symmetric graph with an edge where either point is a neighbor of the other."""
    lengths = np.maximum(neighbors.distances, MIN_LENGTH)
    graph = sparse_rows(neighbors.indices, lengths, len(lengths))
    return graph.maximum(graph.T)


def _connect(graph: sparse.csr_array, points: FloatingArray) -> sparse.csr_array:
    """Add the shortest edges that connect a graph of distances.

    They are the minimum spanning tree of its components. The distance of two components is that
    of their closest points. A connected graph is returned unchanged.
    """
    n_components, component = csgraph.connected_components(graph, directed=False)
    if n_components == 1:
        return graph
    distances = np.maximum(pairwise_distances(points), MIN_LENGTH)
    members = [np.flatnonzero(component == label) for label in range(n_components)]
    tree = csgraph.minimum_spanning_tree(_component_gaps(distances, component))
    edges = [_closest_pair(distances, members[a], members[b]) for a, b in np.argwhere(tree > 0)]
    i, j = np.transpose(edges)
    added = sparse.csr_array((distances[i, j], (i, j)), shape=graph.shape)
    return graph.maximum(added).maximum(added.T)


def _component_gaps(distances: Float64Array, component: NDArray[np.integer[Any]]) -> Float64Array:
    """Return the shortest distance between every two components."""
    order = np.argsort(component, kind="stable")
    starts = np.flatnonzero(np.diff(component[order], prepend=-1))
    rows = np.minimum.reduceat(distances[order], starts, axis=0)
    gaps: Float64Array = np.minimum.reduceat(rows[:, order], starts, axis=1)
    np.fill_diagonal(gaps, 0)
    return gaps


def _closest_pair(distances: Float64Array, left: IntpArray, right: IntpArray) -> tuple[int, int]:
    """Return the shortest edge between two sets of points."""
    i, j = divmod(int(distances[np.ix_(left, right)].argmin()), len(right))
    return int(left[i]), int(right[j])
