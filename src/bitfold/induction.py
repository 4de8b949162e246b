"""Step 3, induction: every point is the weighted mean of its nearest base points (Eq. 8-10)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import faiss
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from bitfold._kernels import nearest as _nearest
from bitfold._kernels import products
from bitfold._kernels import shortlist as _shortlist
from bitfold._kernels.threads import scratch, serial_blas

FloatArray = NDArray[np.float32]

MANY, MOST_NEAREST = 2048, 8
"""Base points beyond which only some are looked at, for so many nearest at most."""

DIRECTIONS, LISTS, KEPT = 64, 128, 18
"""Along how many directions to look, into how many lists at most, and how many to measure."""

ROUNDS = 8
"""Of moving the lists' centres."""

TRIED, FOUND, AGREE = 2000, 0.9993, 0.995
"""Points that the lists are tried with, the share of their nearest within reach, and the share of
those found below which all base points are looked at after all."""


class Neighbours(NamedTuple):
    """The k nearest base points of each row, nearest first, ties by index."""

    indices: NDArray[np.int32]
    sq_distances: NDArray[np.float64]


class Shortlist(NamedTuple):
    """Very many base points, ready to be looked through: see :mod:`bitfold._kernels.shortlist`."""

    directions: FloatArray
    centres: FloatArray
    centre_sq_norms: FloatArray
    reach: float
    members: FloatArray
    sq_norms: FloatArray
    order: NDArray[np.int32]
    starts: NDArray[np.int64]


@dataclass(frozen=True)
class BaseSet:
    """The base set B and the k nearest of it that carry a point.

    Base points and rows are relative to the same centre (see :mod:`bitfold._rows`). Of more than
    ``MANY`` base points, those that are found agree with the nearest in 99.5 % and more.
    """

    points: FloatArray
    k: int

    @property
    def width(self) -> int:
        """How many floats a row needs while its neighbours are looked for."""
        return len(self.points) if self._lists is None else LISTS

    @cached_property
    def _transposed(self) -> FloatArray:
        return np.ascontiguousarray(self.points.T)

    @cached_property
    def _sq_norms(self) -> FloatArray:
        sq_norms: FloatArray = np.einsum("ij,ij->i", self.points, self.points)
        return sq_norms

    @cached_property
    def _lists(self) -> Shortlist | None:
        """Lists to look into; None where base points are few, or lists would miss too many."""
        if len(self.points) <= MANY or self.k > MOST_NEAREST:
            return None
        between = between_neighbours(self.points)
        lists = shortlist(self.points, between, self.k)
        shape = (len(between), self.k)
        exact, found = (Neighbours(np.empty(shape, np.int32), np.empty(shape)) for _ in range(2))
        self._measure(between, exact)
        self._look(between, found, lists)
        agree = (found.indices[:, :, None] == exact.indices[:, None]).any(axis=1).mean()
        return lists if agree >= AGREE else None

    def neighbours(self, rows: FloatArray) -> Neighbours:
        """Find the k nearest base points of each row of a block."""
        shape = (len(rows), min(self.k, len(self.points)))
        found = Neighbours(np.empty(shape, np.int32), np.empty(shape, np.float64))
        if self._lists is None:
            self._measure(rows, found)
        else:
            self._look(rows, found, self._lists)
        return found

    def _measure(self, rows: FloatArray, found: Neighbours) -> None:
        """Look at all base points."""
        # A point too far for float32 overflows here and is measured in float64 instead.
        with np.errstate(over="ignore", invalid="ignore"):
            scores = scratch("products", (len(rows), len(self.points)))
            np.matmul(rows, self._transposed, out=scores)
        _nearest.nearest(rows, scores, self.points, self._sq_norms, *found)

    def _look(self, rows: FloatArray, found: Neighbours, lists: Shortlist) -> None:
        """Look at some base points, and closely at a short list of them."""
        seen = scratch("seen", (len(rows), len(lists.directions)))
        products.dots(rows, lists.directions, seen)
        scores = scratch("scores", (len(rows), len(lists.centres)))
        products.dots(seen, lists.centres, scores)
        _shortlist.nearest_of_some(rows, seen, scores, *lists[2:], KEPT, self.points, *found)

    def induce(self, rows: FloatArray, embedding: FloatArray, bandwidth: float) -> FloatArray:
        """Eq. (8): embed a block of rows, each by itself.

        Parameters
        ----------
        rows
            The block, float32.
        embedding
            Embedding of the base points, one a row.
        bandwidth
            σ of the weights exp(-d²/σ²).
        """
        out = np.empty((len(rows), embedding.shape[1]), np.float32)
        _nearest.weighted_mean(*self.neighbours(rows), bandwidth, embedding, out)
        return out


