"""Exact search over codes that pass by in batches: a batch in memory, the best so far kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from bitfold._types import Ids
from bitfold.codes import Codes
from bitfold.search import HammingIndex, Hits, RadiusHits
from bitfold.search.ranking import Nearest, merge
from bitfold.stores.contract import flat

Part = tuple[Codes, Ids]


def nearest(parts: Iterable[Part], codes: Codes, k: int) -> Hits:
    """Find the k nearest of each query, ties by id, or all when they are fewer.

    Parameters
    ----------
    parts
        Codes with their ids, in any order.
    codes
        Query codes.
    k
        How many.
    """
    best = Nearest(np.empty((len(codes), 0), np.int32), np.empty((len(codes), 0), np.int64))
    for index in _indexes(parts, codes.n_bits):
        found = index.search(codes, min(k, len(index)))
        best = merge([best, Nearest(found.distances, found.ids)], k)
    return Hits(best.items, best.distances)


def within(parts: Iterable[Part], codes: Codes, radius: int) -> RadiusHits:
    """Find all within a radius of each query.

    Parameters
    ----------
    parts
        Codes with their ids, in any order.
    codes
        Query codes.
    radius
        The largest distance that still counts.
    """
    found = [
        (np.repeat(np.arange(len(codes)), np.diff(near.offsets)), near.ids, near.distances)
        for near in (index.within(codes, radius) for index in _indexes(parts, codes.n_bits))
    ]
    found = found or [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32))]
    query, ids, distances = (np.concatenate(column) for column in zip(*found, strict=True))
    return flat(query, ids, distances, len(codes))


def _indexes(parts: Iterable[Part], n_bits: int) -> Iterator[HammingIndex]:
    for codes, ids in parts:
        if len(ids):
            index = HammingIndex(n_bits)
            index.add(codes, ids=ids)
            yield index
