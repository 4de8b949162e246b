"""Inverted lists: an index of thousands of base points along their principal directions."""

from __future__ import annotations

from typing import NamedTuple

import faiss
import numpy as np

from bitfold._kernels.shortlist import LANES
from bitfold._linalg.principal import randomized_directions
from bitfold._threads import serial_blas
from bitfold._types import Float32Array, Int32Array, Int64Array

N_DIRECTIONS = 64
"""Principal directions along which rows are compared with lists."""

MAX_LISTS = 128
"""Maximum number of lists."""

N_ROUNDS = 8
"""Lloyd iterations that place the centers of the lists."""

N_TRIAL_POINTS = 2000
"""Number of points from which the distance of the lists to search is learned."""

REACH_RECALL = 0.9993
"""Fraction of the trial points' neighbors that lie in the lists searched for them."""


class InvertedLists(NamedTuple):
    """Base points in lists; the arrays are described in :mod:`bitfold._kernels.shortlist`."""

    directions: Float32Array
    centers: Float32Array
    center_sq_norms: Float32Array
    reach: float
    members: Float32Array
    sq_norms: Float32Array
    order: Int32Array
    starts: Int64Array


def midpoints(points: Float32Array) -> Float32Array:
    """Return midpoints of base points and their nearest neighbors, which resemble rows."""
    some = points[:: max(1, len(points) // N_TRIAL_POINTS)]
    pairs = faiss.knn(some, points, 2)[1]
    between: Float32Array = (some + points[pairs[:, 1]]) / np.float32(2)
    return between


def build_lists(points: Float32Array, trial: Float32Array, k: int) -> InvertedLists:
    """Assign base points to lists along their leading principal directions.

    ``reach`` is the squared-distance slack within which lists are searched, chosen so that almost
    all of the k nearest base points of the trial points are found.
    """
    # On one thread, so that the numbers do not depend on the number of cores.
    with serial_blas():
        directions = _directions(points)
        projected = points @ directions.T
        centers = projected[np.linspace(0, len(projected) - 1, MAX_LISTS).astype(int)]
        for _ in range(N_ROUNDS):
            part = _closest(projected, centers)
            sums = np.zeros_like(centers)
            np.add.at(sums, part, projected)
            sizes = np.bincount(part, minlength=MAX_LISTS)[:, None]
            centers = np.where(sizes > 0, sums / np.maximum(sizes, 1), centers).astype(np.float32)
        part = _closest(projected, centers)
        norms = np.einsum("ij,ij->i", centers, centers)
        scores = norms - 2 * (trial @ directions.T) @ centers.T
    nearest = faiss.knn(trial, points, k)[1]
    gaps = np.take_along_axis(scores, part[nearest], axis=1) - scores.min(axis=1, keepdims=True)
    reach = float(np.quantile(gaps, REACH_RECALL))
    return InvertedLists(directions, centers, norms, reach, *_pack(points, projected, part))


def _pack(
    points: Float32Array, projected: Float32Array, part: Int64Array
) -> tuple[Float32Array, Float32Array, Int32Array, Int64Array]:
    """Pack the lists into blocks of LANES members.

    Return members, squared norms, indices and the first block of each list.
    """
    n_blocks = -(-np.bincount(part, minlength=MAX_LISTS) // LANES)
    starts = np.concatenate([[0], np.cumsum(n_blocks)])
    members = np.zeros((starts[-1], projected.shape[1], LANES), np.float32)
    sq_norms = np.full((starts[-1], LANES), np.inf, np.float32)
    order = np.full((starts[-1], LANES), -1, np.int32)
    for index, start in enumerate(starts[:-1]):
        own = np.flatnonzero(part == index)
        block, lane = np.divmod(np.arange(len(own)), LANES)
        block += start
        members[block, :, lane] = projected[own]
        sq_norms[block, lane] = np.einsum("ij,ij->i", points[own], points[own])
        order[block, lane] = own
    return members, sq_norms, order, starts


def _directions(points: Float32Array) -> Float32Array:
    """Return principal directions as rows, or all coordinates if there are few."""
    n_features = points.shape[1]
    if n_features <= 2 * N_DIRECTIONS:
        # The kernel takes four directions at a time.
        return np.eye(n_features + -n_features % 4, n_features, dtype=np.float32)
    return randomized_directions(points, N_DIRECTIONS)


def _closest(projected: Float32Array, centers: Float32Array) -> Int64Array:
    norms = np.einsum("ij,ij->i", centers, centers)
    closest: Int64Array = np.argmin(norms - 2 * projected @ centers.T, axis=1)
    return closest
