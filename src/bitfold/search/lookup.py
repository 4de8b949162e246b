"""Radius lookup in a segment: by scan or by buckets, whichever the cost model says is less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import NamedTuple

import numpy as np

from bitfold._kernels import buckets, ranking
from bitfold._types import Int64Array, UInt32Array, UInt64Array, Words
from bitfold.codes import count_bytes
from bitfold.search.segment import Segment

# Nanoseconds on one core, measured on 1,000,000 random codes; only their ratios matter.
_SCAN_WORD = 0.3
_PROBE = 40.0
_CANDIDATE = 12.0
_BUILD_CODE = 15.0
_BUILD_KEY = 1.0

_WIDEST = 24
"""Bits of a part: its table has two to the power of them places."""


class Matches(NamedTuple):
    """Sorted keys (distance << 48 | item) of all queries, and where each query's end."""

    keys: UInt64Array
    offsets: Int64Array


@dataclass(frozen=True)
class Plan:
    """How codes are cut into parts for buckets, and how far each part is probed."""

    firsts: tuple[int, ...]
    widths: tuple[int, ...]
    radii: tuple[int, ...]

    def cost(self, n_codes: int) -> float:
        """Expected nanoseconds of one query."""
        each = (
            self._keys(p) * (_PROBE + _CANDIDATE * n_codes / 2 ** self.widths[p])
            for p in range(len(self.widths))
        )
        return float(sum(each))

    def build_cost(self, n_codes: int) -> float:
        """Nanoseconds to make the tables."""
        return float(sum(_BUILD_CODE * n_codes + _BUILD_KEY * 2**w for w in self.widths))

    def _keys(self, part: int) -> int:
        return sum(comb(self.widths[part], ones) for ones in range(self.radii[part] + 1))


@lru_cache(maxsize=256)
def best_plan(n_bits: int, n_codes: int, radius: int) -> Plan:
    """Return the cheapest way to cut codes of ``n_bits`` stored bits.

    With s parts and r = a s + b, the first b + 1 parts are probed to a, the others to a - 1: if
    a code were farther in every part, it would be farther than r in all. A part probed to less
    than 0 is not probed, so no table is made for it.
    """
    plans = []
    fewest = -(-n_bits // _WIDEST)
    for n_parts in range(fewest, min(n_bits, fewest + radius + 8) + 1):
        edges = [n_bits * p // n_parts for p in range(n_parts + 1)]
        a, b = divmod(radius, n_parts)
        radii = [a if p <= b else a - 1 for p in range(n_parts)]
        used = [p for p in range(n_parts) if radii[p] >= 0]
        widths = tuple(edges[p + 1] - edges[p] for p in used)
        plans.append(Plan(tuple(edges[p] for p in used), widths, tuple(radii[p] for p in used)))
    return min(plans, key=lambda plan: plan.cost(n_codes))


class Lookup:
    """Radius lookup in one segment; keeps the tables it has made."""

    def __init__(self, segment: Segment, n_bits: int) -> None:
        self.segment = segment
        # Padding inside the last byte is zero in every code, and so never differs.
        self._stored_bits = 8 * count_bytes(n_bits)
        self._tables: dict[Plan, tuple[UInt32Array, UInt32Array]] = {}

    def cost(self, n_queries: int, plan: Plan | None) -> float:
        """Expected nanoseconds of so many queries, by buckets or by scan."""
        n_words, n_codes = self.segment.words.shape
        return n_queries * (plan.cost(n_codes) if plan else _SCAN_WORD * n_words * n_codes)

    def plan(self, n_queries: int, radius: int) -> Plan | None:
        """Return the plan for buckets if they are worth it for so many queries."""
        n_codes = self.segment.n_distinct
        plan = best_plan(self._stored_bits, n_codes, radius)
        build = 0.0 if plan in self._tables else plan.build_cost(n_codes)
        return plan if build + self.cost(n_queries, plan) < self.cost(n_queries, None) else None

    def prepare(self, plan: Plan) -> None:
        """Make the tables a plan needs."""
        if plan in self._tables:
            return
        words = self.segment.words
        lengths = [(1 << width) + 1 for width in plan.widths]
        heads = np.empty(sum(lengths), np.uint32)
        order = np.empty((len(plan.widths), words.shape[1]), np.uint32)
        begin = 0
        for part, length in enumerate(lengths):
            starts = heads[begin : begin + length]
            buckets.fill(words, plan.firsts[part], plan.widths[part], starts, order[part])
            begin += length
        self._tables[plan] = (heads, order)

    def within(self, queries: Words, radius: int, plan: Plan | None) -> Matches:
        """List the items within a radius of each query."""
        segment = self.segment
        postings = (segment.starts, segment.members, segment.deleted)
        if plan is None:
            return _with_room(
                lambda keys, offsets: ranking.within(
                    queries, segment.words, radius, *postings, keys, offsets
                ),
                len(queries),
            )
        cut = [np.array(side, np.int64) for side in (plan.firsts, plan.widths, plan.radii)]
        return _with_room(
            lambda keys, offsets: buckets.within(
                queries, segment.words, *self._tables[plan], *cut, radius, *postings, keys, offsets
            ),
            len(queries),
        )


def _with_room(run: Callable[[UInt64Array, Int64Array], int], n_queries: int) -> Matches:
    """Run a kernel that lists keys, again if there were more than expected."""
    offsets = np.empty(n_queries, np.int64)
    keys = np.empty(64 * n_queries + 1024, np.uint64)
    count = run(keys, offsets)
    if count > len(keys):
        keys = np.empty(count, np.uint64)
        count = run(keys, offsets)
    return Matches(keys[:count], offsets)
