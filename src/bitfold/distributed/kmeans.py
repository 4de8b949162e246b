"""K-means over all rows of a cluster: seeding in rounds, then Lloyd iterations of partial sums.

A pass over the rows is one task per block. The results are combined on the workers in the order of
the blocks; only arrays of the size of the base set are sent to the client.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.cluster import kmeans_plusplus

from bitfold import _validation
from bitfold._kernels.base_points import add_rows
from bitfold._progress import ignore_step
from bitfold._types import Float32Array, Float64Array, Int32Array, Seed, StepCallback
from bitfold.base_set import BaseSet, KMeansBase
from bitfold.distributed._dask_rows import DaskRows
from bitfold.distributed._kmeans_passes import ClusterSums
from bitfold.distributed._kmeans_rows import N_ROUNDS, ClusterRows, WeightedPoints
from bitfold.io.rows import Rows, block_length
from bitfold.neighbors import NearestBasePoints

_N_CANDIDATE_STEPS = 5
"""Lloyd iterations on the weighted candidates."""

_SEEDING_ROWS_PER_POINT = 128
"""Sampled rows per base point for seeding and for the first Lloyd iterations."""

_N_SAMPLE_STEPS = 10
"""Lloyd iterations on the sampled rows, before those on all rows."""

_MAX_FILL_PASSES = 10
"""Maximum number of passes to move centers without rows; distinct rows need at most one."""

_MIN_ROWS_PER_POINT = 64
"""Up to this number of rows per base point, the rows are fetched and clustered in memory."""

_TINY = float(np.finfo(np.float64).tiny)


class DaskKMeansBase(KMeansBase):
    """Centers of k-means over rows that stay on a Dask cluster.

    Candidates are drawn in rounds as in k-means||: rows in proportion to their squared distance
    from the candidates drawn before. k-means++ then reduces them to centers, weighted by the number
    of rows nearest to each. This, and the first Lloyd iterations, use a random sample of the rows;
    ``max_iter`` further iterations use all rows, each as one map-reduce. In contrast,
    :class:`bitfold.KMeansBase`, which also works on Dask data, fetches a sample of 256 rows per
    base point and returns the same points as in memory.

    The result depends on the data and the seed, and in the last digit of float64 sums on the
    blocks of the rows, but not on the workers. Rows in memory, and few rows, are clustered by
    ``KMeansBase``.

    Parameters
    ----------
    n_base_points
        Number of base points.
    max_iter
        Number of Lloyd iterations on all rows.
    sample
        Number of random rows to learn from, which stay on the workers; None uses all rows, which
        are read once per pass (``X.persist()`` keeps them in the memory of the workers).

    References
    ----------
    Bahmani et al., *Scalable k-means++*, VLDB 2012.

    Examples
    --------
    >>> import dask.array as da
    >>> from bitfold import IMH
    >>> from bitfold.distributed import fit
    >>> X = da.random.default_rng(0).random((2000, 8), chunks=(500, 8))
    >>> hasher = IMH(8, base=DaskKMeansBase(20), embedding="pca", random_state=0)
    >>> fit(hasher, X).base_set_.shape
    (20, 8)
    """

    def __init__(
        self, n_base_points: int = 400, max_iter: int = 20, sample: int | None = None
    ) -> None:
        super().__init__(n_base_points, max_iter)
        self.sample = sample

    def choose(
        self, X: Rows | Any, *, rng: Seed = None, on_step: StepCallback | None = None
    ) -> BaseSet:
        """Choose the base set.

        Parameters
        ----------
        X
            Training rows: those that :func:`bitfold.distributed.fit` passes, or an array.
        rng
            Generator or seed.
        on_step
            Called with (done, total).

        Returns
        -------
        The base points, and how their number was chosen.

        Raises
        ------
        ParameterError
            If a parameter is not valid.
        """
        owner = type(self).__name__
        m = _validation.check_integer(self.n_base_points, "n_base_points", owner, low=1)
        max_iter = _validation.check_integer(self.max_iter, "max_iter", owner, low=1)
        min_rows = _MIN_ROWS_PER_POINT * m
        if self.sample is not None:
            _validation.check_integer(self.sample, "sample", owner, low=min_rows)
        if not isinstance(X, DaskRows) or len(X) <= min_rows:
            return super().choose(X, rng=rng, on_step=on_step)
        rng = _validation.make_generator(rng)
        rows = ClusterRows.from_rows(X)
        if self.sample is not None:
            rows = rows.sample(self.sample, rng)
        points = find_centers(rows, m, max_iter, rng, on_step or ignore_step)
        return BaseSet(points, f"{len(points):,} base points (as requested).")


def find_centers(
    rows: ClusterRows, m: int, max_iter: int, rng: np.random.Generator, on_step: StepCallback
) -> Float32Array:
    """Return m centers, or all distinct rows if there are at most m."""
    n_before = N_ROUNDS + 1
    total = n_before + _N_SAMPLE_STEPS + max_iter + 1
    sample = rows.sample(_SEEDING_ROWS_PER_POINT * m, rng)
    for part in (sample, rows) if sample is not rows else (rows,):
        candidates = part.draw_candidates(m, rng, lambda done: on_step(min(done, n_before), total))
        if len(candidates.points) > m:
            break
    else:
        if (n_distinct := len(candidates.points)) < m:
            warnings.warn(
                f"{m} base points were requested, but there are only {n_distinct} distinct rows; "
                f"all of them form the base set.",
                stacklevel=4,
            )
        return candidates.points
    centers = reduce_candidates(candidates, m, rng)
    for step in range(_N_SAMPLE_STEPS + max_iter):
        part = sample if step < _N_SAMPLE_STEPS else rows
        centers = move_centers(centers, part.sum_rows(centers))
        on_step(n_before + step + 1, total)
    for _ in range(_MAX_FILL_PASSES):
        sums = rows.sum_rows(centers)
        if sums.counts.all():
            break
        centers = move_empty_centers(centers, sums)
    on_step(total, total)
    return centers


def reduce_candidates(candidates: WeightedPoints, m: int, rng: np.random.Generator) -> Float32Array:
    """Reduce weighted candidates to m centers, by k-means++ and a few Lloyd iterations."""
    points, weights = candidates
    seed = int(rng.integers(2**31))
    centers: Float32Array
    # One trial per step, as first published: more trials take minutes for thousands of points, and
    # make no difference after the Lloyd iterations.
    centers, _ = kmeans_plusplus(
        points, m, sample_weight=weights, random_state=seed, n_local_trials=1
    )
    for _ in range(_N_CANDIDATE_STEPS):
        nearest = _find_nearest(points, NearestBasePoints(centers, 1))
        totals, counts = np.zeros(centers.shape), np.zeros(m)
        add_rows(points, nearest, weights, totals, counts)
        centers = _divide(totals, counts, centers)
    return centers


def move_centers(centers: Float32Array, sums: ClusterSums) -> Float32Array:
    """Return each center moved to the mean of its rows."""
    return move_empty_centers(_divide(sums.totals, sums.counts, centers), sums)


def move_empty_centers(centers: Float32Array, sums: ClusterSums) -> Float32Array:
    """Return the centers with those without rows moved to the rows farthest from their centers."""
    empty = np.flatnonzero(sums.counts == 0)
    if not len(empty):
        return centers
    _, first = np.unique(sums.farthest.rows, axis=0, return_index=True)
    rows = sums.farthest.rows[np.sort(first)[: len(empty)]]
    centers = centers.copy()
    centers[empty[: len(rows)]] = rows
    return centers


def _divide(totals: Float64Array, counts: Float64Array, centers: Float32Array) -> Float32Array:
    """Return the means of the rows of each center; centers without rows stay."""
    means = totals / np.maximum(counts, _TINY)[:, None]
    return np.where(counts[:, None] > 0, means, centers).astype(np.float32)


def _find_nearest(points: Float32Array, centers: NearestBasePoints) -> Int32Array:
    """Return the index of the nearest center of each point."""
    step = block_length(max(centers.points.shape))
    starts = range(0, len(points), step)
    return np.concatenate([centers.find(points[i : i + step]).indices[:, 0] for i in starts])
