"""Exact search of the flat codes in a faiss index, with ties by id and an inclusive radius."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from bitfold._types import Ids, Int64Array
from bitfold.codes import Codes
from bitfold.search import Hits, RadiusHits, group_radius_hits
from bitfold.stores.faiss.binary_index import BinaryIndex

_MAX_BLOCK_HITS = 1 << 24
"""Maximum number of radius hits in memory at a time, unless a single query has more."""


def search_flat(index: BinaryIndex, codes: Codes, k: int) -> Hits:
    """Return the k nearest codes of each query, or all if there are fewer."""
    k = min(k, len(index))
    if not k or not len(codes):
        shape = len(codes), k
        n_tied = np.zeros(len(codes), np.int64)
        return Hits(np.empty(shape, np.int64), np.empty(shape, np.int32), n_tied)
    # One more result than needed shows whether the k-th distance is a tie.
    distances, positions = index.storage.search(codes.packed, min(k + 1, len(index)))
    ids = index.ids[positions]
    order = np.lexsort((ids, distances), axis=1)
    distances, ids = (np.take_along_axis(array, order, 1) for array in (distances, ids))
    farthest = distances[:, k - 1].copy()
    n_tied = np.count_nonzero(distances == farthest[:, None], axis=1).astype(np.int64)
    found = Hits(ids[:, :k].copy(), distances[:, :k].copy(), n_tied)
    is_tied = (distances[:, k:] == farthest[:, None]).any(axis=1)
    for radius in np.unique(farthest[is_tied]):
        queries = np.flatnonzero(is_tied & (farthest == radius))
        _break_ties(index, found, n_tied, codes, queries, radius)
    return found


def _break_ties(
    index: BinaryIndex, found: Hits, n_tied: Int64Array, codes: Codes, queries: Ids, radius: int
) -> None:
    """Replace the results of queries with more codes at the k-th distance than fit."""
    k = found.ids.shape[1]
    for block, near in _search_blocks(index, codes[queries], int(radius)):
        for query, (first, last) in zip(queries[block], pairwise(near.offsets), strict=True):
            found.ids[query] = near.ids[first : first + k]
            found.distances[query] = near.distances[first : first + k]
            n_tied[query] = np.count_nonzero(near.distances[first:last] == radius)


def search_flat_within(index: BinaryIndex, codes: Codes, radius: int) -> RadiusHits:
    """Return all codes within a radius of each query."""
    parts = [near for _, near in _search_blocks(index, codes, radius)]
    if len(parts) == 1:
        return parts[0]
    counts = np.concatenate([[0], *(np.diff(near.offsets) for near in parts)])
    ids = np.concatenate([np.empty(0, np.int64), *(near.ids for near in parts)])
    distances = np.concatenate([np.empty(0, np.int32), *(near.distances for near in parts)])
    return RadiusHits(np.cumsum(counts, dtype=np.int64), ids, distances)


def _search_blocks(
    index: BinaryIndex, codes: Codes, radius: int
) -> Iterator[tuple[slice, RadiusHits]]:
    """Yield blocks of queries with their radius hits; memory is limited by the block size."""
    step = max(1, _MAX_BLOCK_HITS // max(len(index), 1))
    for start in range(0, len(codes), step):
        block = codes[start : start + step]
        yield slice(start, start + len(block)), _search_range(index, block, radius)


def _search_range(index: BinaryIndex, codes: Codes, radius: int) -> RadiusHits:
    # faiss excludes the radius itself.
    offsets, distances, positions = index.storage.range_search(codes.packed, radius + 1)
    queries = np.repeat(np.arange(len(codes)), np.diff(offsets.astype(np.int64)))
    return group_radius_hits(queries, index.ids[positions], distances, len(codes))
