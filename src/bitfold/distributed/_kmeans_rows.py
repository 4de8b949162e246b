"""The rows of k-means on the cluster: sampling, seeding and sums, one task per block."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import NamedTuple

import dask
import numpy as np
from dask.delayed import Delayed

from bitfold._types import Float32Array, Float64Array
from bitfold.distributed import _kmeans_passes as passes
from bitfold.distributed._dask_rows import DaskRows, take_rows
from bitfold.distributed._graph import make_task, reduce_in_order, send
from bitfold.distributed._input import block_edges, list_blocks
from bitfold.neighbors import NearestBasePoints

N_ROUNDS = 5
"""Rounds of seeding; each draws m/2 rows, so there are 2.5 m candidates."""


class WeightedPoints(NamedTuple):
    """Candidates for centers, and the number of rows nearest to each."""

    points: Float32Array
    weights: Float64Array


@dataclass(frozen=True)
class RemoteBlock:
    """A block of rows on the cluster."""

    block: Delayed
    first_row: int
    n_rows: int


@dataclass(frozen=True)
class ClusterRows:
    """All rows, or a sample, as blocks on the cluster."""

    blocks: list[RemoteBlock]
    reader: Delayed
    n_features: int

    @classmethod
    def from_rows(cls, rows: DaskRows) -> ClusterRows:
        """Return all rows."""
        edges = itertools.pairwise(block_edges(rows.array))
        blocks = [
            RemoteBlock(block, first, last - first)
            for block, (first, last) in zip(list_blocks(rows.array), edges, strict=True)
            if first < last
        ]
        return cls(blocks, send(rows.reader, "reader"), rows.n_features)

    def __len__(self) -> int:
        return sum(block.n_rows for block in self.blocks)

    def sample(self, size: int, rng: np.random.Generator) -> ClusterRows:
        """Return random rows, which stay on the workers; all rows if there are fewer."""
        if size >= len(self):
            return self
        edges = np.cumsum([0, *(block.n_rows for block in self.blocks)])
        chosen = np.sort(rng.choice(len(self), size, replace=False, shuffle=False))
        ranges = itertools.pairwise(np.searchsorted(chosen, edges).tolist())
        drawn = [
            RemoteBlock(make_task(take_rows, b.block, chosen[i:j] - edge).persist(), i, j - i)
            for b, edge, (i, j) in zip(self.blocks, edges, ranges, strict=False)
            if i < j
        ]
        return ClusterRows(drawn, self.reader, self.n_features)

    def draw_candidates(
        self, m: int, rng: np.random.Generator, on_round: Callable[[int], None]
    ) -> WeightedPoints:
        """Draw more than m distinct rows far from each other, or all distinct rows (k-means||)."""
        size = max(m // 2, 1)
        points = new = np.empty((0, self.n_features), np.float32)
        states: list[Delayed | None] = [None] * len(self.blocks)
        for number in itertools.count(1):
            states, drawn = self._draw_round(states, new, len(points), rng, size)
            on_round(number)
            if not len(drawn.rows) or (number > N_ROUNDS and len(points) > m):
                break
            new = np.unique(drawn.rows, axis=0)
            points = np.concatenate([points, new])
        tasks = [make_task(passes.count_nearest, state, len(points)) for state in states]
        return WeightedPoints(points, reduce_in_order(tasks, passes.add_arrays))

    def _draw_round(
        self,
        states: Sequence[Delayed | None],
        new: Float32Array,
        n_points: int,
        rng: np.random.Generator,
        size: int,
    ) -> tuple[list[Delayed | None], passes.KeyedRows]:
        """Take the new candidates into account, then draw the next ones."""
        candidates = send(NearestBasePoints(new, 1), "candidates")
        seed, first = int(rng.integers(2**63)), n_points - len(new)
        draw = passes.draw_seeds
        tasks = [
            make_task(draw, b.block, b.first_row, self.reader, candidates, first, state, seed, size)
            for b, state in zip(self.blocks, states, strict=True)
        ]
        updated = list(dask.persist(*tasks))
        drawn = [make_task(attrgetter("drawn"), state) for state in updated]
        return updated, reduce_in_order(drawn, partial(passes.merge_smallest, size))

    def sum_rows(self, centers: Float32Array) -> passes.ClusterSums:
        """Assign all rows to their nearest centers, in one pass."""
        nearest = send(NearestBasePoints(centers, 1), "centers")
        tasks = [
            make_task(passes.sum_block, b.block, b.first_row, self.reader, nearest)
            for b in self.blocks
        ]
        sums: passes.ClusterSums = reduce_in_order(tasks, passes.add_sums)
        return sums
