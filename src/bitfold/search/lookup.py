"""Radius lookup in a segment: by scan or by hash tables, whichever is expected to be faster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from math import comb
from typing import NamedTuple

import numpy as np

from bitfold._kernels import buckets, scan
from bitfold._kernels.keys import unpack_keys
from bitfold._progress import track
from bitfold._threads import map_blocks
from bitfold._types import Int64Array, UInt32Array, UInt64Array, Words
from bitfold.codes import count_bytes
from bitfold.search.results import RadiusHits
from bitfold.search.segment import Segment

# Nanoseconds on one core, measured on 1,000,000 random codes; only the ratios matter.
_NS_PER_SCANNED_WORD = 0.3
_NS_PER_PROBE = 40.0
_NS_PER_CANDIDATE = 12.0
_NS_PER_BUILT_CODE = 15.0
_NS_PER_BUILT_SLOT = 1.0

_MIN_NS_FOR_THREADS = 2e6
"""Work below this is faster on one thread."""

_QUERIES_PER_BLOCK = 256
"""Number of queries that a thread looks up together."""

_MAX_PART_BITS = 24
"""Maximum number of bits per part; the table of a part has 2**bits slots."""


class _Matches(NamedTuple):
    """Sorted keys of all queries, and the position where each query's keys end."""

    keys: UInt64Array
    ends: Int64Array


@dataclass(frozen=True)
class Plan:
    """How codes are divided into parts, and the radius within which each part is probed.

    Parameters
    ----------
    firsts
        First bit of each part.
    widths
        Number of bits of each part.
    radii
        Radius of each part.
    """

    firsts: tuple[int, ...]
    widths: tuple[int, ...]
    radii: tuple[int, ...]

    def cost(self, n_codes: int) -> float:
        """Return the expected nanoseconds per query."""
        costs = (
            self._n_probes(p) * (_NS_PER_PROBE + _NS_PER_CANDIDATE * n_codes / 2 ** self.widths[p])
            for p in range(len(self.widths))
        )
        return float(sum(costs))

    def build_cost(self, n_codes: int) -> float:
        """Return the expected nanoseconds to build the tables."""
        return float(
            sum(_NS_PER_BUILT_CODE * n_codes + _NS_PER_BUILT_SLOT * 2**w for w in self.widths)
        )

    def _n_probes(self, part: int) -> int:
        return sum(comb(self.widths[part], ones) for ones in range(self.radii[part] + 1))


