"""Centers of k-means as base points: the paper's choice."""

from __future__ import annotations

from typing import NamedTuple

import faiss
import numpy as np

from bitfold import _validation
from bitfold._kernels import base_points
from bitfold._linalg.principal import N_DIRECTIONS, is_wide, randomized_directions
from bitfold._threads import map_blocks, map_rows
from bitfold._types import Float32Array, Int32Array, Int64Array, StepCallback
from bitfold.base_set.base import BaseStrategy, first_distinct

_MAX_FILL_ROUNDS = 30
"""Rounds of moving empty centers. With 90 % duplicate rows, at most 12 were seen."""

_MAX_UNPROJECTED_CENTERS = 1024
"""Up to this number of centers, wide data are not projected."""

_N_CANDIDATES = 8
"""Centers per point among which an iteration looks for the nearest."""

_SECOND_SEARCH = 3
"""Iteration in which candidates are searched again, because centers move far at first ..."""

_SEARCH_INTERVAL = 10
"""... and every tenth iteration. Searching in every iteration lowers the inertia by 0.1 %."""

_BLOCK_ROWS = 4096


class KMeansBase(BaseStrategy):
    """Centers of k-means, the paper's choice: they have the least distortion.

    Parameters
    ----------
    n_base_points
        Number of base points; "auto" measures it on held-out rows, see :func:`automatic_size`.
    max_iter
        Number of Lloyd iterations.

    Examples
    --------
    >>> points = KMeansBase(2).choose([[0.0], [1.0], [10.0], [11.0]], rng=0).points
    >>> sorted(points.ravel().tolist())
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

    Many clusters of wide data are found along the leading principal directions, which account for
    most of every distance; their means are then taken in all dimensions.

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
    if m > _MAX_UNPROJECTED_CENTERS and is_wide(points.shape[1]):
        projected = frame.points @ _principal_columns(frame.points)
        _, nearest = _find_centers(projected, m, max_iter, rng, on_step)
        centers = _cluster_means(frame.points, nearest, m)
    else:
        centers, _ = _find_centers(frame.points, m, max_iter, rng, on_step)
    return (frame.center + np.float64(frame.scale) * centers).astype(np.float32)


class Partition(NamedTuple):
    """Centers, and the index of the nearest center of each point."""

    centers: Float32Array
    nearest: Int64Array


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
) -> Partition:
    """Run Lloyd iterations from random points, and fill empty clusters.

    Comparing every point with every center takes nearly all of the time, but after the first
    iterations a point only moves between the centers that are closest to it. So most iterations
    look among a few candidates, which are searched again from time to time.
    """
    centers = points[first_distinct(points, rng.permutation(len(points)), m)]
    nearest = np.empty(len(points), np.int32)
    for step in range(max_iter):
        if step == _SECOND_SEARCH or step % _SEARCH_INTERVAL == 0:
            candidates = _search(points, centers, min(m, _N_CANDIDATES))
            nearest[:] = candidates[:, 0]
        else:
            _assign_to_candidates(points, centers, candidates, nearest)
        centers = _move_centers(points, nearest, centers)
        if on_step:
            on_step(step + 1, max_iter)
    return _fill_empty(points, centers)


def _search(points: Float32Array, centers: Float32Array, k: int) -> Int32Array:
    """Return the k nearest centers of each point, nearest first."""
    return map_rows(faiss.knn, points, centers, k)[1].astype(np.int32)


def _assign_to_candidates(
    points: Float32Array, centers: Float32Array, candidates: Int32Array, nearest: Int32Array
) -> None:
    def assign(start: int) -> None:
        rows = slice(start, start + _BLOCK_ROWS)
        base_points.assign_rows(points[rows], centers, candidates[rows], nearest[rows])

    for _ in map_blocks(assign, range(0, len(points), _BLOCK_ROWS)):
        pass


def _move_centers(points: Float32Array, nearest: Int32Array, centers: Float32Array) -> Float32Array:
    """Return each center moved to the mean of its points; centers without points stay."""
    totals, counts = np.zeros(centers.shape), np.zeros(len(centers))
    base_points.add_rows(points, nearest, np.ones(len(points)), totals, counts)
    means = totals / np.maximum(counts, 1)[:, None]
    return np.where(counts[:, None] > 0, means, centers).astype(np.float32)


def _fill_empty(points: Float32Array, centers: Float32Array) -> Partition:
    """Move centers without points to the points that are farthest from their center."""
    for _ in range(_MAX_FILL_ROUNDS):
        distances, nearest = map_rows(faiss.knn, points, centers, 1)
        empty = np.flatnonzero(np.bincount(nearest[:, 0], minlength=len(centers)) == 0)
        if not len(empty):
            break
        farthest = np.argsort(-distances[:, 0], kind="stable")
        moved = first_distinct(points, farthest, len(empty))
        centers[empty[: len(moved)]] = points[moved]
    return Partition(centers, nearest[:, 0])


def _principal_columns(points: Float32Array) -> Float32Array:
    """Return the leading principal directions as columns, from about 10,000 of the points."""
    some = points[:: max(1, len(points) // 10_000)]
    directions = randomized_directions(some - some.mean(axis=0), N_DIRECTIONS)
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
