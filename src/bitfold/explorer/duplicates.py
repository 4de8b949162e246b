"""Near-duplicates: groups of items whose codes are near that of a representative."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from bitfold._types import Int32Array, Int64Array
from bitfold.explorer.models import IndexedModel
from bitfold.explorer.queries import NotFoundError

MAX_RADIUS_SHARE = 4
"""The radius is at most a quarter of the bits: wider groups are clusters, not duplicates."""

_MAX_CACHED_RADII = 4


class RowGroups(NamedTuple):
    """Groups of rows, largest first; the first row of each is its representative.

    The rows of group i are ``rows[offsets[i]:offsets[i + 1]]``, nearest to the representative
    first, and ``distances`` are their Hamming distances to it.
    """

    offsets: Int64Array
    rows: Int64Array
    distances: Int32Array

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def group(self, number: int) -> tuple[Int64Array, Int32Array]:
        """Return the rows of a group, and their distances."""
        if not 0 <= number < len(self):
            raise NotFoundError(f"Group {number} does not exist; there are {len(self)}.")
        part = slice(int(self.offsets[number]), int(self.offsets[number + 1]))
        return self.rows[part], self.distances[part]

    def at_least(self, min_size: int) -> int:
        """Return the number of groups that are at least this large; they come first."""
        return int(np.count_nonzero(np.diff(self.offsets) >= min_size))


class DuplicateGroups:
    """The groups of one model by radius; the last few are kept.

    Parameters
    ----------
    model
        The model.
    """

    def __init__(self, model: IndexedModel) -> None:
        self._model = model
        self._kept: OrderedDict[int, RowGroups] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def max_radius(self) -> int:
        """Largest radius."""
        return self._model.n_bits // MAX_RADIUS_SHARE

    def find(self, radius: int) -> RowGroups:
        """Return all groups of at least two items within a radius."""
        radius = min(radius, self.max_radius)
        with self._lock:  # one at a time, because each uses all cores
            if radius not in self._kept:
                self._kept[radius] = group_rows(self._model, radius)
            self._kept.move_to_end(radius)
            while len(self._kept) > _MAX_CACHED_RADII:
                self._kept.popitem(last=False)
            return self._kept[radius]


def group_rows(model: IndexedModel, radius: int) -> RowGroups:
    """Group the items whose codes are within a radius of a representative.

    Buckets are in the order of their smallest rows, so grouping the distinct codes gives the same
    representatives as grouping the items.

    Parameters
    ----------
    model
        The model.
    radius
        The largest Hamming distance to the representative.

    Returns
    -------
    RowGroups
        Groups of at least two items, largest first.
    """
    stars = model.bucket_index.clusters(radius, linkage="star", min_size=1)
    center_of = np.empty(model.n_distinct, np.int64)
    center_of[stars.ids] = np.repeat(stars.representatives, stars.sizes)
    sizes = np.bincount(center_of, model.sizes, model.n_distinct).astype(np.int64)
    centers = center_of[model.bucket_of]
    rows = np.flatnonzero(sizes[centers] > 1)
    distances = _measure(model, model.bucket_of[rows], centers[rows])
    # Largest groups first, then by representative, distance and row.
    order = np.lexsort((rows, distances, centers[rows], -sizes[centers[rows]]))
    rows, distances = rows[order], distances[order]
    starts = np.flatnonzero(np.diff(centers[rows], prepend=-1))
    return RowGroups(np.append(starts, len(rows)), rows, distances)


def _measure(model: IndexedModel, buckets: Int32Array, centers: Int64Array) -> Int32Array:
    """Return the Hamming distances of pairs of buckets."""
    words = model.distinct.words()
    distances = np.zeros(len(buckets), np.int32)
    for column in words.T:
        distances += np.bitwise_count(column[buckets] ^ column[centers])
    return distances
