"""Medoids as base points: the training row of each cluster that is closest to the others."""

from __future__ import annotations

import faiss
import numpy as np

from bitfold import _validation
from bitfold._threads import map_rows
from bitfold._types import Float32Array, Int64Array, StepCallback
from bitfold.base_set.base import BaseStrategy, first_distinct
from bitfold.base_set.kmeans import kmeans, rescale

MAX_REFERENCE_POINTS = 512
"""Members of a cluster to which the distances of a candidate are summed."""


class KMedoidsBase(BaseStrategy):
    """Medoids: the training row of each cluster with the least total distance to the others.

    They start from k-means and alternate between assignment and choice of medoids (Park and Jun,
    2009). Unlike the centers of k-means they are real rows, as in the paper's K-medians.

    Parameters
    ----------
    n_base_points
        Number of base points, or "auto".
    max_iter
        Number of k-means iterations, and maximum number of medoid iterations.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> KMedoidsBase(2).choose(X, rng=0).points.ravel().tolist()
    [1.0, 11.0]
    """

    def __init__(self, n_base_points: int | str = "auto", max_iter: int = 20) -> None:
        super().__init__(n_base_points)
        self.max_iter = max_iter

    def _choose(
        self, sample: Float32Array, m: int, rng: np.random.Generator, on_step: StepCallback | None
    ) -> Float32Array:
        max_iter = _validation.check_integer(self.max_iter, "max_iter", type(self).__name__, low=1)
        return kmedoids(sample, m, max_iter, rng, on_step)


def kmedoids(
    points: Float32Array,
    m: int,
    max_iter: int,
    rng: np.random.Generator,
    on_step: StepCallback | None = None,
) -> Float32Array:
    """Return the medoids of m clusters.

    Parameters
    ----------
    points
        Points to cluster, one per row; more than m of them distinct.
    m
        Number of clusters.
    max_iter
        Number of k-means iterations, and maximum number of medoid iterations.
    rng
        Generator of the initial centers.
    on_step
        Called with (done, total) during k-means.

    Returns
    -------
    The medoids, one per row, in the order of the points.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], np.float32)
    >>> kmedoids(points, 2, 5, np.random.default_rng(0)).ravel().tolist()
    [1.0, 11.0]
    """
    near = rescale(points).points
    centers = kmeans(near, m, max_iter, rng, on_step)
    medoids = np.empty(0, np.int64)
    for _ in range(max_iter):
        _, nearest = map_rows(faiss.knn, near, centers, 1)
        moved = _find_medoids(near, nearest[:, 0], rng)
        if np.array_equal(moved, medoids):
            break
        medoids, centers = moved, near[moved]
    distances, _ = map_rows(faiss.knn, near, near[medoids], 1)
    farthest = np.argsort(-distances[:, 0], kind="stable")
    # Equal points may leave clusters empty; the points farthest from a medoid replace them.
    return points[np.sort(first_distinct(points, np.concatenate([medoids, farthest]), m))]


def _find_medoids(
    points: Float32Array, cluster: Int64Array, rng: np.random.Generator
) -> Int64Array:
    """Return the medoid of each cluster that has members, ascending."""
    order = np.argsort(cluster, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1)
    return np.sort([_find_medoid(points, members, rng) for members in parts])


def _find_medoid(points: Float32Array, members: Int64Array, rng: np.random.Generator) -> int:
    """Return the member with the least total distance to the members, or to a sample of them."""
    others = members
    if len(members) > MAX_REFERENCE_POINTS:
        others = rng.choice(members, MAX_REFERENCE_POINTS, replace=False)
    sq_norms = np.einsum("ij,ij->i", points[members], points[members])
    products = points[members] @ points[others].T
    other_norms = np.einsum("ij,ij->i", points[others], points[others])
    sq = sq_norms[:, None] - 2 * products + other_norms
    return int(members[np.argmin(np.sqrt(np.maximum(sq, 0)).sum(axis=1))])
