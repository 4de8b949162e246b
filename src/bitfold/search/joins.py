"""All pairs of distinct codes within a radius, in blocks of bounded size."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bitfold._kernels import joins
from bitfold._kernels.joins import JoinTable
from bitfold._kernels.keys import unpack_keys
from bitfold._threads import count_threads, map_blocks
from bitfold._types import Int32Array, Int64Array
from bitfold.search.join_plan import JoinSizes, plan_join
from bitfold.search.parts import choose_columns, make_masks
from bitfold.search.plan import Plan, list_flips
from bitfold.search.segment import Segment
from bitfold.search.tables import Tables

MAX_PAIRS = 1 << 18
"""Number of pairs after which a block ends."""

_TASKS_PER_THREAD = 32
"""Rows are divided into this many tasks per thread and part, because crowded ones take longer."""


class CodePairs(NamedTuple):
    """Pairs of near codes of two segments.

    Parameters
    ----------
    lefts, rights
        Numbers of the codes.
    distances
        Their distances.
    """

    lefts: Int64Array
    rights: Int64Array
    distances: Int32Array


class _Rows(NamedTuple):
    """A range of rows of the left table."""

    first: int
    last: int


def join_codes(left: Segment, right: Segment, radius: int) -> Iterator[CodePairs]:
    """Find all pairs of codes within a radius, each once.

    A segment is joined with itself if both are the same object; then a code is not paired with
    itself, and a pair appears in one order only. There are tables of one part at a time.
    """
    if not left.n_distinct or not right.n_distinct:
        return
    plan = _plan(left, right, radius)
    for part in range(len(plan.parts)):
        yield from _PartJoin(left, right, plan, part, radius).run()


def _plan(left: Segment, right: Segment, radius: int) -> Plan:
    sample = right.tables.draw(right.words)
    sample = sample._replace(targets=left.tables.draw(left.words).targets)
    sizes = JoinSizes(left.n_distinct, right.n_distinct, left is right)
    return plan_join(sample, sizes, radius)


class _PartJoin:
    """The pairs that one part of a plan finds first.

    Parameters
    ----------
    left, right
        What is joined.
    plan
        The plan.
    part
        Number of the part.
    radius
        The largest distance.
    """

    def __init__(self, left: Segment, right: Segment, plan: Plan, part: int, radius: int) -> None:
        bits = plan.parts[part]
        differences = right.tables.draw(right.words).differences
        columns = choose_columns((bits,), differences)
        self._is_self = left is right
        self._right = _sort_codes(right, bits, columns)
        self._left = self._right if self._is_self else _sort_codes(left, bits, columns)
        self._arguments = (
            list_flips(len(bits), plan.radii[part]),
            self._is_self,
            radius,
            make_masks(plan.parts, len(left.words)),
            np.array(plan.radii, np.int64),
            part,
            MAX_PAIRS,
        )

    def run(self) -> Iterator[CodePairs]:
        """Yield the pairs; rows that have more than fit into a block are continued later."""
        n_rows = len(self._left.order)
        edges = np.linspace(0, n_rows, _TASKS_PER_THREAD * count_threads() + 1).astype(int)
        tasks = deque(_Rows(int(a), int(b)) for a, b in itertools.pairwise(edges) if a < b)
        while tasks:
            for pairs, rest in map_blocks(self._join, _drain(tasks)):
                if rest.first < rest.last:
                    tasks.appendleft(rest)
                if len(pairs.lefts):
                    yield pairs

    def _join(self, rows: _Rows) -> tuple[CodePairs, _Rows]:
        """Return the pairs of some rows, and the rows that are left to do."""
        # Pages that are not written to take no memory.
        size = MAX_PAIRS + joins.MAX_COMPARED + len(self._right.order)
        lefts, keys = np.empty(size, np.uint32), np.empty(size, np.uint64)
        next_row, n = joins.join_rows(*rows, self._left, self._right, *self._arguments, lefts, keys)
        distances, rights = unpack_keys(keys[:n])
        pairs = CodePairs(lefts[:n].astype(np.int64), rights, distances)
        return pairs, _Rows(next_row, rows.last)


def _sort_codes(segment: Segment, bits: tuple[int, ...], columns: Int64Array) -> JoinTable:
    arrays = Tables.build(segment.words, (bits,), columns).arrays
    return JoinTable(segment.words, arrays.words, arrays.order, arrays.starts)


def _drain(tasks: deque[_Rows]) -> Iterator[_Rows]:
    """Take tasks until there are none left."""
    while tasks:
        yield tasks.popleft()
