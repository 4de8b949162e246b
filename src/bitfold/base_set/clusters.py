"""Clusters: k-means and k-medoids, without empty ones, of any number in any place and scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import faiss
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

FloatArray = NDArray[np.float32]
Indices = NDArray[np.int64]
OnStep = Callable[[int, int], None]

PROJECT_FROM, PROJECTED = 1024, 64
"""Centres beyond which k-means works along this many principal directions."""

_MOST_FILLS = 30
"""Rounds of moving empty centres; a dozen were the most seen, with nine in ten rows repeated."""


def projects(n_features: int, m: int) -> bool:
    """Tell whether k-means works along principal directions: many centres in many dimensions."""
    return m > PROJECT_FROM and n_features > 2 * PROJECTED


def kmeans(
    points: FloatArray,
    m: int,
    n_iter: int,
    rng: np.random.Generator,
    on_step: OnStep | None = None,
) -> FloatArray:
    """K-means by faiss, one Lloyd iteration at a time, without empty clusters.

    Many centres are found along the leading principal directions, which hold most of every
    distance; the centres of what was found are then taken in all dimensions. The points must have
    more than m distinct rows.
    """
    framed = _framed(points)
    if not projects(points.shape[1], m):
        centres = _centres(framed.points, m, n_iter, rng, on_step)
    else:
        seen = framed.points @ _principal(framed.points)
        found = _centres(seen, m, n_iter, rng, on_step)
        _, nearest = faiss.knn(seen, found, 1)
        centres = _means(framed.points, nearest[:, 0], m)
    return (framed.centre + np.float64(framed.scale) * centres).astype(np.float32)


def _centres(
    points: FloatArray, m: int, n_iter: int, rng: np.random.Generator, on_step: OnStep | None
) -> FloatArray:
    seed = int(rng.integers(2**31))
    centres: FloatArray | None = None
    for step in range(n_iter):
        centres = _lloyd(points, m, seed, centres)
        if on_step:
            on_step(step + 1, n_iter)
    assert centres is not None  # n_iter is at least 1
    return _fill_empty(points, centres)


def _principal(points: FloatArray) -> FloatArray:
    """Return the leading principal directions as columns; some points suffice."""
    some = points[:: max(1, len(points) // 10_000)]
    _, _, directions = randomized_svd(some - some.mean(axis=0), PROJECTED, random_state=0)
    return np.ascontiguousarray(directions.T, np.float32)


def _means(points: FloatArray, cluster: Indices, m: int) -> FloatArray:
    """Return the mean of each cluster, none of which is empty."""
    sizes = np.bincount(cluster, minlength=m)
    order = np.argsort(cluster, kind="stable")
    starts = np.cumsum(sizes) - sizes
    means = np.empty((m, points.shape[1]), np.float32)
    for j in range(m):
        means[j] = points[order[starts[j] : starts[j] + sizes[j]]].mean(axis=0, dtype=np.float64)
    return means


class _Framed(NamedTuple):
    """Points as (points - centre) / scale."""

    points: FloatArray
    centre: FloatArray
    scale: np.float32


def _framed(points: FloatArray) -> _Framed:
    """Bring points to where float32 products neither cancel nor overflow, if they are not there.

    Far from the origin |x|² - 2 x·c + |c|² cancels to noise; too large or too small it is not a
    number that faiss could compare.
    """
    some = points[:: max(1, len(points) // 1000)].astype(np.float64)
    centre = np.median(some, axis=0)  # unlike a mean, not led astray by an outlier
    sq_spread = np.median(((some - centre) ** 2).sum(axis=1))
    reach = np.maximum(points.max(axis=0) - centre, centre - points.min(axis=0)).max()
    if centre @ centre <= 4 * sq_spread and 1e-9 < reach < 1e9:
        return _Framed(points, np.zeros(len(centre), np.float32), np.float32(1))
    near = points - centre.astype(np.float32)
    scale = np.float32(np.exp2(np.floor(np.log2(reach))))  # a power of two does not round
    near /= scale
    return _Framed(near, centre.astype(np.float32), scale)


def _lloyd(points: FloatArray, m: int, seed: int, centres: FloatArray | None) -> FloatArray:
    run = faiss.Kmeans(
        points.shape[1],
        m,
        niter=1,
        seed=seed,
        min_points_per_centroid=1,
        max_points_per_centroid=len(points),
        check_input_data_for_NaNs=False,
    )
    run.train(points, init_centroids=centres)
    return np.asarray(run.centroids)


def _fill_empty(points: FloatArray, centres: FloatArray) -> FloatArray:
    """Give every centre at least one point: an empty one moves to the worst served point."""
    for _ in range(_MOST_FILLS):
        distances, nearest = faiss.knn(points, centres, 1)
        empty = np.flatnonzero(np.bincount(nearest[:, 0], minlength=len(centres)) == 0)
        if not len(empty):
            return centres
        worst_served = np.argsort(-distances[:, 0], kind="stable")
        moved = first_distinct(points, worst_served, len(empty))
        centres[empty[: len(moved)]] = points[moved]
    return centres


def first_distinct(points: FloatArray, order: Indices, count: int) -> Indices:
    """Return the first ``count`` indices along ``order`` that have distinct points."""
    # Duplicates are rare: comparing a few more than wanted is far cheaper than comparing all.
    for size in (2 * count, 16 * count, len(order)):
        _, first = np.unique(points[order[:size]], axis=0, return_index=True)
        if len(first) >= count:
            break
    return order[np.sort(first)[:count]]


def kmedoids(
    points: FloatArray,
    m: int,
    n_iter: int,
    rng: np.random.Generator,
    on_step: OnStep | None = None,
) -> FloatArray:
    """Alternate assignment and medoids from a K-means start (Park and Jun, 2009)."""
    near = _framed(points).points
    centres = kmeans(near, m, n_iter, rng, on_step)
    medoids = np.empty(0, np.int64)
    for _ in range(n_iter):
        _, nearest = faiss.knn(near, centres, 1)
        # Of each cluster one member: centres that share their nearest sample stay apart.
        moved = _medoids(near, nearest[:, 0], rng)
        if np.array_equal(moved, medoids):
            break
        medoids, centres = moved, near[moved]
    distances, _ = faiss.knn(near, near[medoids], 1)
    farthest = np.argsort(-distances[:, 0], kind="stable")
    # Equal samples may leave a cluster empty; the worst served points make up for it.
    return points[np.sort(first_distinct(points, np.concatenate([medoids, farthest]), m))]


def _medoids(points: FloatArray, cluster: Indices, rng: np.random.Generator) -> Indices:
    """Return the medoid of each cluster that has members, in rising order."""
    order = np.argsort(cluster, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1)
    return np.sort([_medoid(points, members, rng) for members in parts])


def _medoid(points: FloatArray, members: Indices, rng: np.random.Generator) -> int:
    """Return the member with the least total distance to the members (to 512 of a large class)."""
    witnesses = members if len(members) <= 512 else rng.choice(members, 512, replace=False)
    sq_norms = np.einsum("ij,ij->i", points[members], points[members])
    products = points[members] @ points[witnesses].T
    witness_norms = np.einsum("ij,ij->i", points[witnesses], points[witnesses])
    sq = sq_norms[:, None] - 2 * products + witness_norms
    return int(members[np.argmin(np.sqrt(np.maximum(sq, 0)).sum(axis=1))])
