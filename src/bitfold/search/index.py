"""HammingIndex: exact ranking and radius lookup over codes with ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import Ids, PathLike, Words
from bitfold.codes import Codes, combine_digests, count_bytes
from bitfold.search.contract import MAX_BITS, CodeIndex, Reranker, check_codes
from bitfold.search.disk.index_folder import IndexFolder
from bitfold.search.ids import IdAssigner, check_ids, raise_duplicate_ids, raise_unknown_ids
from bitfold.search.rerank import count_candidates, rerank_hits
from bitfold.search.results import Batch, Buckets, Hits, RadiusHits
from bitfold.search.segment import Segment
from bitfold.search.segments import SegmentList, compact

_CODES_PER_BATCH = 1 << 17
"""Number of codes per batch: a few megabytes, enough for one request to a database."""


class HammingIndex(CodeIndex):
    """Search by Hamming distance: exact, on all cores, each distinct code scanned once.

    Parameters
    ----------
    n_bits
        Length of the codes, 1 to 1024.

    Raises
    ------
    ParameterError
        If ``n_bits`` is not an integer from 1 to 1024.

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
        self._segments = SegmentList(self.n_bits)
        self._next_id = 0
        self._model_digest: str | None = None
        self._folder: IndexFolder | None = None

    def add(self, codes: Codes, ids: ArrayLike | None = None) -> None:
        """Add codes; after an error none of them is added.

        Parameters
        ----------
        codes
            Codes of ``n_bits``.
        ids
            One unique integer per code; None continues after the largest id so far, starting
            with 0. Ids of removed codes are not assigned again.

        Raises
        ------
        ParameterError
            If the codes have another length, or ``ids`` are not one integer per code.
        ModelMismatchError
            If the codes were made by another model than those in the index.
        DataError
            If an id appears twice or is already present.
        """
        self._check_codes(codes)
        assigner = IdAssigner("HammingIndex", self._next_id)
        assigned = assigner.assign(ids, len(codes))
        if not len(codes):
            return
        if ids is not None:
            self._check_new(assigned)
        segment = Segment.build(codes.words(), assigned)
        digest = combine_digests([self._model_digest, codes.model_digest])
        self._replace([*self._segments.segments, segment], assigner.next_id, digest)

    def remove(self, ids: ArrayLike) -> None:
        """Remove codes by id; after an error none of them is removed.

        Parameters
        ----------
        ids
            Ids of codes in the index.

        Raises
        ------
        ParameterError
            If ``ids`` are not integers.
        DataError
            If an id is not in the index.
        """
        unique = np.unique(check_ids(ids, "HammingIndex"))
        self._check_known(unique)
        segments = self._segments.without(unique)
        self._replace(segments, self._next_id, self._model_digest)

    def search(self, codes: Codes, k: int = 10, *, rerank: Reranker | None = None) -> Hits:
        """Find the k nearest codes of each query, ties by id.

        Parameters
        ----------
        codes
            Query codes.
        k
            Number of codes per query, at least 1. All are returned if there are fewer.
        rerank
            :class:`RerankByVectors` or :class:`RerankByEmbedding`, which order the nearest codes
            by a finer distance.

        Returns
        -------
        Ids and distances of shape ``(n_queries, min(k, len(self)))``.

        Raises
        ------
        ParameterError
            If the codes have another length, or ``k`` is not an integer of at least 1.
        ModelMismatchError
            If the query codes were made by another model than those in the index.
        """
        self._check_codes(codes)
        k = _validation.check_integer(k, "k", "search", low=1)
        if rerank is None:
            return self._segments.nearest(codes.words(), k)
        candidates = self._segments.nearest(codes.words(), count_candidates(rerank, k))
        return rerank_hits(candidates, rerank, k, self.codes)

    def within(self, codes: Codes, radius: int = 2) -> RadiusHits:
        """Find all codes within a Hamming radius of each query: the paper's hash lookup.

        Parameters
        ----------
        codes
            Query codes.
        radius
            The largest distance that is included.

        Returns
        -------
        The items of each query, sorted by distance, ties by id.

        Raises
        ------
        ParameterError
            If the codes have another length, or ``radius`` is not an integer of at least 0.
        ModelMismatchError
            If the query codes were made by another model than those in the index.
        """
        self._check_codes(codes)
        radius = min(_validation.check_integer(radius, "radius", "within", low=0), self.n_bits)
        return self._segments.within(codes.words(), radius)

    def codes(self, ids: ArrayLike) -> Codes:
        """Return the codes of some ids, in the order of the ids.

        Parameters
        ----------
        ids
            Ids of codes in the index; they may repeat.

        Returns
        -------
        One code per id.

        Raises
        ------
        ParameterError
            If ``ids`` are not integers.
        DataError
            If an id is not in the index.
        """
        checked = check_ids(ids, "HammingIndex")
        self._check_known(checked)
        return self._to_codes(self._segments.words_of(checked))

    def batches(self) -> Iterator[Batch]:
        """Iterate over all codes with their ids, in batches of bounded size.

        The codes are those that are present when the iteration starts; later changes do not
        affect it.

        Yields
        ------
        Each id appears in exactly one batch; the order is not specified.

        Examples
        --------
        >>> index = HammingIndex(n_bits=3)
        >>> index.add(Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 0]]))
        >>> index.remove([1])
        >>> [(batch.ids.tolist(), batch.codes) for batch in index.batches()]
        [([0, 2], Codes(2 x 3 bits))]
        """
        for ids, words in self._segments.batches(_CODES_PER_BATCH):
            yield Batch(ids, self._to_codes(words))

    def buckets(self) -> Buckets:
        """Return the distinct codes with the ids of the items that have each.

        Returns
        -------
        Buckets in the order of their smallest ids.

        Examples
        --------
        >>> index = HammingIndex(n_bits=3)
        >>> index.add(Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 1]]))
        >>> buckets = index.buckets()
        >>> buckets.codes.unpack().tolist(), buckets.sizes.tolist(), buckets.ids.tolist()
        ([[0, 0, 1], [1, 1, 1]], [2, 1], [0, 2, 1])
        """
        segment = self._segments.merge()
        codes = self._to_codes(np.ascontiguousarray(segment.words.T))
        if not len(segment.starts):
            return Buckets(codes, np.arange(len(codes) + 1), segment.ids)
        return Buckets(codes, segment.starts.astype(np.int64), segment.ids_of(segment.members))

    def save(self, path: PathLike) -> None:
        """Write the index to a folder; :meth:`open` reads it.

        Parameters
        ----------
        path
            A new folder, or one that contains an index, which is replaced.

        Raises
        ------
        LockedError
            If another process has opened the folder for writing.
        OSError
            If the folder cannot be written; an index in it is unchanged.
        """
        if self._folder is not None and self._folder.writes_to(path):
            return  # every change is already on disk
        with IndexFolder.create(path, self.n_bits) as folder:
            folder.commit(self._segments.segments, self._next_id, self._model_digest)

    @classmethod
    def open(cls, path: PathLike, mode: str = "r") -> Self:
        """Open an index on disk; its arrays are memory-mapped.

        Parameters
        ----------
        path
            A folder written by :meth:`save`.
        mode
            "r" to search; "a" to add and remove as well. With "a", every change is durable when
            the method returns. There is one writer at a time; readers are not affected.

        Returns
        -------
        The index.

        Raises
        ------
        FormatError
            If the folder contains no index, or a damaged one.
        LockedError
            If another process has opened the folder for writing.
        """
        _validation.check_choice(mode, "mode", "HammingIndex.open", ("r", "a"))
        folder = IndexFolder.open(path, mode)
        index = cls(folder.n_bits)
        index._segments = SegmentList(folder.n_bits, folder.segments)
        index._next_id, index._model_digest = folder.next_id, folder.model_digest
        index._folder = folder
        return index

    def close(self) -> None:
        """Release the folder, so that another writer can open it; closing twice is allowed."""
        if self._folder is not None:
            self._folder.close()

    @property
    def model_digest(self) -> str | None:
        """Digest of the model whose codes are in the index; None if it is unknown."""
        return self._model_digest

    def __len__(self) -> int:
        """Return the number of codes."""
        return len(self._segments)

    @property
    def n_distinct(self) -> int:
        """Number of codes that a scan reads: equal codes are stored once per segment."""
        return self._segments.n_distinct

    def __repr__(self) -> str:
        return f"HammingIndex({len(self)} x {self.n_bits} bits)"

    def _replace(self, segments: list[Segment], next_id: int, digest: str | None) -> None:
        """Replace the segments, on disk first: after an error there, nothing has changed."""
        segments = compact(segments)
        if self._folder is not None:
            self._folder.commit(segments, next_id, digest)
            segments = self._folder.segments
        self._segments = self._segments.replace(segments)
        self._next_id, self._model_digest = next_id, digest

    def _check_codes(self, codes: Any) -> None:
        """Raise unless these are codes of the right length, and not of another model."""
        check_codes(codes, self.n_bits, "HammingIndex")
        combine_digests([self._model_digest, codes.model_digest])

    def _check_new(self, ids: Ids) -> None:
        """Raise if the index already has codes with these ids."""
        known = self._segments.contains(ids)
        if known.any():
            raise_duplicate_ids(np.sort(ids[known]), "HammingIndex")

    def _check_known(self, ids: Ids) -> None:
        """Raise unless the index has codes with these ids."""
        known = self._segments.contains(ids)
        if not known.all():
            raise_unknown_ids(ids[~known], "HammingIndex")

    def _to_codes(self, words: Words) -> Codes:
        packed = words.view(np.uint8)[:, : count_bytes(self.n_bits)]
        return Codes(packed, self.n_bits, self._model_digest)
