"""Search by code: buckets of equal codes, nearest first, with their items in order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bitfold._types import AnyArray, Float32Array, Int64Array
from bitfold.codes import Codes
from bitfold.explorer.item_vectors import ItemVectors
from bitfold.explorer.models import IndexedModel, hamming_distances

MAX_MEASURED = 1 << 17
"""Largest bucket whose items are ordered by exact distance; of larger ones, the first items."""


class CodeQuery(NamedTuple):
    """What is searched: a code, the reals behind it, the vector, and the item that it is.

    ``embedding`` has the signs of the code; None searches by Hamming distance.
    """

    code: Codes
    embedding: Float32Array | None = None
    vector: AnyArray | None = None
    row: int | None = None


class BucketGroup(NamedTuple):
    """A bucket in the results: its distance, its number of items, and the first of them.

    ``distances`` are exact, or None if they are unknown.
    """

    bucket: int
    hamming: int
    score: float | None
    size: int
    n_tied: int
    rows: Int64Array
    distances: Float32Array | None


class BucketSearch(NamedTuple):
    """Finds buckets of one model.

    Parameters
    ----------
    model
        The model.
    vectors
        Vectors that order the items of a bucket, or None.
    """

    model: IndexedModel
    vectors: ItemVectors | None

    def find(
        self, query: CodeQuery, k: int, per_group: int, among: Int64Array | None
    ) -> list[BucketGroup]:
        """Return the nearest buckets until they have k items; at most ``per_group`` each.

        ``among`` restricts the search to these rows.
        """
        sizes = self.count_sizes(query, among)
        allowed = None if among is None else np.flatnonzero(sizes)
        numbers, scores = self._rank(query, k, allowed)
        kept = sizes[numbers] > 0
        numbers, scores = numbers[kept], scores[kept]
        hamming = hamming_distances(query.code, self.model.distinct[numbers])
        tied = self._count_tied(query, sizes, hamming, scores, numbers)
        groups, n_left = [], k
        for i, bucket in enumerate(numbers.tolist()):
            if n_left <= 0:
                break
            rows, distances = self.order(query, bucket, among, min(per_group, n_left))
            score = None if query.embedding is None else float(scores[i])
            size, n_tied = int(sizes[bucket]), int(tied[i])
            groups.append(
                BucketGroup(bucket, int(hamming[i]), score, size, n_tied, rows, distances)
            )
            n_left -= len(rows)
        return groups

    def count_sizes(self, query: CodeQuery, among: Int64Array | None) -> Int64Array:
        """Return the number of items per bucket that are searched, without the query."""
        model = self.model
        if among is None:
            sizes = model.sizes.copy()
            if query.row is not None:
                sizes[model.bucket_of[query.row]] -= 1
            return sizes
        others = among if query.row is None else among[among != query.row]
        return np.bincount(model.bucket_of[others], minlength=model.n_distinct)

    def order(
        self, query: CodeQuery, bucket: int, among: Int64Array | None, stop: int, start: int = 0
    ) -> tuple[Int64Array, Float32Array | None]:
        """Return some items of a bucket: by exact distance if vectors are known, or by row."""
        rows = self.model.members(bucket)
        if among is not None:
            rows = rows[np.isin(rows, among, assume_unique=True)]
        if query.row is not None:
            rows = rows[rows != query.row]
        if self.vectors is None or query.vector is None:
            return rows[start:stop], None
        rows = rows[:MAX_MEASURED]
        distances = self.vectors.measure(query.vector, rows)
        order = np.argsort(distances, kind="stable")[start:stop]
        return rows[order], distances[order]

    def _rank(
        self, query: CodeQuery, k: int, allowed: Int64Array | None
    ) -> tuple[Int64Array, AnyArray]:
        """Return the nearest buckets and their distances; one more, if the query's gets empty."""
        if allowed is not None and not len(allowed):
            return np.empty(0, np.int64), np.empty(0, np.float32)
        embedding = None if query.embedding is None else query.embedding[None]
        code = Codes(query.code.packed, query.code.n_bits)
        hits = self.model.bucket_index.search(code, k + 1, query_embedding=embedding, among=allowed)
        return hits.ids[0], hits.distances[0]

    def _count_tied(
        self,
        query: CodeQuery,
        sizes: Int64Array,
        hamming: Int64Array,
        scores: AnyArray,
        numbers: Int64Array,
    ) -> Int64Array:
        """Return how many items are as far as those of each bucket."""
        if query.embedding is None:
            counts = np.bincount(
                self.model.measure(query.code), sizes, self.model.n_bits + 1
            ).astype(np.int64)
            return counts[hamming]
        _, group = np.unique(scores, return_inverse=True)
        totals = np.bincount(group, sizes[numbers]).astype(np.int64) if len(group) else group
        tied: Int64Array = totals[group]
        return tied


def align_signs(embedding: Float32Array, code: Codes) -> Float32Array:
    """Return an embedding with the signs of a code.

    A stored code may differ in a few bits from that of the vector, which is kept with fewer digits.
    """
    tiny = np.finfo(np.float32).tiny
    bits = code.unpack()[0].astype(np.float32) * 2 - 1
    aligned: Float32Array = np.maximum(np.abs(embedding), tiny) * bits
    return aligned


def weigh_parts(
    embedding: Float32Array, n_coarse_bits: int, weight: float, learned: float
) -> Float32Array:
    """Return an embedding whose coarse part has another weight than the learned one."""
    weighed = embedding.copy()
    weighed[:n_coarse_bits] *= np.float32(weight / learned)
    return weighed