def between_neighbours(points: FloatArray) -> FloatArray:
    """Return points halfway between near base points, as data are."""
    some = points[:: max(1, len(points) // TRIED)]
    pairs = faiss.knn(some, points, 2)[1]
    between: FloatArray = (some + points[pairs[:, 1]]) / np.float32(2)
    return between


def shortlist(points: FloatArray, between: FloatArray, k: int) -> Shortlist:
    """Deal base points out to lists, along their leading principal directions.

    So much farther than the closest list's centre, squared, may a list be to be looked into, that
    for nearly all points of ``between`` it has their k nearest.
    """
    # On one thread: the same numbers whatever the number of cores.
    with serial_blas():
        directions = _principal(points)
        seen = points @ directions.T
        centres = seen[np.linspace(0, len(seen) - 1, LISTS).astype(int)]
        for _ in range(ROUNDS):
            part = _closest(seen, centres)
            sums = np.zeros_like(centres)
            np.add.at(sums, part, seen)
            sizes = np.bincount(part, minlength=LISTS)[:, None]
            centres = np.where(sizes > 0, sums / np.maximum(sizes, 1), centres).astype(np.float32)
        part = _closest(seen, centres)
        norms = np.einsum("ij,ij->i", centres, centres)
        scores = norms - 2 * (between @ directions.T) @ centres.T
    nearest = faiss.knn(between, points, k)[1]
    gaps = np.take_along_axis(scores, part[nearest], axis=1) - scores.min(axis=1, keepdims=True)
    reach = float(np.quantile(gaps, FOUND))
    return Shortlist(directions, centres, norms, reach, *_blocks(points, seen, part))


def _blocks(
    points: FloatArray, seen: FloatArray, part: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray, NDArray[np.int32], NDArray[np.int64]]:
    """Lay lists out in blocks of so many members: theirs, square lengths, numbers; and starts."""
    lanes = _shortlist.LANES
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


def _principal(points: FloatArray) -> FloatArray:
    """Return leading principal directions as rows; all coordinates, where there are few."""
    if (width := points.shape[1]) <= 2 * DIRECTIONS:
        return np.eye(width + -width % 4, width, dtype=np.float32)  # the kernel goes by fours
    _, _, directions = randomized_svd(points, DIRECTIONS, random_state=0)
    return np.ascontiguousarray(directions, np.float32)


def _closest(seen: FloatArray, centres: FloatArray) -> NDArray[np.int64]:
    norms = np.einsum("ij,ij->i", centres, centres)
    closest: NDArray[np.int64] = np.argmin(norms - 2 * seen @ centres.T, axis=1)
    return closest


def learn_bandwidth(neighbours: Neighbours, m: int = 1) -> float:
    """σ of the weights: σ² is how much farther, squared, the k nearest lie than the nearest.

    In the quotient of Eq. (8) only differences of squared distances count, so their mean is the
    scale: noise in directions of its own, which adds the same to all distances, changes nothing.
    Of more than a thousand base points the k nearest are closer than a neighbourhood is wide; σ
    then reaches beyond them, by the cube root of the thousands.
    """
    d = neighbours.sq_distances
    sigma = float(np.sqrt(np.mean(d - d[:, :1]))) * max(1.0, float(np.cbrt(m / 1000)))
    # One neighbour, or all of them equally far: any σ gives the same mean.
    return sigma if sigma > 0 else 1.0
