"""Groups of near items: connected by chains of pairs, or stars around representatives."""

from __future__ import annotations

import numpy as np

from bitfold._kernels import forest
from bitfold._types import Int32Array, Int64Array
from bitfold.search.joins import join_codes
from bitfold.search.lookup import RadiusLookup
from bitfold.search.results import Clusters
from bitfold.search.segment import Segment

_MAX_NEAR = 1 << 22
"""Expected number of near codes of the codes that are looked up together."""


def group_connected(segment: Segment, radius: int, min_size: int) -> Clusters:
    """Group the items of a segment without deleted items by chains of near codes."""
    parents = np.arange(segment.n_distinct)
    for pairs in join_codes(segment, segment, radius):
        forest.connect(parents, pairs.lefts, pairs.rights)
    forest.point_to_roots(parents)
    return _list_groups(segment, parents, min_size)


def group_stars(segment: Segment, radius: int, min_size: int, max_table_bytes: float) -> Clusters:
    """Group the items of a segment without deleted items around representatives.

    Codes are in the order of their smallest ids. Those without a representative are looked up, a
    block at a time.
    """
    centers = np.full(segment.n_distinct, -1)
    lookup = RadiusLookup(_without_items(segment), max_table_bytes=max_table_bytes)
    first, n_nodes = 0, 1024
    while first < segment.n_distinct:
        nodes = first + np.flatnonzero(centers[first : first + n_nodes] < 0)
        offsets, near, _ = lookup.within(np.ascontiguousarray(segment.words[:, nodes].T), radius)
        forest.claim_stars(centers, nodes, offsets, near)
        first += n_nodes
        n_nodes = int(np.clip(_MAX_NEAR * len(nodes) // max(len(near), 1), 64, 1 << 15))
    return _list_groups(segment, centers, min_size)


def _without_items(segment: Segment) -> Segment:
    """Return the codes of a segment as its items; both share their tables."""
    nothing = np.empty(0, np.uint32)
    ids = np.arange(segment.n_distinct)
    return Segment(segment.words, nothing, nothing, ids, np.empty(0, bool), segment.tables)


def _list_groups(segment: Segment, centers: Int64Array, min_size: int) -> Clusters:
    """List the items of codes with the same center, if there are enough."""
    codes = segment.item_codes
    center_of = centers[codes]
    items = np.argsort(center_of, kind="stable")
    sizes = np.bincount(center_of, minlength=1)
    items = items[sizes[center_of[items]] >= min_size]
    offsets = np.concatenate([[0], np.cumsum(sizes[sizes >= min_size])])
    distances = _measure(segment, codes[items], center_of[items])
    return Clusters(offsets, segment.ids_of(items), distances)


def _measure(segment: Segment, codes: Int64Array, centers: Int64Array) -> Int32Array:
    """Return the distances of pairs of codes."""
    distances = np.zeros(len(codes), np.int32)
    for column in segment.words:
        distances += np.bitwise_count(column[codes] ^ column[centers])
    return distances
