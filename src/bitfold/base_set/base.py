"""The contract of base set strategies, and the size of a base set."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bitfold import _class_labels, _validation
from bitfold._threads import serial_blas
from bitfold._types import Float32Array, Int64Array, Seed, StepCallback
from bitfold.base_set.results import BaseSet, BaseSize, LabeledBaseSet
from bitfold.base_set.size import automatic_size
from bitfold.io.rows import Rows

MAX_SAMPLE_BYTES = 320 << 20
"""Maximum size of the sample that a base set is learned from."""

MAX_ROWS_PER_BASE_POINT = 32
"""Sampled rows per base point; more hardly move a center."""

MIN_ROWS_PER_BASE_POINT = 16
"""Sampled rows per base point that there are even if the sample exceeds its maximum size."""

MIN_SAMPLE_ROWS = 1 << 16
"""Minimum number of sampled rows, if they do not exceed the maximum size."""


class BaseStrategy(BaseEstimator, ABC):
    """How to choose the base set. A subclass implements ``_choose``.

    Parameters
    ----------
    n_base_points
        Number of base points; "auto" depends on the data, see
        :func:`bitfold.base_set.automatic_size`. If the data
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

    def size(self, X: Rows | Any, *, rng: Seed = None) -> BaseSize:
        """Return the number of base points for some data.

        Parameters
        ----------
        X
            Training data.
        rng
            Seed or generator of the held-out rows that "auto" compares sizes on.

        Returns
        -------
        The number, and how it was chosen.

        Raises
        ------
        ParameterError
            If ``n_base_points`` is neither a positive integer nor "auto".
        """
        if self.n_base_points == "auto":
            return automatic_size(self._as_rows(X), rng)
        owner, value = type(self).__name__, self.n_base_points
        if isinstance(value, str):
            _validation.raise_invalid("n_base_points", owner, 'an integer or "auto"', repr(value))
        m = _validation.check_integer(value, "n_base_points", owner, low=1)
        return BaseSize(m, "as requested")

    @serial_blas()
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
        rng = _validation.make_generator(rng)
        m, reason = self.size(rows, rng=rng)
        sample = rows.sample(sample_size(len(rows), rows.n_features, m), rng)
        points = self._choose_from_sample(sample, m, rng, on_step)
        return BaseSet(points, _describe(points, reason))

    @serial_blas()
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
        y = _class_labels.check_labels(y, len(rows), owner)
        is_labeled = _class_labels.is_labeled(y)
        classes, sizes = np.unique(y[is_labeled], return_counts=True)
        if not len(classes):
            _validation.raise_invalid("y", owner, "labels of at least 1 class", "only -1")
        m, reason = self.size(rows, rng=rng)
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
                stacklevel=5,
            )
        return distinct


def _describe(points: Float32Array, reason: str) -> str:
    return f"{len(points):,} base points ({reason})."


def sample_size(n_rows: int, n_features: int, m: int) -> int:
    """Return the number of rows that m base points are learned from."""
    affordable = MAX_SAMPLE_BYTES // (4 * n_features)
    wanted = max(MAX_ROWS_PER_BASE_POINT * m, MIN_SAMPLE_ROWS)
    return min(n_rows, max(MIN_ROWS_PER_BASE_POINT * m, min(wanted, affordable)))


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
