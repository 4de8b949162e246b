"""K-means over all rows of a cluster: seeding in rounds, then Lloyd iterations of partial sums.

A pass over the rows is one task for each block, whose results are combined on the workers in the
order of the blocks; only what has the size of the base set comes to the client.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import dask
import numpy as np
from dask.delayed import Delayed
from sklearn.cluster import kmeans_plusplus

from bitfold import _validation
from bitfold._kernels.clusters import add_rows
from bitfold._progress import ignore_step
from bitfold._types import Float32Array, Float64Array, Int32Array, Seed, StepCallback
from bitfold.base_set import BaseSet, KMeansBase
from bitfold.distributed._graph import call, reduce, sent
from bitfold.distributed._passes import (
    Picked,
    Sums,
    add,
    add_sums,
    count_served,
    serve,
    smallest,
    sums_of,
)
from bitfold.distributed._rows import DaskRows, pick
from bitfold.distributed._vectors import blocks, starts
from bitfold.io.rows import Rows, block_length
from bitfold.neighbors import NearestBasePoints

_ROUNDS = 5
"""Rounds of seeding, each of m/2 rows: 2.5 m candidates in all."""

_REFINE = 5
"""Lloyd iterations on the weighted candidates alone; all rows then do the rest."""

_EARLY = 128
"""Rows a base point that seeds are drawn from; ..."""

_EARLY_STEPS = 10
"""... and Lloyd iterations on them alone, before all rows do the rest."""

_MOST_FILLS = 10
"""Passes that may be spent on centers without rows; with rows that differ none or one is."""

_TINY = float(np.finfo(np.float64).tiny)

_FEW = 64
"""Rows a base point up to which the data are no larger than a sample: they are fetched."""


class Weighted(NamedTuple):
    """Candidates for centers, and how many rows are nearest to each."""

    points: Float32Array
    weights: Float64Array


@dataclass(frozen=True)
class Part:
    """A block of rows on the cluster, the number of its first row, and how many there are."""

    block: Delayed
    first_row: int
    n_rows: int


class DaskKMeansBase(KMeansBase):
    """Centers of K-means over rows that stay on a Dask cluster.

    Seeds are drawn in rounds as in k-means||: rows in proportion to their squared distance from
    those drawn before; k-means++ then reduces them, weighted by the rows nearest to each. A random
    part of the rows is enough for that, and for the first Lloyd iterations; ``max_iter`` follow on
    all of them, each one map-reduce. :class:`bitfold.KMeansBase`, which also works on Dask data,
    fetches a sample of 256 rows a point instead and gives what it gives in memory.

    The result depends on the data, the seed and, in the last place of float64 sums, on the
    blocks that the rows come in; not on the workers. Rows in memory, or so few that they fit a
    sample, are left to ``KMeansBase``.

    Parameters
    ----------
    n_base_points
        Number of base points.
    max_iter
        Lloyd iterations on all rows.
    sample
        Rows to learn from, at random, kept on the workers meanwhile; None is all rows, read once
        in every pass (``X.persist()`` beforehand keeps them in the workers' memory).

    References
    ----------
    Bahmani et al., *Scalable k-means++*, VLDB 2012.
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
            Training data, as the ``_learn`` of a hasher is given them.
        rng
            Generator or seed.
        on_step
            Called with (done, total) as the work goes on.
        """
        owner = type(self).__name__
        m = _validation.check_integer(self.n_base_points, "n_base_points", owner, low=1)
        max_iter = _validation.check_integer(self.max_iter, "max_iter", owner, low=1)
        if self.sample is not None:
            _validation.check_integer(self.sample, "sample", owner, low=_FEW * m)
        if not isinstance(X, DaskRows) or len(X) <= _FEW * m:
            return super().choose(X, rng=rng, on_step=on_step)
        rng = _validation.make_generator(rng)
        cluster = _Cluster(_parts(X), sent(X.frame, "frame"), X.n_features)
        if self.sample is not None:
            cluster = cluster.sampled(self.sample, rng)
        points = cluster.kmeans(m, max_iter, rng, on_step or ignore_step)
        return BaseSet(points, f"{len(points):,} base points (as requested).")


def _parts(rows: DaskRows) -> list[Part]:
    """Return all rows, block by block."""
    ends = itertools.pairwise(starts(rows.array))
    return [
        Part(block, first, last - first)
        for block, (first, last) in zip(blocks(rows.array), ends, strict=True)
        if first < last
    ]


@dataclass(frozen=True)
class _Cluster:
    """Rows on the cluster, and the passes over them."""

    parts: list[Part]
    frame: Delayed
    n_features: int

    def __len__(self) -> int:
        return sum(part.n_rows for part in self.parts)

    def sampled(self, size: int, rng: np.random.Generator) -> _Cluster:
        """Return so many of the rows, at random, kept on the workers; all, if there are no more."""
        if size >= len(self):
            return self
        edges = np.cumsum([0, *(part.n_rows for part in self.parts)])
        chosen = np.sort(rng.choice(len(self), size, replace=False, shuffle=False))
        ends = np.searchsorted(chosen, edges).tolist()
        drawn = [
            Part(call(pick, part.block, chosen[a:b] - edge).persist(), a, b - a)
            for part, edge, (a, b) in zip(self.parts, edges, itertools.pairwise(ends), strict=False)
            if a < b
        ]
        return _Cluster(drawn, self.frame, self.n_features)

    def kmeans(
        self, m: int, max_iter: int, rng: np.random.Generator, on_step: StepCallback
    ) -> Float32Array:
        """Return m centers, or the distinct rows if there are no more."""
        before = _ROUNDS + 1
        total = before + _EARLY_STEPS + max_iter + 1
        few = self.sampled(_EARLY * m, rng)
        for rows in (few, self) if few is not self else (self,):
            seeds = rows.seeds(m, rng, lambda done: on_step(min(done, before), total))
            if len(seeds.points) > m:
                break
        else:
            _warn_of_few(len(seeds.points), m)
            return seeds.points
        centers = reduced(seeds, m, rng)
        for step in range(_EARLY_STEPS + max_iter):
            rows = few if step < _EARLY_STEPS else self
            centers = moved(centers, rows.sums(centers))
            on_step(before + step + 1, total)
        for _ in range(_MOST_FILLS):
            found = self.sums(centers)
            if found.counts.all():
                break
            centers = filled(centers, found)
        on_step(total, total)
        return centers

    def seeds(self, m: int, rng: np.random.Generator, on_round: Callable[[int], None]) -> Weighted:
        """Draw more than m distinct rows, or all there are; rows far from those drawn before."""
        size = max(m // 2, 1)
        points = fresh = np.empty((0, self.n_features), np.float32)
        served: list[Delayed | None] = [None] * len(self.parts)
        for number in itertools.count(1):
            served, picked = self._round(served, fresh, len(points), rng, size)
            on_round(number)
            if not len(picked.rows) or (number > _ROUNDS and len(points) > m):
                break
            fresh = np.unique(picked.rows, axis=0)
            points = np.concatenate([points, fresh])
        counts = reduce([call(count_served, part, len(points)) for part in served], add)
        return Weighted(points, counts)

    def _round(
        self,
        served: Sequence[Delayed | None],
        fresh: Float32Array,
        n_points: int,
        rng: np.random.Generator,
        size: int,
    ) -> tuple[list[Delayed | None], Picked]:
        """Serve every row by the fresh candidates too, then draw the next ones."""
        base, seed = sent(NearestBasePoints(fresh, 1), "candidates"), int(rng.integers(2**63))
        first = n_points - len(fresh)
        tasks = [
            call(serve, part.block, part.first_row, self.frame, base, first, state, seed, size)
            for part, state in zip(self.parts, served, strict=True)
        ]
        now = list(dask.persist(*tasks))
        drawn = [call(attrgetter("drawn"), state) for state in now]
        return now, reduce(drawn, partial(smallest, size))

    def sums(self, centers: Float32Array) -> Sums:
        """Assign every row to its nearest center: one pass."""
        base = sent(NearestBasePoints(centers, 1), "centers")
        found: Sums = reduce(
            [call(sums_of, part.block, part.first_row, self.frame, base) for part in self.parts],
            add_sums,
        )
        return found


def reduced(seeds: Weighted, m: int, rng: np.random.Generator) -> Float32Array:
    """Reduce weighted candidates to m centers, by k-means++ and a few Lloyd iterations."""
    points, weights = seeds
    seed = int(rng.integers(2**31))
    centers: Float32Array
    # One trial a step, as first published: more cost minutes for thousands of points, and the
    # iterations that follow leave no difference.
    centers, _ = kmeans_plusplus(
        points, m, sample_weight=weights, random_state=seed, n_local_trials=1
    )
    for _ in range(_REFINE):
        nearest = _nearest(points, NearestBasePoints(centers, 1))
        totals, counts = np.zeros(centers.shape), np.zeros(m)
        add_rows(points, nearest, weights, totals, counts)
        centers = _means(totals, counts, centers)
    return centers


def moved(centers: Float32Array, found: Sums) -> Float32Array:
    """Move every center to the mean of its rows."""
    return filled(_means(found.totals, found.counts, centers), found)


def filled(centers: Float32Array, found: Sums) -> Float32Array:
    """Move centers without rows to the worst served ones."""
    empty = np.flatnonzero(found.counts == 0)
    if not len(empty):
        return centers
    _, first = np.unique(found.worst.rows, axis=0, return_index=True)
    rows = found.worst.rows[np.sort(first)[: len(empty)]]
    centers = centers.copy()
    centers[empty[: len(rows)]] = rows
    return centers


def _means(totals: Float64Array, counts: Float64Array, centers: Float32Array) -> Float32Array:
    means = totals / np.maximum(counts, _TINY)[:, None]
    return np.where(counts[:, None] > 0, means, centers).astype(np.float32)


def _nearest(points: Float32Array, base: NearestBasePoints) -> Int32Array:
    step = block_length(max(base.points.shape))
    return np.concatenate(
        [base.find(points[i : i + step]).indices[:, 0] for i in range(0, len(points), step)]
    )


def _warn_of_few(count: int, m: int) -> None:
    if count < m:
        warnings.warn(
            f"{m} base points were asked for, but there are only {count} distinct rows; "
            f"all of them form the base set.",
            stacklevel=5,
        )
