"""Radius lookup in a segment: by scan or by tables, whichever is expected to be faster."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from bitfold._kernels import buckets
from bitfold._kernels.keys import unpack_keys
from bitfold._progress import track
from bitfold._threads import count_threads, map_blocks
from bitfold._types import Ids, Int32Array, Int64Array, Words
from bitfold.search.results import RadiusHits
from bitfold.search.segment import Segment
from bitfold.search.tables import TableLookup

_MIN_NS_FOR_THREADS = 1e6
"""Work below this is faster on one thread."""

_MAX_QUERIES_PER_BLOCK = 256
"""Number of queries that a thread looks up together."""


class _Matches(NamedTuple):
    """The items of some queries, and the position where each query's items end."""

    ids: Ids
    distances: Int32Array
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
            return _flatten([], len(queries))
        return self.run(self._find_tables(len(queries), radius), queries, radius)

    def run(self, lookup: TableLookup | None, queries: Words, radius: int) -> RadiusHits:
        """Look up by tables, or scan if there are none."""
        find = partial(self._find, radius=radius, lookup=lookup)
        if len(queries) * self._expect_ns(lookup, radius) < _MIN_NS_FOR_THREADS:
            return _flatten([find(queries)], len(queries))
        step = int(np.clip(len(queries) // (4 * count_threads()), 1, _MAX_QUERIES_PER_BLOCK))
        blocks = [queries[i : i + step] for i in range(0, len(queries), step)]
        return _flatten(list(track(map_blocks(find, blocks), "search", len(blocks))), len(queries))

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
        rest = (segment.n_items, *segment.postings, ends)
        if lookup is None:
            keys = buckets.scan_within(queries, segment.words, radius, n_words, *rest)
        else:
            tables, probes, plan = lookup
            keys = buckets.probe_within(
                queries, segment.words, tables.keys, tables.arrays, probes,
                radius, n_words, plan.max_codes, *rest,
            )  # fmt: skip
        distances, items = unpack_keys(keys)
        return _Matches(segment.ids_of(items), distances, ends)


def _flatten(blocks: list[_Matches], n_queries: int) -> RadiusHits:
    """Concatenate the matches of blocks of queries."""
    if not blocks:
        nothing = np.empty(0, np.int64)
        return RadiusHits(np.zeros(n_queries + 1, np.int64), nothing, nothing.astype(np.int32))
    shifts = np.cumsum([0, *(len(block.ids) for block in blocks)])
    ends = [block.ends + shift for block, shift in zip(blocks, shifts, strict=False)]
    return RadiusHits(
        np.concatenate([np.zeros(1, np.int64), *ends]),
        np.concatenate([block.ids for block in blocks]),
        np.concatenate([block.distances for block in blocks]),
    )
