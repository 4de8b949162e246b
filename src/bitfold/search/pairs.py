"""Pairs of near items: pairs of codes, with ids instead of the numbers of codes."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

import numpy as np

from bitfold._types import Ids, Int64Array
from bitfold.search.joins import MAX_PAIRS, CodePairs, join_codes
from bitfold.search.results import Pairs
from bitfold.search.segment import Segment


def find_pairs(segment: Segment, radius: int, *, expand_equal: bool) -> Iterator[Pairs]:
    """Find all pairs within a radius in a segment without deleted items, each once.

    Codes stand for all their items, and are represented by the smallest id; with ``expand_equal``
    there are all pairs of items, also of those with equal codes.
    """
    if expand_equal:
        yield from map(_sort_ids, _pair_equal(segment))
    for pairs in join_codes(segment, segment, radius):
        found = (
            _expand(segment, segment, pairs) if expand_equal else [_name(segment, segment, pairs)]
        )
        yield from map(_sort_ids, found)


def join_items(
    left: Segment, right: Segment, radius: int, *, expand_equal: bool
) -> Iterator[Pairs]:
    """Find all pairs within a radius between two segments without deleted items."""
    if left is right:
        # A copy, because a segment that is joined with itself gives each pair in one order only.
        right = copy(left)
    for pairs in join_codes(left, right, radius):
        if expand_equal:
            yield from _expand(left, right, pairs)
        else:
            yield _name(left, right, pairs)


def first_ids(segment: Segment, codes: Int64Array) -> Ids:
    """Return the smallest id of each code."""
    return segment.ids_of(segment.members[segment.starts[codes]] if len(segment.starts) else codes)


def _name(left: Segment, right: Segment, pairs: CodePairs) -> Pairs:
    """Represent codes by their smallest ids."""
    ids = first_ids(left, pairs.lefts), first_ids(right, pairs.rights)
    return Pairs(*ids, pairs.distances)


def _sort_ids(pairs: Pairs) -> Pairs:
    """Put the smaller id of each pair first."""
    first, second, distances = pairs
    return Pairs(np.minimum(first, second), np.maximum(first, second), distances)


def _expand(left: Segment, right: Segment, pairs: CodePairs) -> Iterator[Pairs]:
    """Yield all pairs of items of pairs of codes, in blocks."""
    left_first, left_count = _locate_items(left, pairs.lefts)
    right_first, right_count = _locate_items(right, pairs.rights)
    for row, offset in _split(left_count * right_count):
        i, j = np.divmod(offset, right_count[row])
        yield Pairs(
            _ids_at(left, left_first[row] + i),
            _ids_at(right, right_first[row] + j),
            pairs.distances[row],
        )


def _pair_equal(segment: Segment) -> Iterator[Pairs]:
    """Yield all pairs of items with equal codes, in blocks."""
    if not len(segment.starts):
        return
    starts = segment.starts.astype(np.int64)
    ends = np.repeat(starts[1:], starts[1:] - starts[:-1])
    for row, offset in _split(ends - np.arange(len(ends)) - 1):
        zeros = np.zeros(len(row), np.int32)
        yield Pairs(_ids_at(segment, row), _ids_at(segment, row + 1 + offset), zeros)


def _split(counts: Int64Array) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Yield ``(row, offset)`` for all offsets below the count of each row, in blocks."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    for first in range(0, total, MAX_PAIRS):
        flat = np.arange(first, min(first + MAX_PAIRS, total))
        row = np.searchsorted(ends, flat, side="right")
        yield row, flat - (ends[row] - counts[row])


def _locate_items(segment: Segment, codes: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return where the items of each code begin, and their number."""
    if not len(segment.starts):
        return codes, np.ones(len(codes), np.int64)
    starts = segment.starts.astype(np.int64)
    return starts[codes], starts[codes + 1] - starts[codes]


def _ids_at(segment: Segment, positions: Int64Array) -> Ids:
    """Return the ids of the items at some positions of the list of members."""
    return segment.ids_of(segment.members[positions] if len(segment.members) else positions)
