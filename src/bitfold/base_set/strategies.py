"""Strategies: how to choose the base set, of all rows or class by class."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from bitfold import _validation
from bitfold._types import AnyArray, BoolArray, Float32Array, Int64Array, Seed, StepCallback
from bitfold.base_set.clusters import first_distinct, kmeans, kmedoids
from bitfold.base_set.size import Size, automatic_size, sample_size
from bitfold.io.rows import Rows


class LabeledBase(NamedTuple):
    """A base set chosen class by class (Alg. 2, line 1)."""

    points: Float32Array
    labels: AnyArray


class BaseStrategy(BaseEstimator, ABC):
    """How to choose the base set; a subclass gives ``_choose``, from a sample in memory.

    Parameters
    ----------
    n_base_points
        Number of base points; "auto" has as many as the data and the time allow, see
        :func:`automatic_size`. Data with no more than m distinct rows become their own base set:
        the exact form of Eq. (4).
    """

    def __init__(self, n_base_points: int | str = "auto") -> None:
        self.n_base_points = n_base_points

    def size(self, n: int, n_features: int) -> Size:
        """Return how many base points there will be for so many rows, and why."""
        if self.n_base_points == "auto":
            return automatic_size(n, n_features)
        if isinstance(self.n_base_points, str):
            _validation.raise_invalid(
                "n_base_points",
                type(self).__name__,
                'an integer or "auto"',
                repr(self.n_base_points),
            )
        m = _validation.check_integer(
            self.n_base_points, "n_base_points", type(self).__name__, low=1
        )
        return Size(m, "as asked for")

    def choose(
        self, X: Rows | Any, *, rng: Seed = None, on_step: StepCallback | None = None
    ) -> Float32Array:
        """Choose m base points, one a row.

        Parameters
        ----------
        X
            Training data.
        rng
            Generator or seed.
        on_step
            Called with (done, total) as the work goes on.
        """
        rows = self._as_rows(X)
        m = self.size(len(rows), rows.n_features).m
        rng = _validation.make_generator(rng)
        sample = rows.sample(sample_size(len(rows), rows.n_features, m), rng)
        return self._from_sample(sample, m, rng, on_step)

    def choose_per_class(
        self,
        X: Rows | Any,
        y: Any,
        *,
        rng: Seed = None,
        on_step: StepCallback | None = None,
    ) -> LabeledBase:
        """Share the m base points out over the classes and choose each class's (Alg. 2, line 1).

        Parameters
        ----------
        X
            Training data.
        y
            A label for each row; -1 is unlabeled and belongs to no class.
        rng
            Generator or seed.
        on_step
            Called with (done, total) as the work goes on.
        """
        rows = self._as_rows(X)
        rng = _validation.make_generator(rng)
        y = _validation.check_labels(y, len(rows), type(self).__name__)
        labeled = is_labeled(y)
        classes, sizes = np.unique(y[labeled], return_counts=True)
        if not len(classes):
            _validation.raise_invalid(
                "y", type(self).__name__, "labels of at least 1 class", "only -1"
            )
        m = self.size(len(rows), rows.n_features).m
        m = _validation.check_integer(m, "n_base_points", type(self).__name__, low=2 * len(classes))
        parts, names = [], []
        for step, (label, share) in enumerate(zip(classes, share_out(m, sizes), strict=True)):
            members = np.flatnonzero(labeled & (y == label))
            limit = sample_size(len(members), rows.n_features, share)
            if limit < len(members):
                members = np.sort(rng.choice(members, limit, replace=False))
            parts.append(self._from_sample(rows.take(members), share, rng, None))
            names.append(np.full(len(parts[-1]), label))
            if on_step:
                on_step(step + 1, len(classes))
        return LabeledBase(np.concatenate(parts), np.concatenate(names))

    def _as_rows(self, X: Rows | Any) -> Rows:
        if isinstance(X, Rows):
            return X
        owner = type(self).__name__
        matrix = _validation.check_matrix(X, owner)
        return Rows(matrix, np.zeros(matrix.shape[1], np.float32), owner)

    def _from_sample(
        self, sample: Float32Array, m: int, rng: np.random.Generator, on_step: StepCallback | None
    ) -> Float32Array:
        distinct = distinct_rows(sample, at_most=m)
        if distinct is None:
            return self._choose(sample, m, rng, on_step)
        if len(distinct) < m and self.n_base_points != "auto":
            warnings.warn(
                f"{m} base points were asked for, but there are only {len(distinct)} distinct "
                f"rows; all of them form the base set.",
                stacklevel=4,
            )
        return distinct

    @abstractmethod
    def _choose(
        self, sample: Float32Array, m: int, rng: np.random.Generator, on_step: StepCallback | None
    ) -> Float32Array:
        """Choose from a sample with more than m distinct rows."""


class RandomBase(BaseStrategy):
    """Random training samples, all distinct.

    Examples
    --------
    >>> RandomBase(2).choose([[0.0], [1.0], [2.0]], rng=0).shape
    (2, 1)
    """

    def _choose(
        self, sample: Float32Array, m: int, rng: np.random.Generator, on_step: StepCallback | None
    ) -> Float32Array:
        return sample[first_distinct(sample, rng.permutation(len(sample)), m)]


class KMeansBase(BaseStrategy):
    """Centers of K-means, the paper's choice: least distortion for m points.

    Parameters
    ----------
    n_base_points
        Number of base points, or "auto".
    max_iter
        Lloyd iterations.

    Examples
    --------
    >>> KMeansBase(2).choose([[0.0], [1.0], [10.0], [11.0]], rng=0).ravel().tolist()
    [0.5, 10.5]
    """

    def __init__(self, n_base_points: int | str = "auto", max_iter: int = 20) -> None:
        super().__init__(n_base_points)
        self.max_iter = max_iter

    def _choose(
        self, sample: Float32Array, m: int, rng: np.random.Generator, on_step: StepCallback | None
    ) -> Float32Array:
        max_iter = _validation.check_integer(self.max_iter, "max_iter", type(self).__name__, low=1)
        return kmeans(sample, m, max_iter, rng, on_step)


class KMedoidsBase(BaseStrategy):
    """Medoids: the training sample of each cluster with the least total distance to the others.

    Starts from K-means and alternates assignment and choice of medoids; its points are real
    samples, as in the paper's K-medians.

    Parameters
    ----------
    n_base_points
        Number of base points, or "auto".
    max_iter
        Iterations, of K-means and then, at most, of the medoids.
    """

    def __init__(self, n_base_points: int | str = "auto", max_iter: int = 20) -> None:
        super().__init__(n_base_points)
        self.max_iter = max_iter

    def _choose(
        self, sample: Float32Array, m: int, rng: np.random.Generator, on_step: StepCallback | None
    ) -> Float32Array:
        max_iter = _validation.check_integer(self.max_iter, "max_iter", type(self).__name__, low=1)
        return kmedoids(sample, m, max_iter, rng, on_step)


def share_out(m: int, sizes: Int64Array) -> list[int]:
    """Share m points out in proportion to class sizes, at least two a class (or all it has)."""
    floor = np.minimum(2, sizes)
    exact = floor + (m - floor.sum()) * sizes / sizes.sum()
    shares = np.floor(exact).astype(int)
    largest_remainders = np.argsort(shares - exact, kind="stable")[: m - shares.sum()]
    shares[largest_remainders] += 1
    return [int(s) for s in shares]


def is_labeled(y: AnyArray) -> BoolArray:
    """Tell which rows have a label; -1 means none, as in scikit-learn, and an empty name too."""
    if y.dtype.kind in "iuf":
        return np.asarray(y != -1)
    if y.dtype.kind == "U":
        # Read from a text file a -1 is a name like any other.
        return np.asarray((y != "-1") & (y != ""))
    return np.array([label != -1 for label in y], bool)


def distinct_rows(points: Float32Array, at_most: int) -> Float32Array | None:
    """Return the distinct rows if there are no more than ``at_most``, else None."""
    # Equal rows have equal projections, and counting those is cheap.
    direction = np.cos(np.arange(1, points.shape[1] + 1)).astype(np.float32)
    shadows = np.einsum("ij,j->i", points, direction)
    if len(np.unique(shadows)) > at_most:
        return None
    distinct = np.unique(points, axis=0)
    return distinct if len(distinct) <= at_most else None
