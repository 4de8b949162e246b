"""The Hamming index: exact ranking and radius lookup over codes with ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._threads import map_blocks
from bitfold._types import Ids, Words
from bitfold.codes import Codes, combine_digests, count_bytes
from bitfold.search import ranking
from bitfold.search.contract import (
    MAX_BITS,
    Batch,
    CodeIndex,
    Hits,
    RadiusHits,
    Reranker,
    check_codes,
)
from bitfold.search.disk.index_folder import Folder
from bitfold.search.ids import Numbering, integers, raise_ids, raise_taken
from bitfold.search.lookup import Lookup, Matches
from bitfold.search.rerank import reorder
from bitfold.search.segment import Segment

_LOOKUP_BLOCK = 256
"""Queries that are looked up together."""

_BATCH_CODES = 1 << 17
"""Codes of a batch: worth a trip to a database, and a few megabytes."""

_WORTH_A_THREAD = 2e6
"""Nanoseconds of work below which handing it to other threads takes longer than doing it."""


class HammingIndex(CodeIndex):
    """Search by Hamming distance: exact, on all cores, each distinct code looked at once.

    Parameters
    ----------
    n_bits
        Length of the codes, 1 to 1024.

    Examples
    --------
    >>> codes = Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> index = HammingIndex(n_bits=3)
    >>> index.add(codes)
    >>> index.search(codes[:1], k=2).ids.tolist()
    [[0, 2]]
    >>> index.within(codes[:1], radius=1).distances.tolist()
    [0, 1]
    """

    def __init__(self, n_bits: int) -> None:
        self.n_bits = _validation.check_integer(
            n_bits, "n_bits", "HammingIndex", low=1, high=MAX_BITS
        )
        self._segments: list[Segment] = []
        self._lookups: dict[int, Lookup] = {}
        self._next_id = 0
        self._model_digest: str | None = None
        self._folder: Folder | None = None

    def add(self, codes: Codes, ids: ArrayLike | None = None) -> None:
        """Add codes.

        Parameters
        ----------
        codes
            Codes of ``n_bits``.
        ids
            A different integer for each code; None continues after the largest id so far,
            beginning with 0.
        """
        self._check_codes(codes)
        numbering = Numbering("HammingIndex", self._next_id)
        numbers = numbering.assign(ids, len(codes))
        if not len(codes):
            return
        if ids is not None:
            self._check_new(numbers)
        fresh = Segment.build(codes.words(), numbers)
        digest = combine_digests([self._model_digest, codes.model_digest])
        self._replace(_settle([*self._segments, fresh]), numbering.next_id, digest)

    def remove(self, ids: ArrayLike) -> None:
        """Remove codes by id; an unknown id is an error, and then nothing is removed.

        Parameters
        ----------
        ids
            Ids of codes in the index.
        """
        numbers = np.unique(integers(ids, "HammingIndex"))
        found = [segment.find(numbers) for segment in self._segments]
        known = np.zeros(len(numbers), bool)
        for items in found:
            known |= items >= 0
        if not known.all():
            raise_ids("HammingIndex", "in the index", numbers[~known])
        self._replace(
            _settle(
                [
                    segment.without(items[items >= 0]) if (items >= 0).any() else segment
                    for segment, items in zip(self._segments, found, strict=True)
                ]
            ),
            self._next_id,
            self._model_digest,
        )

    def search(self, codes: Codes, k: int = 10, *, rerank: Reranker | None = None) -> Hits:
        """Find the k nearest codes of each query, ties by id.

        Parameters
        ----------
        codes
            Query codes.
        k
            Number of codes per query, at least 1. All are returned if there are fewer.
        rerank
            :class:`RerankByVectors` or :class:`RerankByEmbedding`, which reorder the candidates.
        """
        self._check_codes(codes)
        k = min(_validation.check_integer(k, "k", "search", low=1), len(self))
        if rerank is None:
            return self._nearest(codes.words(), k)
        wanted = _validation.check_integer(
            rerank.n_candidates, "n_candidates", type(rerank).__name__, low=1
        )
        found = self._nearest(codes.words(), min(max(wanted, k), len(self)))
        return reorder(found.ids, rerank.measure(found.ids, self.codes), k)

    def within(self, codes: Codes, radius: int = 2) -> RadiusHits:
        """Find all codes within a Hamming radius of each query: the paper's hash lookup.

        Parameters
        ----------
        codes
            Query codes.
        radius
            The largest distance that still counts.
        """
        self._check_codes(codes)
        _validation.check_integer(radius, "radius", "within", low=0)
        radius = min(radius, self.n_bits)
        words = codes.words()
        parts = [self._within(segment, words, radius) for segment in self._segments]
        if len(parts) == 1:
            return parts[0]
        return _join(parts, len(codes))

    def codes(self, ids: ArrayLike) -> Codes:
        """Return the codes of some ids, in their order.

        Parameters
        ----------
        ids
            Ids of codes in the index.
        """
        numbers = integers(ids, "HammingIndex")
        words = np.empty((len(numbers), -(-self.n_bits // 64)), np.uint64)
        missing = np.ones(len(numbers), bool)
        for segment in self._segments:
            items = segment.find(numbers)
            here = items >= 0
            words[here] = segment.item_words(items[here])
            missing &= ~here
        if missing.any():
            raise_ids("HammingIndex", "in the index", numbers[missing])
        return self._as_codes(words)

    def batches(self) -> Iterator[Batch]:
        """Yield all codes with their ids, some at a time; each id comes once, in no given order.

        They are those that are there when the first is asked for, whatever is added or removed
        meanwhile.

        Examples
        --------
        >>> index = HammingIndex(n_bits=3)
        >>> index.add(Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 0]]))
        >>> index.remove([1])
        >>> [(batch.ids.tolist(), batch.codes) for batch in index.batches()]
        [([0, 2], Codes(2 x 3 bits))]
        """
        for segment in self._segments:  # the list is replaced, never changed
            for first in range(0, segment.n_items, _BATCH_CODES):
                items = np.arange(first, min(first + _BATCH_CODES, segment.n_items))
                if segment.n_deleted:
                    items = items[~segment.deleted[items]]
                if len(items):
                    codes = self._as_codes(np.ascontiguousarray(segment.item_words(items)))
                    yield Batch(segment.ids_of(items), codes)

    def save(self, path: Any) -> None:
        """Write the index to a folder of its own, durably; :meth:`open` reads it back.

        Parameters
        ----------
        path
            A new folder, or one that holds an index, which is then replaced.
        """
        if self._folder is not None and self._folder.writes_to(path):
            return  # every change is there already
        with Folder.create(path, self.n_bits) as folder:
            folder.commit(self._segments, self._next_id, self._model_digest)

    @classmethod
    def open(cls, path: Any, mode: str = "r") -> Self:
        """Open an index on disk: memory-mapped, at once.

        Parameters
        ----------
        path
            A folder written by :meth:`save`; with mode "a" it may also be opened again and again.
        mode
            "r" to search; "a" to add and remove as well, durably: what :meth:`add` returned from
            is there after a crash. One writer at a time; readers are not disturbed.
        """
        _validation.check_choice(mode, "mode", "HammingIndex.open", ("r", "a"))
        folder = Folder.open(path, mode)
        index = cls(folder.n_bits)
        index._segments, index._next_id, index._folder = folder.segments, folder.next_id, folder
        index._model_digest = folder.model_digest
        return index

    def close(self) -> None:
        """Give up the folder, so that another writer may open it."""
        if self._folder is not None:
            self._folder.close()

    @property
    def model_digest(self) -> str | None:
        """Digest of the model whose codes are in the index; None if it is unknown."""
        return self._model_digest

    def __len__(self) -> int:
        return sum(map(len, self._segments))

    @property
    def n_distinct(self) -> int:
        """How many codes are stored and scanned: equal ones once, in each segment."""
        return sum(segment.n_distinct for segment in self._segments)

    def __repr__(self) -> str:
        return f"HammingIndex({len(self)} x {self.n_bits} bits)"

    def _nearest(self, words: Words, k: int) -> Hits:
        empty = (len(words), 0)
        parts = [ranking.Nearest(np.empty(empty, np.int32), np.empty(empty, np.int64))]
        for segment in self._segments:
            if len(segment):
                found = ranking.nearest(segment, words, min(k, len(segment)))
                parts.append(ranking.Nearest(found.distances, segment.ids_of(found.items)))
        best = ranking.merge(parts, k)
        return Hits(best.items, best.distances)

    def _within(self, segment: Segment, words: Words, radius: int) -> RadiusHits:
        lookup = self._lookups.setdefault(id(segment), Lookup(segment, self.n_bits))
        plan = lookup.plan(len(words), radius)
        if plan is not None:
            lookup.prepare(plan)
        find: Callable[[Words], Matches] = partial(lookup.within, radius=radius, plan=plan)
        if lookup.cost(len(words), plan) < _WORTH_A_THREAD:
            return _flatten([find(words)], segment)
        blocks = [words[i : i + _LOOKUP_BLOCK] for i in range(0, len(words), _LOOKUP_BLOCK)]
        return _flatten(list(map_blocks(find, blocks)), segment)

    def _replace(self, segments: list[Segment], next_id: int, digest: str | None) -> None:
        """Make these the segments, on disk first: an error there leaves everything as it was."""
        if self._folder is not None:
            self._folder.commit(segments, next_id, digest)
            segments = self._folder.segments
        self._segments, self._next_id, self._model_digest = segments, next_id, digest
        self._lookups = {
            key: lookup
            for key, lookup in self._lookups.items()
            if any(lookup.segment is segment for segment in segments)
        }

    def _check_codes(self, codes: Any) -> None:
        check_codes(codes, self.n_bits, "HammingIndex")
        combine_digests([self._model_digest, codes.model_digest])

    def _check_new(self, ids: Ids) -> None:
        """Raise if there are codes of these ids already."""
        taken = [ids[segment.find(ids) >= 0] for segment in self._segments]
        repeated = np.concatenate([ids[:0], *taken])
        if len(repeated):
            raise_taken("HammingIndex", np.sort(repeated))

    def _as_codes(self, words: Words) -> Codes:
        packed = words.view(np.uint8)[:, : count_bytes(self.n_bits)]
        return Codes(packed, self.n_bits, self._model_digest)


def _settle(segments: list[Segment]) -> list[Segment]:
    """Merge what has become small beside its neighbor, or mostly removed.

    Every code is then merged a logarithmic number of times in all, and the segments are few.
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


