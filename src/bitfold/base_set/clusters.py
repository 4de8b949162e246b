"""Clusters: k-means and k-medoids, without empty ones, of any number in any place and scale."""

from __future__ import annotations

from typing import NamedTuple

import faiss
import numpy as np
from sklearn.utils.extmath import randomized_svd

from bitfold._types import Float32Array, Int64Array, StepCallback

PROJECT_FROM, PROJECTED = 1024, 64
"""Centers beyond which k-means works along this many principal directions."""

_MOST_FILLS = 30
"""Rounds of moving empty centers; a dozen were the most seen, with nine in ten rows repeated."""


def projects(n_features: int, m: int) -> bool:
    """Tell whether k-means works along principal directions: many centers in many dimensions."""
    return m > PROJECT_FROM and n_features > 2 * PROJECTED


def kmeans(
    points: Float32Array,
    m: int,
    max_iter: int,
    rng: np.random.Generator,
    on_step: StepCallback | None = None,
) -> Float32Array:
    """K-means by faiss, one Lloyd iteration at a time, without empty clusters.

    Many centers are found along the leading principal directions, which hold most of every
    distance; the centers of what was found are then taken in all dimensions. The points must have
    more than m distinct rows.
    """
    framed = _framed(points)
    if not projects(points.shape[1], m):
        centers = _centers(framed.points, m, max_iter, rng, on_step)
    else:
        seen = framed.points @ _principal(framed.points)
        found = _centers(seen, m, max_iter, rng, on_step)
        _, nearest = faiss.knn(seen, found, 1)
        centers = _means(framed.points, nearest[:, 0], m)
    return (framed.center + np.float64(framed.scale) * centers).astype(np.float32)


def _centers(
    points: Float32Array,
    m: int,
    max_iter: int,
    rng: np.random.Generator,
    on_step: StepCallback | None,
) -> Float32Array:
    seed = int(rng.integers(2**31))
    centers: Float32Array | None = None
    for step in range(max_iter):
        centers = _lloyd(points, m, seed, centers)
        if on_step:
            on_step(step + 1, max_iter)
    assert centers is not None  # max_iter is at least 1
    return _fill_empty(points, centers)


def _principal(points: Float32Array) -> Float32Array:
    """Return the leading principal directions as columns; some points suffice."""
    some = points[:: max(1, len(points) // 10_000)]
    _, _, directions = randomized_svd(some - some.mean(axis=0), PROJECTED, random_state=0)
    return np.ascontiguousarray(directions.T, np.float32)


def _means(points: Float32Array, cluster: Int64Array, m: int) -> Float32Array:
    """Return the mean of each cluster, none of which is empty."""
    sizes = np.bincount(cluster, minlength=m)
    order = np.argsort(cluster, kind="stable")
    starts = np.cumsum(sizes) - sizes
    means = np.empty((m, points.shape[1]), np.float32)
    for j in range(m):
        means[j] = points[order[starts[j] : starts[j] + sizes[j]]].mean(axis=0, dtype=np.float64)
    return means


class _Framed(NamedTuple):
    """Points as (points - center) / scale."""

    points: Float32Array
    center: Float32Array
    scale: np.float32


def _framed(points: Float32Array) -> _Framed:
    """Bring points to where float32 products neither cancel nor overflow, if they are not there.

    Far from the origin |x|² - 2 x·c + |c|² cancels to noise; too large or too small it is not a
    number that faiss could compare.
    """
    some = points[:: max(1, len(points) // 1000)].astype(np.float64)
    center = np.median(some, axis=0)  # unlike a mean, not led astray by an outlier
    sq_spread = np.median(((some - center) ** 2).sum(axis=1))
    reach = np.maximum(points.max(axis=0) - center, center - points.min(axis=0)).max()
    if center @ center <= 4 * sq_spread and 1e-9 < reach < 1e9:
        return _Framed(points, np.zeros(len(center), np.float32), np.float32(1))
    near = points - center.astype(np.float32)
    scale = np.float32(np.exp2(np.floor(np.log2(reach))))  # a power of two does not round
    near /= scale
    return _Framed(near, center.astype(np.float32), scale)


def _lloyd(points: Float32Array, m: int, seed: int, centers: Float32Array | None) -> Float32Array:
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
    """Give every center at least one point: an empty one moves to the worst served point."""
    for _ in range(_MOST_FILLS):
        distances, nearest = faiss.knn(points, centers, 1)
        empty = np.flatnonzero(np.bincount(nearest[:, 0], minlength=len(centers)) == 0)
        if not len(empty):
            return centers
        worst_served = np.argsort(-distances[:, 0], kind="stable")
        moved = first_distinct(points, worst_served, len(empty))
        centers[empty[: len(moved)]] = points[moved]
    return centers


def first_distinct(points: Float32Array, order: Int64Array, count: int) -> Int64Array:
    """Return the first ``count`` indices along ``order`` that have distinct points."""
    # Duplicates are rare: comparing a few more than wanted is far cheaper than comparing all.
    for size in (2 * count, 16 * count, len(order)):
        _, first = np.unique(points[order[:size]], axis=0, return_index=True)
        if len(first) >= count:
            break
    return order[np.sort(first)[:count]]


def kmedoids(
    points: Float32Array,
    m: int,
    max_iter: int,
    rng: np.random.Generator,
    on_step: StepCallback | None = None,
) -> Float32Array:
    """Alternate assignment and medoids from a K-means start (Park and Jun, 2009)."""
    near = _framed(points).points
    centers = kmeans(near, m, max_iter, rng, on_step)
    medoids = np.empty(0, np.int64)
    for _ in range(max_iter):
        _, nearest = faiss.knn(near, centers, 1)
        # Of each cluster one member: centers that share their nearest sample stay apart.
        moved = _medoids(near, nearest[:, 0], rng)
        if np.array_equal(moved, medoids):
            break
        medoids, centers = moved, near[moved]
    distances, _ = faiss.knn(near, near[medoids], 1)
    farthest = np.argsort(-distances[:, 0], kind="stable")
    # Equal samples may leave a cluster empty; the worst served points make up for it.
    return points[np.sort(first_distinct(points, np.concatenate([medoids, farthest]), m))]


def _medoids(points: Float32Array, cluster: Int64Array, rng: np.random.Generator) -> Int64Array:
    """Return the medoid of each cluster that has members, in rising order."""
    order = np.argsort(cluster, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1)
    return np.sort([_medoid(points, members, rng) for members in parts])


def _medoid(points: Float32Array, members: Int64Array, rng: np.random.Generator) -> int:
    """Return the member with the least total distance to the members (to 512 of a large class)."""
    witnesses = members if len(members) <= 512 else rng.choice(members, 512, replace=False)
    sq_norms = np.einsum("ij,ij->i", points[members], points[members])
    products = points[members] @ points[witnesses].T
    witness_norms = np.einsum("ij,ij->i", points[witnesses], points[witnesses])
    sq = sq_norms[:, None] - 2 * products + witness_norms
    return int(members[np.argmin(np.sqrt(np.maximum(sq, 0)).sum(axis=1))])
