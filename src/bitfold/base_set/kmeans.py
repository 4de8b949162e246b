"""Centers of k-means as base points: the paper's choice."""

from __future__ import annotations

from typing import NamedTuple

import faiss
import numpy as np

from bitfold import _validation
from bitfold._linalg.principal import randomized_directions
from bitfold._types import Float32Array, Int64Array, StepCallback
from bitfold.base_set.base import PROJECTION_DIM, BaseStrategy, first_distinct, is_projected

_MAX_FILL_ROUNDS = 30
"""Rounds of moving empty centers. With 90 % duplicate rows, at most 12 were seen."""


class KMeansBase(BaseStrategy):
    """Centers of k-means, the paper's choice: they have the least distortion.

    Parameters
    ----------
    n_base_points
        Number of base points, or "auto".
    max_iter
        Number of Lloyd iterations.

    Examples
    --------
    >>> KMeansBase(2).choose([[0.0], [1.0], [10.0], [11.0]], rng=0).points.ravel().tolist()
    [0.5, 10.5]
    """

    def __init__(self, n_base_points: int | str = "auto", max_iter: int = 20) -> None:
        super().__init__(n_base_points)
        self.max_iter = max_iter

    def _choose(
        self, sample: Float32Array, m: int, rng: np.random.Generator, on_step: StepCallback | None
    ) -> Float32Array:
        max_iter = _validation.check_integer(self.max_iter, "max_iter", type(self).__name__, low=1)
        return kmeans(sample, m, max_iter, rng, on_step)


def kmeans(
    points: Float32Array,
    m: int,
    max_iter: int,
    rng: np.random.Generator,
    on_step: StepCallback | None = None,
) -> Float32Array:
    """Return the centers of m clusters, none of which is empty.

    Many centers are found along the leading principal directions, which account for most of every
    distance; the means of the clusters are then taken in all dimensions.

    Parameters
    ----------
    points
        Points to cluster, one per row; more than m of them distinct.
    m
        Number of clusters.
    max_iter
        Number of Lloyd iterations.
    rng
        Generator of the initial centers.
    on_step
        Called with (done, total).

    Returns
    -------
    The centers, one per row.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [10.0], [11.0]], np.float32)
    >>> sorted(kmeans(points, 2, 5, np.random.default_rng(0)).ravel().tolist())
    [0.5, 10.5]
    """
    frame = rescale(points)
    if not is_projected(points.shape[1], m):
        centers = _find_centers(frame.points, m, max_iter, rng, on_step)
    else:
        projected = frame.points @ _principal_columns(frame.points)
        found = _find_centers(projected, m, max_iter, rng, on_step)
        _, nearest = faiss.knn(projected, found, 1)
        centers = _cluster_means(frame.points, nearest[:, 0], m)
    return (frame.center + np.float64(frame.scale) * centers).astype(np.float32)


class RescaledPoints(NamedTuple):
    """Points as (points - center) / scale."""

    points: Float32Array
    center: Float32Array
    scale: np.float32


def rescale(points: Float32Array) -> RescaledPoints:
    """Shift and scale points, if needed, so that float32 products neither cancel nor overflow.

    Far from the origin, |x|² - 2 x·c + |c|² cancels to noise; too large or too small, it is not a
    number that faiss can compare.
    """
    some = points[:: max(1, len(points) // 1000)].astype(np.float64)
    center = np.median(some, axis=0)  # unlike the mean, robust against outliers
    sq_spread = np.median(((some - center) ** 2).sum(axis=1))
    reach = np.maximum(points.max(axis=0) - center, center - points.min(axis=0)).max()
    if center @ center <= 4 * sq_spread and 1e-9 < reach < 1e9:
        return RescaledPoints(points, np.zeros(len(center), np.float32), np.float32(1))
    near = points - center.astype(np.float32)
    scale = np.float32(np.exp2(np.floor(np.log2(reach))))  # a power of two does not round
    near /= scale
    return RescaledPoints(near, center.astype(np.float32), scale)


def _find_centers(
    points: Float32Array,
    m: int,
    max_iter: int,
    rng: np.random.Generator,
    on_step: StepCallback | None,
) -> Float32Array:
    """Run Lloyd iterations one at a time, to report each, and fill empty clusters."""
    seed = int(rng.integers(2**31))
    centers: Float32Array | None = None
    for step in range(max_iter):
        centers = _run_lloyd(points, m, seed, centers)
        if on_step:
            on_step(step + 1, max_iter)
    assert centers is not None  # max_iter is at least 1
    return _fill_empty(points, centers)


def _run_lloyd(
    points: Float32Array, m: int, seed: int, centers: Float32Array | None
) -> Float32Array:
    """Run one Lloyd iteration, from random points if there are no centers yet."""
    run = faiss.Kmeans(
        points.shape[1],
        m,
        niter=1,
        seed=seed,
        min_points_per_centroid=1,
        max_points_per_centroid=len(points),
        check_input_data_for_NaNs=False,
    )
    run.train(points, init_centroids=centers)
    return np.asarray(run.centroids)


def _fill_empty(points: Float32Array, centers: Float32Array) -> Float32Array:
    """Move centers without points to the points that are farthest from their center."""
    for _ in range(_MAX_FILL_ROUNDS):
        distances, nearest = faiss.knn(points, centers, 1)
        empty = np.flatnonzero(np.bincount(nearest[:, 0], minlength=len(centers)) == 0)
        if not len(empty):
            return centers
        farthest = np.argsort(-distances[:, 0], kind="stable")
        moved = first_distinct(points, farthest, len(empty))
        centers[empty[: len(moved)]] = points[moved]
    return centers


def _principal_columns(points: Float32Array) -> Float32Array:
    """Return the leading principal directions as columns, from about 10,000 of the points."""
    some = points[:: max(1, len(points) // 10_000)]
    directions = randomized_directions(some - some.mean(axis=0), PROJECTION_DIM)
    return np.ascontiguousarray(directions.T)


def _cluster_means(points: Float32Array, cluster: Int64Array, m: int) -> Float32Array:
    """Return the mean of each cluster, none of which is empty."""
    sizes = np.bincount(cluster, minlength=m)
    order = np.argsort(cluster, kind="stable")
    starts = np.cumsum(sizes) - sizes
    means = np.empty((m, points.shape[1]), np.float32)
    for j in range(m):
        means[j] = points[order[starts[j] : starts[j] + sizes[j]]].mean(axis=0, dtype=np.float64)
    return means
