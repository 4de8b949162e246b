"""Search in one generation of an index: the nearest codes, codes within a radius, codes by id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import BoolArray
from bitfold.codes import Codes
from bitfold.search.contract import CodeIndex, Reranker
from bitfold.search.generation import Generation
from bitfold.search.ids import check_ids
from bitfold.search.queries import make_queries
from bitfold.search.rerank import check_rerank, count_candidates, rerank_hits
from bitfold.search.results import Batch, Hits, RadiusHits


class SearchableCodes(CodeIndex):
    """The methods of an index that search its current generation.

    A subclass replaces the generation as a whole. A method reads it once, so that changes by other
    threads do not affect the result.
    """

    _generation: Generation

    def search(
        self,
        codes: Codes,
        k: int = 10,
        *,
        query_embedding: ArrayLike | None = None,
        rerank: Reranker | None = None,
        among: ArrayLike | None = None,
        distance: str = "hamming",
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
        distance
            ``"hamming"``, or ``"spherical"`` for codes of :class:`bitfold.hashers.SpH`: the number
            of bits that differ divided by the number of bits that are 1 in both codes. All stored
            codes are ranked by it.

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
            the query codes, or ``among`` is neither ids nor a mask of the right length, or
            ``distance`` is unknown or contradicts ``query_embedding``.
        DataError
            If ``among`` has unknown or repeated ids.
        ModelMismatchError
            If the query codes were made by another model than those in the index.

        Examples
        --------
        >>> from bitfold import HammingIndex
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
        queries, segments = make_queries(codes, query_embedding, distance), current.segments
        if among is not None:
            segments = segments.among(current.select(among, "search"), len(queries))
        if rerank is not None:
            candidates = segments.nearest(queries, count_candidates(rerank, k))
            return rerank_hits(candidates, rerank, k, current.codes)
        hits = segments.nearest(queries, k)
        if hits.distances.dtype == np.float64:
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
        >>> from bitfold import HammingIndex
        >>> index = HammingIndex(n_bits=3)
        >>> index.add(Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 0]]))
        >>> index.remove([1])
        >>> [(batch.ids.tolist(), batch.codes) for batch in index.batches()]
        [([0, 2], Codes(2 x 3 bits))]
        """
        yield from self._generation.batches()

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
        >>> from bitfold import HammingIndex
        >>> index = HammingIndex(n_bits=2)
        >>> index.add(Codes.from_bits([[0, 1]]), ids=[7])
        >>> index.contains([7, 8]).tolist()
        [True, False]
        """
        return self._generation.segments.contains(check_ids(ids, "HammingIndex"))

    def __len__(self) -> int:
        """Return the number of codes."""
        return len(self._generation.segments)

    @property
    def model_digest(self) -> str | None:
        """Digest of the model whose codes are in the index; None if it is unknown."""
        return self._generation.model_digest

    @property
    def n_distinct(self) -> int:
        """Number of codes that a scan reads: equal codes are stored once per segment."""
        return self._generation.segments.n_distinct

    def _check_radius(self, radius: int, owner: str) -> int:
        """Return a radius, at most the length of the codes."""
        return min(_validation.check_integer(radius, "radius", owner, low=0), self.n_bits)

    def _check_codes(self, codes: Any, call: str) -> Generation:
        """Return the current generation; raise unless the codes fit it."""
        current = self._generation
        current.check_codes(codes, call)
        return current
