"""Inverted lists: an index of thousands of base points along their principal directions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bitfold._kernels import products
from bitfold._kernels.induction import sq_norms
from bitfold._kernels.shortlist import LANES
from bitfold._types import Float32Array, Int32Array, Int64Array

N_DIRECTIONS = 64
"""Principal directions along which rows are compared with lists."""

MAX_LISTS = 128
"""Maximum number of lists."""

N_ROUNDS = 8
"""Lloyd iterations that place the centers of the lists."""

N_TRIAL_POINTS = 2000
"""Number of points for learning how far away the lists to search may be."""

N_SUBSPACE_ROUNDS = 5
"""Iterations that find the principal directions; the lists work with any directions."""

REACH_RECALL = 0.9993
"""Fraction of the trial points' neighbors that lie in the lists searched for them."""


class InvertedLists(NamedTuple):
    """Base points in lists; the arrays are described in :mod:`bitfold._kernels.shortlist`.

    The directions are None if there are so few features that all are compared.
    """

    directions: Float32Array | None
    centers: Float32Array
    center_sq_norms: Float32Array
    reach: float
    members: Float32Array
    sq_norms: Float32Array
    order: Int32Array
    starts: Int64Array


def midpoints(points: Float32Array, some: Float32Array, nearest: Int32Array) -> Float32Array:
    """Return midpoints of some points and the points next to them, which resemble rows."""
    between: Float32Array = (some + points[nearest]) / np.float32(2)
    return between


def build_lists(points: Float32Array, trial: Float32Array, nearest: Int32Array) -> InvertedLists:
    """Assign base points to lists along their leading principal directions.

    ``reach`` is the squared-distance slack within which lists are searched, chosen so that almost
    all of the ``nearest`` base points of the trial points are found. A model is used on other
    machines than it was fitted on, where the lists are built again. So all sums have a fixed
    order, and all machines build the same lists.
    """
    is_wide = points.shape[1] > 2 * N_DIRECTIONS
    directions = principal_subspace(points, N_DIRECTIONS) if is_wide else None
    projected = points if directions is None else multiply(points, directions)
    centers = projected[np.linspace(0, len(projected) - 1, MAX_LISTS).astype(int)]
    for _ in range(N_ROUNDS):
        part = _score(projected, centers).argmin(axis=1)
        sums = np.zeros_like(centers)
        np.add.at(sums, part, projected)
        sizes = np.bincount(part, minlength=MAX_LISTS)[:, None]
        centers = np.where(sizes > 0, sums / np.maximum(sizes, 1), centers).astype(np.float32)
    part = _score(projected, centers).argmin(axis=1)
    seen = trial if directions is None else multiply(trial, directions)
    scores = _score(seen, centers)
    gaps = np.take_along_axis(scores, part[nearest], axis=1) - scores.min(axis=1, keepdims=True)
    reach = float(np.quantile(gaps, REACH_RECALL))
    packed = _pack(points, projected, part)
    return InvertedLists(directions, centers, sq_norms(centers), reach, *packed)


def multiply(rows: Float32Array, directions: Float32Array) -> Float32Array:
    """Return the inner products of rows and directions, summed in a fixed order."""
    out = np.empty((len(rows), len(directions)), np.float32)
    products.dots(rows, directions, out)
    return out


def _score(projected: Float32Array, centers: Float32Array) -> Float32Array:
    """Return squared distances to the centers, except for the length of the rows."""
    scores: Float32Array = sq_norms(centers) - np.float32(2) * multiply(projected, centers)
    return scores


def _pack(
    points: Float32Array, projected: Float32Array, part: Int64Array
) -> tuple[Float32Array, Float32Array, Int32Array, Int64Array]:
    """Pack the lists into blocks of LANES members.

    Return members, squared norms, indices and the first block of each list.
    """
    n_blocks = -(-np.bincount(part, minlength=MAX_LISTS) // LANES)
    starts = np.concatenate([[0], np.cumsum(n_blocks)])
    members = np.zeros((starts[-1], projected.shape[1], LANES), np.float32)
    norms = np.full((starts[-1], LANES), np.inf, np.float32)
    order = np.full((starts[-1], LANES), -1, np.int32)
    for index, start in enumerate(starts[:-1]):
        own = np.flatnonzero(part == index)
        block, lane = np.divmod(np.arange(len(own)), LANES)
        block += start
        members[block, :, lane] = projected[own]
        norms[block, lane] = sq_norms(points[own])
        order[block, lane] = own
    return members, norms, order, starts


def principal_subspace(points: Float32Array, n: int) -> Float32Array:
    """Approximate the n leading principal directions, one per row, by subspace iteration."""
    columns = np.ascontiguousarray(points.T)
    directions = np.random.default_rng(0).random((n, points.shape[1]), np.float32)
    directions -= np.float32(0.5)
    for _ in range(N_SUBSPACE_ROUNDS):
        coordinates = np.ascontiguousarray(multiply(points, directions).T)
        directions = np.ascontiguousarray(multiply(columns, coordinates).T)
        products.orthonormalize(directions)
    return directions
