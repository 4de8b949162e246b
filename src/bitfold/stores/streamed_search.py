"""Exact search over codes that are read in batches: one batch in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from bitfold.codes import Codes
from bitfold.search import Batch, HammingIndex, Hits, RadiusHits, merge_hits, merge_radius_hits


def search_batches(batches: Iterable[Batch], codes: Codes, k: int) -> Hits:
    """Return the k nearest codes of each query, ties by id; all of them if there are fewer."""
    shape = len(codes), 0
    n_tied = np.zeros(len(codes), np.int64)
    best = Hits(np.empty(shape, np.int64), np.empty(shape, np.int32), n_tied)
    for index in _build_indexes(batches, codes.n_bits):
        best = merge_hits([best, index.search(codes, k)], k)
    return best


def search_batches_within(batches: Iterable[Batch], codes: Codes, radius: int) -> RadiusHits:
    """Return all codes within a Hamming radius of each query."""
    indexes = _build_indexes(batches, codes.n_bits)
    return merge_radius_hits([index.within(codes, radius) for index in indexes], len(codes))


def _build_indexes(batches: Iterable[Batch], n_bits: int) -> Iterator[HammingIndex]:
    for batch in batches:
        if len(batch.codes):
            index = HammingIndex(n_bits)
            index.add(batch.codes, ids=batch.ids)
            yield index
