"""The nearest base points of rows: the data structure that the steps of the method share."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bitfold import _validation
from bitfold._kernels import induction, products
from bitfold._kernels import shortlist as _shortlist
from bitfold._linalg.inverted_lists import (
    MAX_LISTS,
    N_TRIAL_POINTS,
    InvertedLists,
    build_lists,
    midpoints,
)
from bitfold._threads import borrow_buffer
from bitfold._types import Float32Array, Float64Array, Int32Array, Int64Array
from bitfold.io.rows import Rows, block_length

__all__ = [
    "NearestBasePoints",
    "NeighborBlocks",
    "Neighbors",
    "count_cooccurrences",
    "index_base_points",
    "mean_kth_distance",
]

MAX_EXHAUSTIVE_POINTS = 2048
"""Up to this number of base points, every row is compared with all of them."""

MAX_LIST_NEIGHBORS = 8
"""Inverted lists are used for at most this number of neighbors."""

N_CANDIDATES = 18
"""Number of base points from the inverted lists that are measured exactly."""

MIN_LIST_RECALL = 0.995
"""Inverted lists that find a smaller share of the nearest base points are not used."""

_MAX_PENDING_PAIRS = 4 << 20
"""Number of pairs of base points that are counted together."""


class Neighbors(NamedTuple):
    """The nearest base points of a block of rows, nearest first, ties by index.

    Examples
    --------
    >>> Neighbors(np.array([[2, 0]], np.int32), np.array([[1.0, 9.0]])).indices.shape
    (1, 2)
    """

    indices: Int32Array
    sq_distances: Float64Array


@dataclass(frozen=True)
class NearestBasePoints:
    """A base set, indexed for finding the k nearest base points of rows.

    The neighbors of a row depend on that row alone, bit for bit. They are exact up to
    ``MAX_EXHAUSTIVE_POINTS`` base points; beyond that, inverted lists find at least 99.5 % of
    them.

    Parameters
    ----------
    points
        The base set, one row per base point, relative to the same center as the rows.
    k
        Number of neighbors, at most the number of base points.
    directions
        Unit directions, one per row. Rows are projected onto them before they are compared with
        the base points, which are given by their coordinates along the directions. None compares
        all features.

    Examples
    --------
    >>> base = NearestBasePoints(np.array([[0.0], [1.0], [5.0]], np.float32), k=2)
    >>> base.find(np.array([[4.0]], np.float32)).indices.tolist()
    [[2, 1]]
    """

    points: Float32Array
    k: int
    directions: Float32Array | None = None

    def __post_init__(self) -> None:
        # The kernels read contiguous rows.
        object.__setattr__(self, "points", np.ascontiguousarray(self.points))

    @property
    def floats_per_row(self) -> int:
        """Temporary floats that finding the neighbors of a row takes."""
        return len(self.points) if self._lists is None else MAX_LISTS

    @cached_property
    def _transposed(self) -> Float32Array:
        return np.ascontiguousarray(self.points.T)

    @cached_property
    def _sq_norms(self) -> Float32Array:
        sq_norms: Float32Array = induction.sq_norms(self.points)
        return sq_norms

    @cached_property
    def _lists(self) -> InvertedLists | None:
        """Inverted lists; None if there are few base points, or the lists would miss too many."""
        if len(self.points) <= MAX_EXHAUSTIVE_POINTS or self.k > MAX_LIST_NEIGHBORS:
            return None
        stride = max(1, len(self.points) // N_TRIAL_POINTS)
        some = np.ascontiguousarray(self.points[::stride])
        pairs = _allocate(len(some), 2)  # a point is its own nearest, unless it has a duplicate
        self._measure_all(some, pairs)
        between = midpoints(self.points, some, pairs.indices[:, 1])
        exact, found = _allocate(len(between), self.k), _allocate(len(between), self.k)
        self._measure_all(between, exact)
        lists = build_lists(self.points, between, exact.indices)
        self._measure_candidates(between, found, lists)
        recall = (found.indices[:, :, None] == exact.indices[:, None]).any(axis=1).mean()
        return lists if recall >= MIN_LIST_RECALL else None

    def find(self, rows: Float32Array) -> Neighbors:
        """Find the k nearest base points of each row.

        Parameters
        ----------
        rows
            A block of rows.

        Returns
        -------
        Indices and squared distances, each of shape (rows, k).
        """
        found = _allocate(len(rows), min(self.k, len(self.points)))
        rows = self._project(np.ascontiguousarray(rows))
        if self._lists is None:
            self._measure_all(rows, found)
        else:
            self._measure_candidates(rows, found, self._lists)
        return found

    def _project(self, rows: Float32Array) -> Float32Array:
        """Return the coordinates of rows along the directions, each computed from its row alone."""
        if self.directions is None:
            return rows
        projected = borrow_buffer("projected", (len(rows), len(self.directions)))
        products.dots(rows, self.directions, projected)
        return projected

    def _measure_all(self, rows: Float32Array, found: Neighbors) -> None:
        # A row too far for float32 overflows here; the kernel measures it in float64 instead.
        with np.errstate(over="ignore", invalid="ignore"):
            scores = borrow_buffer("products", (len(rows), len(self.points)))
            np.matmul(rows, self._transposed, out=scores)
        induction.nearest(rows, scores, self.points, self._sq_norms, *found)

    def _measure_candidates(
        self, rows: Float32Array, found: Neighbors, lists: InvertedLists
    ) -> None:
        projected = rows
        if lists.directions is not None:
            projected = borrow_buffer("seen", (len(rows), len(lists.directions)))
            products.dots(rows, lists.directions, projected)
        scores = borrow_buffer("scores", (len(rows), len(lists.centers)))
        products.dots(projected, lists.centers, scores)
        _shortlist.nearest_of_some(
            rows, projected, scores, *lists[2:], N_CANDIDATES, self.points, *found
        )


def _allocate(n_rows: int, k: int) -> Neighbors:
    return Neighbors(np.empty((n_rows, k), np.int32), np.empty((n_rows, k)))


def index_base_points(
    points: Float32Array, n_neighbors: int, owner: str, directions: Float32Array | None = None
) -> NearestBasePoints:
    """Check a base set and index it.

    Parameters
    ----------
    points
        The base set, one row per base point.
    n_neighbors
        Number of neighbors that the user asked for; more than there are base points is a warning.
    owner
        Class whose parameters ``base`` and ``n_neighbors`` are, for errors.
    directions
        Directions that the base set and the rows are projected onto, one per row; None for none.

    Returns
    -------
    The indexed base set.

    Raises
    ------
    ParameterError
        If there are fewer than 2 base points.

    Examples
    --------
    >>> index_base_points(np.eye(3, dtype=np.float32), 2, "IMH").k
    2
    """
    n_points = len(points)
    if n_points < 2:
        _validation.raise_invalid("base", owner, "at least 2 distinct points", n_points)
    if n_neighbors > n_points:
        warnings.warn(
            f"n_neighbors={n_neighbors} is more than the {n_points} base points; "
            f"all base points will be used for every vector.",
            stacklevel=6,
        )
    if directions is not None:
        points = points @ directions.T
    return NearestBasePoints(np.ascontiguousarray(points), min(n_neighbors, n_points), directions)


@dataclass(frozen=True)
class NeighborBlocks:
    """The nearest base points of all training rows, found block by block while iterating.

    Nothing is kept: each iteration reads the rows again, on all cores. Rows on a Dask cluster
    are searched where they are.

    Parameters
    ----------
    rows
        Training rows.
    base
        The indexed base set.

    Examples
    --------
    >>> rows = Rows.centered(np.arange(6.0)[:, None], "example")
    >>> base = NearestBasePoints(rows.block(0, 3), k=2)
    >>> sum(len(block.indices) for block in NeighborBlocks(rows, base))
    6
    """

    rows: Rows
    base: NearestBasePoints

    @property
    def k(self) -> int:
        """Number of neighbors of a row."""
        return self.base.k

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def __iter__(self) -> Iterator[Neighbors]:
        return self._find(stride=1)

    def sample(self, n_rows: int) -> Iterator[Neighbors]:
        """Yield the neighbors of about ``n_rows`` rows, spread evenly over the data.

        Every s-th block is searched, so memory maps are read forward and sorted data are covered.

        Parameters
        ----------
        n_rows
            Number of rows; all rows are searched if there are fewer than twice that.

        Returns
        -------
        An iterator of blocks.
        """
        return self._find(stride=max(1, len(self.rows) // n_rows))

    def _find(self, stride: int) -> Iterator[Neighbors]:
        step = block_length(max(self.base.floats_per_row, self.rows.n_features))
        find = self.base.find  # not self, which would send the rows to the workers of a cluster
        blocks = self.rows.map(
            lambda values, start: find(values),
            step,
            stride=stride,
            spread=len(self) > step * stride,
        )
        return (found for _, found in blocks)


def mean_kth_distance(blocks: Iterable[Neighbors]) -> float:
    """Return the mean distance of rows to the farthest of their k nearest base points.

    It is σ of the paper's weights exp(-d²/σ²), as its authors chose it.

    Parameters
    ----------
    blocks
        Nearest base points of rows.

    Returns
    -------
    The mean; 1 if all distances are zero, because every σ gives the same weights then.

    Examples
    --------
    >>> block = Neighbors(np.array([[0, 1], [1, 0]], np.int32), np.array([[1.0, 4.0], [0.0, 16.0]]))
    >>> mean_kth_distance([block])
    3.0
    """
    distances = [np.sqrt(block.sq_distances[:, -1]) for block in blocks]
    return float(np.concatenate(distances).mean()) or 1.0


def count_cooccurrences(blocks: Iterable[Neighbors], n_base_points: int) -> csr_array:
    """Count the rows between every two base points, relative to the rows that belong to them.

    A row belongs to its nearest base point i, and lies between i and each of its second, third
    and fourth nearest base points j.

    Parameters
    ----------
    blocks
        Nearest base points of rows, at least two of each.
    n_base_points
        Size of the base set.

    Returns
    -------
    A symmetric matrix: the counts, divided by the root of the product of the rows that belong to
    i and to j.

    Examples
    --------
    >>> block = Neighbors(np.array([[0, 1], [1, 0], [2, 1]], np.int32), np.zeros((3, 2)))
    >>> count_cooccurrences([block], 3).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.5, 0.0]]
    """
    sizes = np.ones(n_base_points)  # plus one, so that nothing is divided by zero
    pairs, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    pending: list[Int64Array] = []
    for block in blocks:
        nearest = block.indices[:, :1].astype(np.int64)
        sizes += np.bincount(nearest[:, 0], minlength=n_base_points)
        pending.append((nearest * n_base_points + block.indices[:, 1:4]).ravel())
        if sum(map(len, pending)) > _MAX_PENDING_PAIRS:
            pairs, counts = _add_pairs(pairs, counts, pending)
            pending = []
    pairs, counts = _add_pairs(pairs, counts, pending)
    i, j = np.divmod(pairs, n_base_points)
    values = counts / np.sqrt(sizes[i] * sizes[j])
    shared = csr_array((values, (i, j)), shape=(n_base_points, n_base_points))
    return (shared + shared.T).tocsr()


def _add_pairs(
    pairs: Int64Array, counts: Int64Array, pending: list[Int64Array]
) -> tuple[Int64Array, Int64Array]:
    """Add pending pairs to the counts."""
    if not pending:
        return pairs, counts
    new_pairs, new_counts = np.unique(np.concatenate(pending), return_counts=True)
    all_pairs, position = np.unique(np.concatenate([pairs, new_pairs]), return_inverse=True)
    total = np.bincount(position, np.concatenate([counts, new_counts]))
    return all_pairs, total.astype(np.int64)
