"""The contract of base set strategies, and the size of a base set."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bitfold import _validation
from bitfold._types import Float32Array, Int64Array, Seed, StepCallback
from bitfold.base_set.results import BaseSet, BaseSize, LabeledBaseSet
from bitfold.io.rows import Rows

MAX_SAMPLE_BYTES = 320 << 20  # of the sample that a base set is learned from
MIN_BASE_POINTS = 400  # automatic size for small data
MAX_SMALL_ROWS = 20 * MIN_BASE_POINTS  # up to this number of rows, the minimum is enough
ROWS_PER_BASE_POINT = 10  # automatic size for larger data
MAX_RELATIVE_WORK = 6  # work that an automatic size may cause, relative to the minimum size
PROJECTION_DIM = 64  # dimensions in which k-means looks for many centers
MAX_UNPROJECTED_CENTERS = 1024  # up to this number, k-means works in all dimensions


class BaseStrategy(BaseEstimator, ABC):
    """How to choose the base set. A subclass implements ``_choose``.

    Parameters
    ----------
    n_base_points
        Number of base points; "auto" depends on the data, see :func:`automatic_size`. If the data
        have no more distinct rows than this, all of them form the base set, the exact form of
        Eq. (4).

    Examples
    --------
    >>> class FirstRows(BaseStrategy):
    ...     def _choose(self, sample, m, rng, on_step):
    ...         return sample[:m]
    >>> FirstRows(2).choose([[5.0], [6.0], [7.0]]).points.ravel().tolist()
    [5.0, 6.0]
    """

    def __init__(self, n_base_points: int | str = "auto") -> None:
        self.n_base_points = n_base_points

    @abstractmethod
    def _choose(
        self, sample: Float32Array, m: int, rng: np.random.Generator, on_step: StepCallback | None
    ) -> Float32Array:
        """Return m base points, learned from a sample with more than m distinct rows."""

    def size(self, n_rows: int, n_features: int) -> BaseSize:
        """Return the number of base points for data of a given size.

        Parameters
        ----------
        n_rows
            Number of training rows.
        n_features
            Number of features.

        Returns
        -------
        The number, and how it was chosen.

        Raises
        ------
        ParameterError
            If ``n_base_points`` is neither a positive integer nor "auto".
        """
        if self.n_base_points == "auto":
            return automatic_size(n_rows, n_features)
        owner, value = type(self).__name__, self.n_base_points
        if isinstance(value, str):
            _validation.raise_invalid("n_base_points", owner, 'an integer or "auto"', repr(value))
        m = _validation.check_integer(value, "n_base_points", owner, low=1)
        return BaseSize(m, "as requested")

    def choose(
        self, X: Rows | Any, *, rng: Seed = None, on_step: StepCallback | None = None
    ) -> BaseSet:
        """Choose the base set.

        Parameters
        ----------
        X
            Training data.
        rng
            Seed or generator.
        on_step
            Called with (done, total).

        Returns
        -------
        The base points, and how their number was chosen.

        Raises
        ------
        ParameterError
            If a parameter of the strategy is not valid.
        DataError
            If the data cannot be used.
        """
        rows = self._as_rows(X)
        m, reason = self.size(len(rows), rows.n_features)
        rng = _validation.make_generator(rng)
        sample = rows.sample(sample_size(len(rows), rows.n_features, m), rng)
        points = self._choose_from_sample(sample, m, rng, on_step)
        return BaseSet(points, _describe(points, reason))

    def choose_per_class(
        self, X: Rows | Any, y: Any, *, rng: Seed = None, on_step: StepCallback | None = None
    ) -> LabeledBaseSet:
        """Choose base points class by class, in proportion to the class sizes (Alg. 2, line 1).

        Parameters
        ----------
        X
            Training data.
        y
            One label per row; rows labeled -1 are ignored.
        rng
            Seed or generator.
        on_step
            Called with (done, total).

        Returns
        -------
        The base points, the class of each, and how their number was chosen.

        Raises
        ------
        ParameterError
            If there are fewer than two base points per class, or another parameter is not valid.
        DataError
            If the data cannot be used.
        """
        rows, owner = self._as_rows(X), type(self).__name__
        rng = _validation.make_generator(rng)
        y = _validation.check_labels(y, len(rows), owner)
        is_labeled = _validation.is_labeled(y)
        classes, sizes = np.unique(y[is_labeled], return_counts=True)
        if not len(classes):
            _validation.raise_invalid("y", owner, "labels of at least 1 class", "only -1")
        m, reason = self.size(len(rows), rows.n_features)
        _validation.check_integer(m, "n_base_points", owner, low=2 * len(classes))
        parts, labels = [], []
        shares = split_by_class_size(m, sizes)
        for step, (label, n_own) in enumerate(zip(classes, shares, strict=True)):
            members = np.flatnonzero(is_labeled & (y == label))
            limit = sample_size(len(members), rows.n_features, n_own)
            if limit < len(members):
                members = np.sort(rng.choice(members, limit, replace=False))
            parts.append(self._choose_from_sample(rows.take(members), n_own, rng, None))
            labels.append(np.full(len(parts[-1]), label))
            if on_step:
                on_step(step + 1, len(classes))
        points = np.concatenate(parts)
        return LabeledBaseSet(points, np.concatenate(labels), _describe(points, reason))

    def _as_rows(self, X: Rows | Any) -> Rows:
        if isinstance(X, Rows):
            return X
        owner = type(self).__name__
        matrix = _validation.check_matrix(X, owner)
        return Rows(matrix, np.zeros(matrix.shape[1], np.float32), owner)

    def _choose_from_sample(
        self, sample: Float32Array, m: int, rng: np.random.Generator, on_step: StepCallback | None
    ) -> Float32Array:
        """Return the distinct rows if there are at most m, or else choose m points."""
        distinct = distinct_rows(sample, at_most=m)
        if distinct is None:
            return self._choose(sample, m, rng, on_step)
        if len(distinct) < m and self.n_base_points != "auto":
            warnings.warn(
                f"{m} base points were requested, but there are only {len(distinct)} distinct "
                f"rows; all of them form the base set.",
                stacklevel=4,
            )
        return distinct


def _describe(points: Float32Array, reason: str) -> str:
    return f"{len(points):,} base points ({reason})."


def automatic_size(n_rows: int, n_features: int) -> BaseSize:
    """Return the number of base points that the data and the time allow.

    MAP improves with the number of base points as long as each has about ten training rows; with
    fewer, its neighbors on the manifold cannot be found reliably. The work, which grows faster
    than the number, is limited to six times that of 400 base points.

    Parameters
    ----------
    n_rows
        Number of training rows.
    n_features
        Number of features.

    Returns
    -------
    The number, and how it was chosen.

    Examples
    --------
    >>> automatic_size(1_797, 64)
    BaseSize(n_base_points=400, reason='the minimum; chosen from 1,797 rows')
    >>> automatic_size(10_000, 64).n_base_points
    1000
    """
    if n_rows <= MIN_BASE_POINTS:
        return BaseSize(n_rows, f"all {n_rows:,} rows")
    if n_rows <= MAX_SMALL_ROWS:
        return BaseSize(MIN_BASE_POINTS, f"the minimum; chosen from {n_rows:,} rows")
    m = n_rows // ROWS_PER_BASE_POINT
    budget = MAX_RELATIVE_WORK * estimate_work(n_rows, n_features, MIN_BASE_POINTS)
    rounded = m - m % 50
    affordable = next(
        size
        for size in range(rounded, 0, -50)
        if size <= MIN_BASE_POINTS or estimate_work(n_rows, n_features, size) <= budget
    )
    if affordable < rounded:
        return BaseSize(affordable, f"limited by the work budget; chosen from {n_rows:,} rows")
    return BaseSize(m, f"one per {ROWS_PER_BASE_POINT} rows; chosen from {n_rows:,} rows")


def estimate_work(n_rows: int, n_features: int, m: int) -> float:
    """Estimate the arithmetic operations of fitting IMH with m base points."""
    width = PROJECTION_DIM if is_projected(n_features, m) else n_features
    kmeans = 20.0 * 2 * sample_size(n_rows, n_features, m) * m * width
    neighbors = 2.0 * min(n_rows, 256 * m) * m * width
    # With more than 4096 base points, t-SNE samples the pairs.
    n_pairs = m * (m if m <= 4096 else 1500)
    return kmeans + neighbors + 500.0 * 4 * n_pairs * 64


def is_projected(n_features: int, m: int) -> bool:
    """Return whether k-means looks for m centers along principal directions."""
    return m > MAX_UNPROJECTED_CENTERS and n_features > 2 * PROJECTION_DIM


def sample_size(n_rows: int, n_features: int, m: int) -> int:
    """Return the number of rows that m base points are learned from.

    It is 256 rows per base point, limited by time and memory, but at least 64 per base point.
    More rows hardly move a center.
    """
    limit = MAX_SAMPLE_BYTES // (4 * n_features)
    return min(n_rows, max(64 * m, min(256 * min(m, 1000), limit)))


def split_by_class_size(m: int, sizes: Int64Array) -> list[int]:
    """Split m points in proportion to class sizes, at least two per class (or all it has)."""
    floor = np.minimum(2, sizes)
    exact = floor + (m - floor.sum()) * sizes / sizes.sum()
    shares = np.floor(exact).astype(int)
    largest_remainders = np.argsort(shares - exact, kind="stable")[: m - shares.sum()]
    shares[largest_remainders] += 1
    return [int(share) for share in shares]


def distinct_rows(points: Float32Array, at_most: int) -> Float32Array | None:
    """Return the distinct rows, or None if there are more than ``at_most``."""
    # Equal rows have equal projections, which are cheap to count.
    direction = np.cos(np.arange(1, points.shape[1] + 1)).astype(np.float32)
    projections = np.einsum("ij,j->i", points, direction)
    if len(np.unique(projections)) > at_most:
        return None
    distinct = np.unique(points, axis=0)
    return distinct if len(distinct) <= at_most else None


def first_distinct(points: Float32Array, order: Int64Array, count: int) -> Int64Array:
    """Return the first ``count`` indices along ``order`` that have distinct points."""
    # Duplicates are rare, and comparing a few rows is much cheaper than comparing all.
    for size in (2 * count, 16 * count, len(order)):
        _, first = np.unique(points[order[:size]], axis=0, return_index=True)
        if len(first) >= count:
            break
    return order[np.sort(first)[:count]]
