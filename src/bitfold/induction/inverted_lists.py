"""Lists to look the nearest of very many base points up in, along a few directions."""

from __future__ import annotations

from typing import NamedTuple

import faiss
import numpy as np
from sklearn.utils.extmath import randomized_svd

from bitfold._kernels.shortlist import LANES
from bitfold._threads import serial_blas
from bitfold._types import Float32Array, Int32Array, Int64Array

DIRECTIONS, LISTS = 64, 128
"""Along how many directions to look, and into how many lists at most."""

ROUNDS = 8
"""Of moving the lists' centers."""

TRIED, FOUND = 2000, 0.9993
"""Points that the lists are tried with, and the share of their nearest within reach."""


class Shortlist(NamedTuple):
    """Very many base points, ready to be looked through: see :mod:`bitfold._kernels.shortlist`."""

    directions: Float32Array
    centers: Float32Array
    center_sq_norms: Float32Array
    reach: float
    members: Float32Array
    sq_norms: Float32Array
    order: Int32Array
    starts: Int64Array


def between_neighbors(points: Float32Array) -> Float32Array:
    """Return points halfway between near base points, as data are."""
    some = points[:: max(1, len(points) // TRIED)]
    pairs = faiss.knn(some, points, 2)[1]
    between: Float32Array = (some + points[pairs[:, 1]]) / np.float32(2)
    return between


def shortlist(points: Float32Array, between: Float32Array, k: int) -> Shortlist:
    """Deal base points out to lists, along their leading principal directions.

    So much farther than the closest list's center, squared, may a list be to be looked into, that
    for nearly all points of ``between`` it has their k nearest.
    """
    # On one thread: the same numbers whatever the number of cores.
    with serial_blas():
        directions = _principal(points)
        seen = points @ directions.T
        centers = seen[np.linspace(0, len(seen) - 1, LISTS).astype(int)]
        for _ in range(ROUNDS):
            part = _closest(seen, centers)
            sums = np.zeros_like(centers)
            np.add.at(sums, part, seen)
            sizes = np.bincount(part, minlength=LISTS)[:, None]
            centers = np.where(sizes > 0, sums / np.maximum(sizes, 1), centers).astype(np.float32)
        part = _closest(seen, centers)
        norms = np.einsum("ij,ij->i", centers, centers)
        scores = norms - 2 * (between @ directions.T) @ centers.T
    nearest = faiss.knn(between, points, k)[1]
    gaps = np.take_along_axis(scores, part[nearest], axis=1) - scores.min(axis=1, keepdims=True)
    reach = float(np.quantile(gaps, FOUND))
    return Shortlist(directions, centers, norms, reach, *_blocks(points, seen, part))


def _blocks(
    points: Float32Array, seen: Float32Array, part: Int64Array
) -> tuple[Float32Array, Float32Array, Int32Array, Int64Array]:
    """Lay lists out in blocks of so many members: theirs, square lengths, numbers; and starts."""
    lanes = LANES
    n_blocks = -(-np.bincount(part, minlength=LISTS) // lanes)
    starts = np.concatenate([[0], np.cumsum(n_blocks)])
    members = np.zeros((starts[-1], seen.shape[1], lanes), np.float32)
    sq_norms = np.full((starts[-1], lanes), np.inf, np.float32)
    order = np.full((starts[-1], lanes), -1, np.int32)
    for index, start in enumerate(starts[:-1]):
        own = np.flatnonzero(part == index)
        block, lane = np.divmod(np.arange(len(own)), lanes)
        block += start
        members[block, :, lane] = seen[own]
        sq_norms[block, lane] = np.einsum("ij,ij->i", points[own], points[own])
        order[block, lane] = own
    return members, sq_norms, order, starts


def _principal(points: Float32Array) -> Float32Array:
    """Return leading principal directions as rows; all coordinates, where there are few."""
    if (width := points.shape[1]) <= 2 * DIRECTIONS:
        return np.eye(width + -width % 4, width, dtype=np.float32)  # the kernel goes by fours
    _, _, directions = randomized_svd(points, DIRECTIONS, random_state=0)
    return np.ascontiguousarray(directions, np.float32)


def _closest(seen: Float32Array, centers: Float32Array) -> Int64Array:
    norms = np.einsum("ij,ij->i", centers, centers)
    closest: Int64Array = np.argmin(norms - 2 * seen @ centers.T, axis=1)
    return closest
