"""The segments of an index, searched as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bitfold._threads import lazy_property
from bitfold._types import AnyArray, BoolArray, Ids, Int64Array, Words
from bitfold.search.filters import count_items, is_cheaper_to_gather, narrow
from bitfold.search.lookup import RadiusLookup
from bitfold.search.merge import merge_hits, merge_radius_hits
from bitfold.search.queries import Queries
from bitfold.search.ranking import rank_segment
from bitfold.search.results import Hits, RadiusHits
from bitfold.search.segment import Segment

Selection = list[tuple[Segment, Int64Array | BoolArray]]
"""Segments with some of their live items, ascending, or a mask of all their items."""

_TABLES_PER_CODES = 8
"""Memory of the tables, as a multiple of that of the codes, unless the user limits it."""

_MIN_TABLE_BYTES = 1 << 26
"""Memory that tables may always take, unless the user limits it."""


class SegmentList:
    """Segments of disjoint ids; never modified, only replaced.

    Parameters
    ----------
    n_bits
        Length of the codes.
    segments
        The segments.
    max_table_bytes
        Memory that the tables of all segments may take; None chooses by the size of the codes.
    """

    def __init__(
        self,
        n_bits: int,
        segments: Sequence[Segment] = (),
        max_table_bytes: int | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.segments = tuple(segments)
        self.max_table_bytes = max_table_bytes

    def replace(self, segments: Sequence[Segment]) -> SegmentList:
        """Return a list of these segments with the same limit."""
        return SegmentList(self.n_bits, segments, self.max_table_bytes)

    def __len__(self) -> int:
        """Return the number of live items."""
        return sum(map(len, self.segments))

    @property
    def n_distinct(self) -> int:
        """Number of codes that a scan reads."""
        return sum(segment.n_distinct for segment in self.segments)

    def select(self, among: AnyArray) -> Selection:
        """Return the segments with the live items that a filter leaves; ids may be unknown."""
        if among.dtype == bool and len(self.segments) == 1:
            segment = self.segments[0]
            return [(segment, segment.expand_mask(among))]
        ids = self._ids[among] if among.dtype == bool else among
        found = [(segment, segment.find(ids)) for segment in self.segments]
        return [(segment, items[items >= 0]) for segment, items in found]

    @lazy_property
    def _ids(self) -> Ids:
        """The ids of the live items, ascending."""
        parts = [segment.ids[segment.live] for segment in self.segments]
        # Each part is sorted, and a stable sort merges sorted parts.
        return np.sort(np.concatenate([np.empty(0, np.int64), *parts]), kind="stable")

    def among(self, selection: Selection, n_queries: int) -> SegmentList:
        """Return what a filter leaves, for a scan by some queries."""
        return SegmentList(self.n_bits, [narrow(*part, n_queries) for part in selection])

    def nearest(self, queries: Queries, k: int) -> Hits:
        """Return the k nearest items of each query, or all if there are fewer."""
        parts = [
            rank_segment(segment, queries, min(k, len(segment)))
            for segment in self.segments
            if len(segment)
        ]
        return merge_hits(parts or [_find_nothing(queries)], k)

    def within(self, words: Words, radius: int) -> RadiusHits:
        """Return the items within a radius of each query."""
        parts = [self._lookup(segment).within(words, radius) for segment in self.segments]
        return merge_radius_hits(parts, len(words))

    def within_among(self, selection: Selection, words: Words, radius: int) -> RadiusHits:
        """Return what a filter leaves within a radius of each query."""
        parts = []
        for segment, items in selection:
            lookup, n_queries = self._lookup(segment), len(words)
            n_left = count_items(items)
            full_ns = lookup.estimate_ns(n_queries, radius, n_left / max(segment.n_items, 1))
            if is_cheaper_to_gather(n_left, segment, n_queries, full_ns):
                lookup = RadiusLookup(segment.gather(items))
            else:
                lookup = lookup.restrict(segment.hide_others(items))
            parts.append(lookup.within(words, radius))
        return merge_radius_hits(parts, len(words))

    def contains(self, ids: Ids) -> BoolArray:
        """Return whether each id belongs to a live item."""
        is_known = np.zeros(len(ids), bool)
        for segment in self.segments:
            is_known |= segment.find(ids) >= 0
        return is_known

    def words_of(self, ids: Ids) -> Words:
        """Return the codes of some known ids, one row per id."""
        words = np.empty((len(ids), -(-self.n_bits // 64)), np.uint64)
        for segment in self.segments:
            items = segment.find(ids)
            here = items >= 0
            words[here] = segment.item_words(items[here])
        return words

    def without(self, ids: Ids) -> list[Segment]:
        """Return the segments with the items of some ids deleted."""
        found = [segment.find(ids) for segment in self.segments]
        return [
            segment.without(items[items >= 0]) if (items >= 0).any() else segment
            for segment, items in zip(self.segments, found, strict=True)
        ]

    def batches(self, size: int) -> Iterator[tuple[Ids, Words]]:
        """Iterate over the ids and codes of the live items, at most ``size`` at a time."""
        for segment in self.segments:
            for first in range(0, segment.n_items, size):
                items = np.arange(first, min(first + size, segment.n_items))
                if segment.n_deleted:
                    items = items[~segment.deleted[items]]
                if len(items):
                    yield segment.ids_of(items), np.ascontiguousarray(segment.item_words(items))

    def merge(self) -> Segment:
        """Return all live items as one segment."""
        no_words = np.empty((0, -(-self.n_bits // 64)), np.uint64)
        empty = Segment.build(no_words, np.empty(0, np.int64))
        return Segment.merge([empty, *self.segments])

    def unify(self) -> Segment:
        """Return one segment without deleted items, in which equal codes are stored once."""
        if len(self.segments) == 1 and not self.segments[0].n_deleted:
            return self.segments[0]
        return self.merge()

    def _lookup(self, segment: Segment) -> RadiusLookup:
        return RadiusLookup(segment, max_table_bytes=self.limit_tables(segment))

    def build_tables(self, radius: int) -> None:
        """Build the tables for a radius, unless a scan is faster."""
        for segment in self.segments:
            if segment.n_distinct:
                limit = self.limit_tables(segment)
                segment.tables.find(segment.words, radius, np.inf, limit)

    def drop_tables(self) -> None:
        """Drop the tables that exceed the limit."""
        for segment in self.segments:
            segment.tables.limit(self.limit_tables(segment))

    @property
    def table_bytes(self) -> int:
        """Memory of all tables."""
        return sum(segment.tables.n_bytes for segment in self.segments)

    def limit_tables(self, segment: Segment) -> float:
        """Return the memory that the tables of a segment may take."""
        n_bytes = 8 * -(-self.n_bits // 64) * segment.n_distinct
        if self.max_table_bytes is None:
            return max(_TABLES_PER_CODES * n_bytes, _MIN_TABLE_BYTES)
        # Segments are in proportion to their codes, also one that merges all of them.
        return self.max_table_bytes * min(1.0, segment.n_distinct / max(self.n_distinct, 1))


def _find_nothing(queries: Queries) -> Hits:
    """Return the hits of queries in an index without items."""
    shape = (len(queries), 0)
    distances = np.empty(shape, queries.too_far.dtype)
    return Hits(np.empty(shape, np.int64), distances, np.zeros(len(queries), np.int64))


def compact(segments: Sequence[Segment]) -> list[Segment]:
    """Merge segments that are small compared to the one before, or mostly deleted.

    Each code is merged a logarithmic number of times in total, and there are few segments.
    """
    kept: list[Segment] = []
    for segment in segments:
        if 2 * len(segment) < segment.n_items:
            segment = Segment.merge([segment])
        if segment.n_items:
            kept.append(segment)
    while len(kept) > 1 and 2 * len(kept[-1]) >= len(kept[-2]):
        last = kept.pop()
        kept[-1] = Segment.merge([kept[-1], last])
    return kept
