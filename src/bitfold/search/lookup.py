"""Radius lookup in a segment: by scan or by tables, whichever is expected to be faster."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from bitfold._kernels import buckets
from bitfold._kernels.keys import write_keys
from bitfold._progress import track
from bitfold._threads import count_threads, map_blocks, map_short
from bitfold._types import Int64Array, UInt64Array, Words
from bitfold.search.results import RadiusHits
from bitfold.search.segment import Segment
from bitfold.search.tables import NO_ITEM_TABLE, TableLookup

_MIN_NS_FOR_THREADS = 1e6
"""Work below this is faster on one thread."""

_MAX_SHORT_NS = 1e8
"""Work above this shows its progress."""

_MIN_HITS_FOR_THREADS = 1 << 16
"""Fewer hits are written faster by one thread."""

_NO_IDS = np.empty(0, np.int64)

_MAX_QUERIES_PER_BLOCK = 256
"""Number of queries that a thread looks up together."""


class _Matches(NamedTuple):
    """The sorted keys of some queries, and the position where each query's keys end."""

    keys: UInt64Array
    ends: Int64Array


class RadiusLookup:
    """Radius lookup in one segment.

    Parameters
    ----------
    segment
        The segment, which keeps the tables.
    max_table_bytes
        Memory that tables may take.
    """

    def __init__(self, segment: Segment, *, max_table_bytes: float = np.inf) -> None:
        self._segment = segment
        self._max_table_bytes = max_table_bytes

    def within(self, queries: Words, radius: int) -> RadiusHits:
        """Return the live items within a radius of each query."""
        segment = self._segment
        if not segment.n_distinct or not len(queries):
            return self._collect(
                [_Matches(np.empty(0, np.uint64), np.zeros(len(queries), np.int64))]
            )
        return self.run(self._find_tables(len(queries), radius), queries, radius)

    def run(self, lookup: TableLookup | None, queries: Words, radius: int) -> RadiusHits:
        """Look up by tables, or scan if there are none."""
        find = partial(self._find, radius=radius, lookup=lookup)
        expected_ns = len(queries) * self._expect_ns(lookup, radius)
        if expected_ns < _MIN_NS_FOR_THREADS:
            return self._collect([find(queries)])
        step = int(np.clip(len(queries) // (2 * count_threads()), 1, _MAX_QUERIES_PER_BLOCK))
        blocks = [queries[i : i + step] for i in range(0, len(queries), step)]
        if expected_ns < _MAX_SHORT_NS:
            return self._collect(map_short(find, blocks))
        return self._collect(list(track(map_blocks(find, blocks), "search", len(blocks))))

    def restrict(self, segment: Segment) -> RadiusLookup:
        """Return a lookup of the same codes with other items deleted; it shares the tables."""
        return RadiusLookup(segment, max_table_bytes=self._max_table_bytes)

    def estimate_ns(self, n_queries: int, radius: int, share: float) -> float:
        """Return the expected nanoseconds of a lookup among a share of the items, on one core.

        Tables are built if that pays off for this share of the work.
        """
        if not self._segment.n_distinct:
            return 0.0
        return n_queries * self._expect_ns(self._find_tables(share * n_queries, radius), radius)

    def _find_tables(self, n_queries: float, radius: int) -> TableLookup | None:
        tables, words = self._segment.tables, self._segment.words
        return tables.find(words, radius, n_queries, self._max_table_bytes)

    def _expect_ns(self, lookup: TableLookup | None, radius: int) -> float:
        """Return the expected nanoseconds per query."""
        if lookup is not None:
            return lookup.plan.ns
        return self._segment.tables.plan_scan(self._segment.words, radius).ns

    def _find(self, queries: Words, radius: int, lookup: TableLookup | None) -> _Matches:
        segment = self._segment
        n_words = segment.tables.plan_scan(segment.words, radius).n_words
        ends = np.empty(len(queries), np.int64)
        is_decided = lookup is not None or segment.tables.is_decided(radius)
        items = segment.item_table if is_decided else NO_ITEM_TABLE
        found = (segment.n_items, items, *segment.postings, ends)
        if lookup is None:
            keys = buckets.scan_within(queries, segment.words, radius, n_words, *found)
        else:
            tables, probes, plan = lookup
            keys = buckets.probe_within(
                queries, segment.words, tables.keys, tables.arrays, probes,
                radius, n_words, plan.max_codes, *found,
            )  # fmt: skip
        return _Matches(keys, ends)

    def _collect(self, blocks: list[_Matches]) -> RadiusHits:
        """Return the hits of blocks of queries; each is written to its place, without copies."""
        edges = np.cumsum([0, *(len(block.keys) for block in blocks)])
        ids, distances = np.empty(edges[-1], np.int64), np.empty(edges[-1], np.int32)
        first = self._segment.first_id
        known, shift = (self._segment.ids, 0) if first is None else (_NO_IDS, first)

        def write(b: int) -> None:
            place = slice(edges[b], edges[b + 1])
            write_keys(blocks[b].keys, known, shift, distances[place], ids[place])

        is_short = edges[-1] < _MIN_HITS_FOR_THREADS
        for _ in (
            map(write, range(len(blocks))) if is_short else map_blocks(write, range(len(blocks)))
        ):
            pass
        ends = [block.ends + edge for block, edge in zip(blocks, edges, strict=False)]
        return RadiusHits(np.concatenate([np.zeros(1, np.int64), *ends]), ids, distances)
