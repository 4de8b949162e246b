"""HammingIndex: exact ranking and radius lookup over codes with ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._progress import show_progress
from bitfold._threads import SharedLock
from bitfold._types import BoolArray, PathLike
from bitfold.codes import Codes, combine_digests
from bitfold.errors import ParameterTypeError
from bitfold.search.clusters import group_connected, group_stars
from bitfold.search.contract import MAX_BITS, CodeIndex, Reranker
from bitfold.search.disk.index_folder import IndexFolder
from bitfold.search.generation import Generation
from bitfold.search.ids import IdAssigner, check_ids
from bitfold.search.pairs import find_pairs, join_items
from bitfold.search.queries import make_queries
from bitfold.search.rerank import check_rerank, count_candidates, rerank_hits
from bitfold.search.results import Batch, Buckets, Clusters, Hits, Pairs, RadiusHits
from bitfold.search.segment import Segment
from bitfold.search.segments import SegmentList, compact


class HammingIndex(CodeIndex):
    """Search by Hamming distance: exact, on all cores, each distinct code scanned once.

    Any number of threads may use one index. Changes happen one after another; every other call
    sees the index as it was when the call began, and does not wait for changes.

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
        # Replaced as a whole by the thread that holds the lock; all others only read it.
        self._generation = Generation(SegmentList(self.n_bits))
        self._writing, self._saving = SharedLock(), SharedLock()
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
        with self._writing:
            current = self._check_codes(codes, "index.add(hasher.encode(X))")
            assigner = IdAssigner("HammingIndex", current.next_id)
            assigned = assigner.assign(ids, len(codes))
            if not len(codes):
                return
            if ids is not None:
                current.check_new(assigned)
            digest = combine_digests([current.model_digest, codes.model_digest])
            with show_progress(None) as report:
                report("index", 0, 0)
                segment = Segment.build(codes.words(), assigned)
                self._replace([*current.segments.segments, segment], assigner.next_id, digest)
                report("index", len(codes), len(codes))

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
        with self._writing:
            current = self._generation
            current.check_known(unique)
            segments = current.segments.without(unique)
            self._replace(segments, current.next_id, current.model_digest)

    def search(
        self,
        codes: Codes,
        k: int = 10,
        *,
        query_embedding: ArrayLike | None = None,
        rerank: Reranker | None = None,
        among: ArrayLike | None = None,
    ) -> Hits:
        """Find the k nearest codes of each query, ties by id.

        Parameters
        ----------
        codes
            Query codes.
        k
            Number of codes per query, at least 1. All are returned if there are fewer.
        query_embedding
            ``hasher.embed(Q)``, one row per query, one column per bit: asymmetric search. All
            stored codes are ranked by the dot product of these reals with their bits as ±1, which
            is finer than the Hamming distance.
        rerank
            :class:`RerankByVectors` or :class:`RerankByEmbedding`, which order the nearest codes
            by a finer distance. With ``query_embedding``, the candidates are the nearest by it,
            and only :class:`RerankByVectors` is meaningful.
        among
            Search only these items: unique ids, or a boolean mask with one value per item, in
            the order of ascending ids. The cost is in proportion to the number of items left.

        Returns
        -------
        Ids and distances of shape ``(n_queries, min(k, n_items))``, where ``n_items`` is the
        number of items that are searched, and the number of ties; :class:`Hits` describes the
        distances of each kind of search.

        Raises
        ------
        ParameterError
            If the codes have another length, ``k`` is not an integer of at least 1, or
            ``query_embedding`` is not finite, has another shape, or its signs are not the bits of
            the query codes, or ``among`` is neither ids nor a mask of the right length.
        DataError
            If ``among`` has unknown or repeated ids.
        ModelMismatchError
            If the query codes were made by another model than those in the index.

        Examples
        --------
        >>> index = HammingIndex(n_bits=2)
        >>> index.add(Codes.from_bits([[0, 1], [1, 0]]))
        >>> embedding = np.array([[0.25, 5.0]])
        >>> hits = index.search(Codes.from_bits(embedding > 0), query_embedding=embedding)
        >>> hits.ids.tolist(), hits.distances.tolist(), hits.n_tied.tolist()
        ([[0, 1]], [[0.25, 5.0]], [1])
        >>> index.search(Codes.from_bits(embedding > 0), among=[1]).ids.tolist()
        [[1]]
        """
        current = self._check_codes(codes, "index.search(hasher.encode(Q))")
        k = _validation.check_integer(k, "k", "search", low=1)
        check_rerank(rerank, query_embedding)
        queries, segments = make_queries(codes, query_embedding), current.segments
        if among is not None:
            segments = segments.among(current.select(among, "search"), len(queries))
        if rerank is not None:
            candidates = segments.nearest(queries, count_candidates(rerank, k))
            return rerank_hits(candidates, rerank, k, current.codes)
        hits = segments.nearest(queries, k)
        if query_embedding is not None:
            hits = hits._replace(distances=hits.distances.astype(np.float32))
        return hits

    def within(
        self, codes: Codes, radius: int = 2, *, among: ArrayLike | None = None
    ) -> RadiusHits:
        """Find all codes within a Hamming radius of each query: the paper's hash lookup.

        Parameters
        ----------
        codes
            Query codes.
        radius
            The largest distance that is included.
        among
            Search only these items, as for :meth:`search`.

        Returns
        -------
        The items of each query, sorted by distance, ties by id.

        Raises
        ------
        ParameterError
            If the codes have another length, ``radius`` is not an integer of at least 0, or
            ``among`` is neither ids nor a mask of the right length.
        DataError
            If ``among`` has unknown or repeated ids.
        ModelMismatchError
            If the query codes were made by another model than those in the index.
        """
        current = self._check_codes(codes, "index.within(hasher.encode(Q))")
        radius = self._check_radius(radius, "within")
        if among is None:
            return current.segments.within(codes.words(), radius)
        selection = current.select(among, "within")
        return current.segments.within_among(selection, codes.words(), radius)

    def pairs(self, radius: int, *, expand_equal: bool = False) -> Iterator[Pairs]:
        """Find all pairs of codes within a Hamming radius, each once.

        The codes are those that are present when the method is called; later changes do not
        affect the pairs. Memory is bounded: about twice that of the codes, and one block of pairs
        per core.

        Parameters
        ----------
        radius
            The largest distance that is included.
        expand_equal
            By default, equal codes are one node: they are not paired with each other, and the
            smallest of their ids stands for all of them; :meth:`buckets` has the others. True
            returns all pairs of items. There may be very many: 100,000 items with equal codes
            are five billion pairs.

        Returns
        -------
        Blocks of pairs, computed one after another. The smaller id of a pair is its ``first``; the
        order of pairs is not specified.

        Raises
        ------
        ParameterError
            If ``radius`` is not an integer of at least 0.

        Examples
        --------
        >>> index = HammingIndex(n_bits=3)
        >>> index.add(Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 1], [0, 1, 1]]))
        >>> blocks = list(index.pairs(radius=1))
        >>> sorted(first for pairs in blocks for first in pairs.first.tolist())
        [0, 1]
        >>> sorted(second for pairs in blocks for second in pairs.second.tolist())
        [3, 3]
        >>> sum(len(pairs.first) for pairs in index.pairs(radius=1, expand_equal=True))
        4
        """
        radius = self._check_radius(radius, "pairs")
        return find_pairs(self._generation.segments.unify(), radius, expand_equal=expand_equal)

    def join(
        self, other: HammingIndex, radius: int, *, expand_equal: bool = False
    ) -> Iterator[Pairs]:
        """Find all pairs of a code in this index and a near code in another one.

        Parameters
        ----------
        other
            Another index of codes of the same length, made by the same model.
        radius
            The largest distance that is included.
        expand_equal
            By default, equal codes in one index are one node, and the smallest of their ids stands
            for all of them. True returns all pairs of items.

        Returns
        -------
        Blocks of pairs, computed one after another. ``first`` are ids of this index, ``second``
        ids of the other; the order of pairs is not specified.

        Raises
        ------
        ParameterError
            If ``other`` is not an index of codes of the same length, or ``radius`` is not an
            integer of at least 0.
        ModelMismatchError
            If the codes of the other index were made by another model.

        Examples
        --------
        >>> train, test = HammingIndex(n_bits=3), HammingIndex(n_bits=3)
        >>> train.add(Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 0]]))
        >>> test.add(Codes.from_bits([[0, 1, 1], [0, 0, 0]]))
        >>> [pairs] = test.join(train, radius=0)
        >>> pairs.first.tolist(), pairs.second.tolist()
        ([1], [2])
        """
        radius = self._check_radius(radius, "join")
        left, right = self._generation, self._check_index(other)._generation
        combine_digests([left.model_digest, right.model_digest])
        segments = left.segments.unify(), right.segments.unify()
        return join_items(*segments, radius, expand_equal=expand_equal)

    def clusters(self, radius: int, *, linkage: str = "connected", min_size: int = 2) -> Clusters:
        """Group items whose codes are within a Hamming radius of each other.

        Parameters
        ----------
        radius
            The largest distance that links two codes; 0 groups equal codes.
        linkage
            "connected": items belong to one group if a chain of near codes connects them, so
            groups can become wide. "star": every item is within the radius of the representative
            of its group. Items are taken in the order of their ids: each that is near no earlier
            representative becomes one, the others join the first that is near. Adding items with
            larger ids therefore does not change existing groups.
        min_size
            Smallest number of items of a group; 1 returns every item.

        Returns
        -------
        Groups in the order of their representatives, which are the smallest ids of the groups.

        Raises
        ------
        ParameterError
            If ``radius`` is not an integer of at least 0, ``linkage`` is unknown, or ``min_size``
            is not an integer of at least 1.

        Examples
        --------
        >>> index = HammingIndex(n_bits=4)
        >>> index.add(Codes.from_bits([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1], [1, 1, 0, 0]]))
        >>> index.clusters(radius=1).ids.tolist()
        [0, 1, 2]
        >>> index.clusters(radius=1, linkage="star").ids.tolist()
        [0, 1]
        """
        radius = self._check_radius(radius, "clusters")
        _validation.check_choice(linkage, "linkage", "clusters", ("connected", "star"))
        min_size = _validation.check_integer(min_size, "min_size", "clusters", low=1)
        segments = self._generation.segments
        segment = segments.unify()
        if linkage == "connected":
            return group_connected(segment, radius, min_size)
        return group_stars(segment, radius, min_size, segments.limit_tables(segment))

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
        return self._generation.codes(check_ids(ids, "HammingIndex"))

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
        yield from self._generation.batches()

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
        return self._generation.buckets()

    def build_tables(self, radius: int) -> None:
        """Build the tables for a radius now; otherwise this happens as soon as they pay off.

        An index that is open for writing also stores them in its folder, from which others load
        them. Tables never change results.

        Parameters
        ----------
        radius
            The radius of later calls of :meth:`within`. Nothing is built if a scan is faster, or
            if the tables would take more than :attr:`max_table_bytes`.

        Raises
        ------
        ParameterError
            If ``radius`` is not an integer of at least 0.

        Examples
        --------
        >>> index = HammingIndex(n_bits=64)
        >>> index.add(Codes(np.random.default_rng(0).integers(0, 256, (5000, 8), np.uint8), 64))
        >>> index.build_tables(radius=2)
        >>> index.table_bytes > 0
        True
        """
        self._generation.segments.build_tables(self._check_radius(radius, "build_tables"))

    @property
    def max_table_bytes(self) -> int | None:
        """Memory that the tables of :meth:`within` may take, 0 for no tables.

        None, the default, is 8 times the memory of the codes, or 64 MB if that is more.
        """
        return self._generation.segments.max_table_bytes

    @max_table_bytes.setter
    def max_table_bytes(self, value: int | None) -> None:
        if value is not None:
            value = _validation.check_integer(value, "max_table_bytes", "HammingIndex", low=0)
        with self._writing:
            current = self._generation
            segments = SegmentList(self.n_bits, current.segments.segments, value)
            self._generation = current._replace(segments=segments)
            segments.drop_tables()

    @property
    def table_bytes(self) -> int:
        """Memory of the tables that exist; those in a folder are memory-mapped."""
        return self._generation.segments.table_bytes

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
        with self._saving, IndexFolder.create(path, self.n_bits) as folder:
            segments, next_id, digest = self._generation
            folder.commit(segments.segments, next_id, digest)

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
        return cls.from_folder(IndexFolder.open(path, mode))

    @classmethod
    def from_folder(cls, folder: IndexFolder) -> Self:
        """Return the index in an open folder, which commits its changes.

        Parameters
        ----------
        folder
            The folder; closing the index closes it.

        Returns
        -------
        The index.
        """
        index = cls(folder.n_bits)
        segments = SegmentList(folder.n_bits, folder.segments)
        index._generation = Generation(segments, folder.next_id, folder.model_digest)
        index._folder = folder
        return index

    def snapshot(self) -> Self:
        """Return an index of the codes as they are now, which later changes do not affect.

        Returns
        -------
        An index in memory that shares its arrays with this one, so it costs almost nothing.

        Examples
        --------
        >>> index = HammingIndex(n_bits=2)
        >>> before = index.snapshot()
        >>> index.add(Codes.from_bits([[0, 1]]))
        >>> len(before), len(index)
        (0, 1)
        """
        copied = type(self)(self.n_bits)
        copied._generation = self._generation
        return copied

    def contains(self, ids: ArrayLike) -> BoolArray:
        """Return which ids belong to codes in the index.

        Parameters
        ----------
        ids
            Any ids.

        Returns
        -------
        One boolean per id.

        Raises
        ------
        ParameterError
            If ``ids`` are not integers.

        Examples
        --------
        >>> index = HammingIndex(n_bits=2)
        >>> index.add(Codes.from_bits([[0, 1]]), ids=[7])
        >>> index.contains([7, 8]).tolist()
        [True, False]
        """
        return self._generation.segments.contains(check_ids(ids, "HammingIndex"))

    def close(self) -> None:
        """Release the folder, so that another writer can open it; closing twice is allowed."""
        with self._writing:  # a commit of another thread ends first
            if self._folder is not None:
                self._folder.close()

    @property
    def model_digest(self) -> str | None:
        """Digest of the model whose codes are in the index; None if it is unknown."""
        return self._generation.model_digest

    def __len__(self) -> int:
        """Return the number of codes."""
        return len(self._generation.segments)

    @property
    def n_distinct(self) -> int:
        """Number of codes that a scan reads: equal codes are stored once per segment."""
        return self._generation.segments.n_distinct

    def __repr__(self) -> str:
        return f"HammingIndex({len(self)} x {self.n_bits} bits)"

    def _replace(self, segments: list[Segment], next_id: int, digest: str | None) -> None:
        """Replace the segments, on disk first: after an error there, nothing has changed."""
        segments = compact(segments)
        if self._folder is not None:
            self._folder.commit(segments, next_id, digest)
            segments = self._folder.segments
        replaced = self._generation.segments.replace(segments)
        self._generation = Generation(replaced, next_id, digest)

    def _check_radius(self, radius: int, owner: str) -> int:
        """Return a radius, at most the length of the codes."""
        return min(_validation.check_integer(radius, "radius", owner, low=0), self.n_bits)

    def _check_index(self, other: Any) -> HammingIndex:
        """Return another index; raise unless its codes have the same length."""
        if not isinstance(other, HammingIndex):
            raise ParameterTypeError("other", "join", "a HammingIndex", type(other).__name__)
        if other.n_bits != self.n_bits:
            got = f"{other.n_bits} bits"
            _validation.raise_invalid("other", "join", f"an index of {self.n_bits} bits", got)
        return other

    def _check_codes(self, codes: Any, call: str) -> Generation:
        """Return the current generation; raise unless the codes fit it."""
        current = self._generation
        current.check_codes(codes, call)
        return current