@lru_cache(maxsize=256)
def best_plan(n_bits: int, n_codes: int, radius: int) -> Plan:
    """Return the cheapest way to divide codes of ``n_bits`` stored bits.

    With s parts and r = a s + b, the first b + 1 parts are probed within a, the others within
    a - 1: a code that is farther than that in every part is farther than r in total. Parts with
    a negative radius are not probed and need no table.
    """
    plans = []
    min_parts = -(-n_bits // _MAX_PART_BITS)
    for n_parts in range(min_parts, min(n_bits, min_parts + radius + 8) + 1):
        edges = [n_bits * p // n_parts for p in range(n_parts + 1)]
        a, b = divmod(radius, n_parts)
        radii = [a if p <= b else a - 1 for p in range(n_parts)]
        used = [p for p in range(n_parts) if radii[p] >= 0]
        widths = tuple(edges[p + 1] - edges[p] for p in used)
        plans.append(Plan(tuple(edges[p] for p in used), widths, tuple(radii[p] for p in used)))
    return min(plans, key=lambda plan: plan.cost(n_codes))


class RadiusLookup:
    """Radius lookup in one segment; keeps the tables it has built.

    Parameters
    ----------
    segment
        The segment.
    n_bits
        Length of the codes.
    """

    def __init__(self, segment: Segment, n_bits: int) -> None:
        self._segment, self._n_bits = segment, n_bits
        # Padding inside the last byte is zero in every code, and so never differs.
        self._n_stored_bits = 8 * count_bytes(n_bits)
        self._tables: dict[Plan, tuple[UInt32Array, UInt32Array]] = {}

    def restrict(self, segment: Segment) -> RadiusLookup:
        """Return a lookup of the same codes with other items deleted; it shares the tables."""
        restricted = RadiusLookup(segment, self._n_bits)
        restricted._tables = self._tables
        return restricted

    def estimate_ns(self, n_queries: int, radius: int) -> float:
        """Return the expected nanoseconds of :meth:`within`, including tables to be built."""
        plan = self.choose_plan(n_queries, radius)
        return self._build_cost(plan) + self._cost(n_queries, plan)

    def within(self, queries: Words, radius: int) -> RadiusHits:
        """Return the live items within a radius of each query."""
        return self.run(self.choose_plan(len(queries), radius), queries, radius)

    def run(self, plan: Plan | None, queries: Words, radius: int) -> RadiusHits:
        """Look up with the tables of a plan, or scan if there is none."""
        if plan is not None:
            self._build_tables(plan)
        find: Callable[[Words], _Matches] = partial(self._find, radius=radius, plan=plan)
        if self._cost(len(queries), plan) < _MIN_NS_FOR_THREADS:
            return self._flatten([find(queries)])
        step = _QUERIES_PER_BLOCK
        blocks = [queries[i : i + step] for i in range(0, len(queries), step)]
        return self._flatten(list(track(map_blocks(find, blocks), "search", len(blocks))))

    def choose_plan(self, n_queries: int, radius: int) -> Plan | None:
        """Return the plan for tables, or None if a scan is expected to be faster."""
        plan = best_plan(self._n_stored_bits, self._segment.n_distinct, radius)
        by_tables = self._build_cost(plan) + self._cost(n_queries, plan)
        return plan if by_tables < self._cost(n_queries, None) else None

    def _build_cost(self, plan: Plan | None) -> float:
        """Return the expected nanoseconds to build the tables of a plan that do not exist yet."""
        is_ready = plan is None or plan in self._tables
        return 0.0 if is_ready else plan.build_cost(self._segment.n_distinct)

    def _cost(self, n_queries: int, plan: Plan | None) -> float:
        """Return the expected nanoseconds of a lookup by tables, or by a scan without a plan."""
        n_words, n_codes = self._segment.words.shape
        per_query = plan.cost(n_codes) if plan else _NS_PER_SCANNED_WORD * n_words * n_codes
        return n_queries * per_query

    def _build_tables(self, plan: Plan) -> None:
        if plan in self._tables:
            return
        words = self._segment.words
        lengths = [(1 << width) + 1 for width in plan.widths]
        starts = np.empty(sum(lengths), np.uint32)
        order = np.empty((len(plan.widths), words.shape[1]), np.uint32)
        pieces = np.split(starts, np.cumsum(lengths)[:-1])
        for *part, piece, ranks in zip(plan.firsts, plan.widths, pieces, order, strict=True):
            buckets.sort_by_part(words, *part, piece, ranks)
        self._tables[plan] = (starts, order)

    def _find(self, queries: Words, radius: int, plan: Plan | None) -> _Matches:
        segment = self._segment
        if plan is None:
            find = partial(scan.scan_within, queries, segment.words, radius)
        else:
            parts = np.array([plan.firsts, plan.widths, plan.radii], np.int64)
            tables = self._tables[plan]
            find = partial(buckets.probe_within, queries, segment.words, *tables, *parts, radius)
        return _with_capacity(partial(find, *segment.postings), len(queries))

    def _flatten(self, blocks: list[_Matches]) -> RadiusHits:
        """Concatenate the matches of blocks of queries."""
        distances, items = unpack_keys(np.concatenate([block.keys for block in blocks]))
        shifts = np.cumsum([0, *(len(block.keys) for block in blocks)])
        ends = [block.ends + shift for block, shift in zip(blocks, shifts, strict=False)]
        offsets = np.concatenate([np.zeros(1, np.int64), *ends])
        return RadiusHits(offsets, self._segment.ids_of(items), distances)


def _with_capacity(run: Callable[[UInt64Array, Int64Array], int], n_queries: int) -> _Matches:
    """Run a kernel that lists keys; run it again with more space if there were too many."""
    ends = np.empty(n_queries, np.int64)
    keys = np.empty(64 * n_queries + 1024, np.uint64)
    n_keys = run(keys, ends)
    if n_keys > len(keys):
        keys = np.empty(n_keys, np.uint64)
        n_keys = run(keys, ends)
    return _Matches(keys[:n_keys], ends)