def _flatten(matches: list[Matches], segment: Segment) -> RadiusHits:
    """Put the answers of blocks of queries one after the other."""
    keys = np.concatenate([match.keys for match in matches])
    items = (keys & np.uint64(0xFFFFFFFFFFFF)).astype(np.int64)
    before = np.cumsum([0, *(len(match.keys) for match in matches)])
    ends = [match.offsets + shift for match, shift in zip(matches, before, strict=False)]
    offsets = np.concatenate([np.zeros(1, np.int64), *ends])
    return RadiusHits(offsets, segment.ids_of(items), (keys >> np.uint64(48)).astype(np.int32))


def _join(parts: list[RadiusHits], n_queries: int) -> RadiusHits:
    """Merge the answers of several segments, query by query."""
    query = np.concatenate(
        [np.repeat(np.arange(n_queries), np.diff(part.offsets)) for part in parts]
        or [np.empty(0, np.int64)]
    )
    ids = np.concatenate([part.ids for part in parts] or [np.empty(0, np.int64)])
    distances = np.concatenate([part.distances for part in parts] or [np.empty(0, np.int32)])
    order = np.lexsort((ids, distances, query))
    counts = np.bincount(query, minlength=n_queries)
    return RadiusHits(np.concatenate([[0], np.cumsum(counts)]), ids[order], distances[order])
