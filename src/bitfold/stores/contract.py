"""The contract of all stores: that of an index, plus columns, stored vectors and batches.

To add a store, write a subclass of :class:`Store` in a subpackage of its own, implement the
abstract methods, and run :func:`bitfold.testing.check_store` on it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._progress import show_progress
from bitfold._threads import SharedLock
from bitfold._types import BoolArray, Float32Array, Ids, ProgressCallback
from bitfold.codes import Codes, combine_digests
from bitfold.search import (
    Batch,
    CodeIndex,
    HammingIndex,
    Hits,
    RadiusHits,
    Reranker,
    check_among,
    check_codes,
)
from bitfold.search.ids import raise_unknown_ids
from bitfold.search.queries import check_query_embedding
from bitfold.search.rerank import (
    RerankByEmbedding,
    check_rerank,
    count_candidates,
    rerank_hits,
)
from bitfold.stores.conditions import Where, parse_conditions
from bitfold.stores.loading import BatchLoader
from bitfold.stores.locking import synchronized, synchronized_read
from bitfold.stores.schema import StoreSchema
from bitfold.stores.stored_vectors import RerankByStoredVectors


class Store(CodeIndex):
    """Codes in a database engine, searched with the results of :class:`bitfold.HammingIndex`.

    Stores are made by ``create`` and ``open``, whose parameters depend on the engine. All other
    methods are those of an index, plus conditions on columns (``where``), approximate search
    (``exact=False``) and stored vectors. Several threads may use one store: their calls run one
    after another.

    Parameters
    ----------
    schema
        Code length, vectors and columns of the store, for the constructors of subclasses.

    Attributes
    ----------
    n_bits
        Length of the codes.

    Examples
    --------
    >>> from bitfold.stores import FaissStore
    >>> with FaissStore.create(n_bits=3) as store:
    ...     store.add(Codes.from_bits([[0, 0, 1], [1, 1, 1], [0, 0, 0]]))
    ...     store.search(Codes.from_bits([[0, 0, 1]]), k=2).ids.tolist()
    [[0, 2]]
    """

    _model_digest: str | None = None

    def __init__(self, schema: StoreSchema) -> None:
        self._schema = schema
        self._lock = SharedLock()
        self._read_lock: AbstractContextManager[None] = self._lock
        self.n_bits = schema.n_bits

    def add(
        self,
        codes: Codes,
        ids: ArrayLike | None = None,
        *,
        vectors: Any = None,
        columns: Mapping[str, Any] | None = None,
    ) -> None:
        """Add codes; after an error none of them is added.

        Parameters
        ----------
        codes
            Codes of ``n_bits``.
        ids
            One unique integer per code; None continues after the largest id so far, starting
            with 0.
        vectors
            One vector per code, if the store keeps vectors.
        columns
            Values of the columns by name, one per code; values of other columns are missing.

        Raises
        ------
        ParameterError
            If an argument does not fit the store.
        DataError
            If an id appears twice or is already present.
        ModelMismatchError
            If the store has codes of another model.
        """
        self.add_batches([Batch(ids, codes, vectors, columns)])

    @synchronized
    def add_batches(
        self, batches: Iterable[Batch], progress: ProgressCallback | None = None
    ) -> None:
        """Add batches as one change: readers see all of it or nothing.

        Parameters
        ----------
        batches
            Read once; one batch at a time is in memory if the engine allows it.
        progress
            Called with (stage, done, total) after each batch.

        Raises
        ------
        ParameterError
            If a batch does not fit the store.
        DataError
            If an id appears twice or is already present.
        ModelMismatchError
            If the store or an earlier batch has codes of another model.
        """
        with show_progress(progress) as report:
            self._load(BatchLoader(batches, self._schema, type(self).__name__, report))

    @synchronized_read
    def search(
        self,
        codes: Codes,
        k: int = 10,
        *,
        query_embedding: ArrayLike | None = None,
        n_candidates: int = 200,
        rerank: Reranker | RerankByStoredVectors | None = None,
        among: ArrayLike | None = None,
        where: Where | None = None,
        exact: bool = True,
    ) -> Hits:
        """Find the k nearest codes of each query, ties by id.

        Parameters
        ----------
        codes
            Query codes.
        k
            Number of codes per query, at least 1. If fewer codes match, all are returned.
        query_embedding
            ``hasher.embed(Q)``, one row per query, one column per bit: asymmetric search. The
            nearest codes by Hamming distance are ranked by the dot product of these reals with
            their bits as ±1. Only :class:`bitfold.HammingIndex` ranks all codes by it.
        n_candidates
            Number of nearest codes that ``query_embedding`` ranks per query; at least k are
            ranked. Re-rankers have their own number.
        rerank
            Orders the nearest codes by a finer distance: :class:`RerankByStoredVectors`,
            :class:`bitfold.RerankByVectors` or :class:`bitfold.RerankByEmbedding`, the last only
            without ``query_embedding``.
        among
            Search only these items: unique ids, or a boolean mask with one value per item, in
            the order of ascending ids. Their codes are read from the store and ranked exactly.
            For a mask all ids are read as well, so ids are cheaper.
        where
            Conditions on the columns, in the form of pyarrow's filters: ``[("label", "=", 3)]``.
            All conditions of a list must hold; of a list of lists, at least one list must hold.
            With ``among``, both must hold.
        exact
            False uses the engine's index, which is faster and may miss some neighbors. Queries
            with fewer than k results fall back to exact search.

        Returns
        -------
        Hits
            Ids and distances, one row per query; :class:`bitfold.search.Hits` describes the
            distances of each kind of search. The number of ties is None if the engine does not
            count them, for ``exact=False``, and after re-ranking.

        Raises
        ------
        ParameterError
            If an argument does not fit the store.
        DataError
            If ``among`` has unknown or repeated ids.
        ModelMismatchError
            If the stored codes were made by another model than the queries.
        """
        self._check_queries(codes, "store.search(hasher.encode(Q))")
        _validation.check_integer(k, "k", "search", low=1)
        conditions = self._compile_where(where)
        find = self._search_exact if exact else self._search_index
        steps = self._list_rerankers(codes, query_embedding, n_candidates, rerank)
        if among is None and not steps:
            return find(codes, k, conditions)
        # Each step leaves as many codes as the later ones measure, and the last one k.
        sizes = [k]
        for step in reversed(steps):
            sizes.insert(0, count_candidates(step, sizes[0]))
        with self._snapshot():
            if among is None:
                found = find(codes, sizes[0], conditions)
            else:
                found = self._gather(among, conditions, "search").search(codes, sizes[0])
            if steps and not found.ids.size:
                return Hits(found.ids[:, :k], found.distances[:, :k].astype(np.float32))
            for step, size in zip(steps, sizes[1:], strict=True):
                found = rerank_hits(found, step, size, self.codes)
            return found

    @synchronized_read
    def within(
        self,
        codes: Codes,
        radius: int = 2,
        *,
        among: ArrayLike | None = None,
        where: Where | None = None,
    ) -> RadiusHits:
        """Find all codes within a Hamming radius of each query.

        Parameters
        ----------
        codes
            Query codes.
        radius
            The largest distance that is included.
        among
            Search only these items, as for :meth:`search`.
        where
            Conditions on the columns, as for :meth:`search`.

        Returns
        -------
        RadiusHits
            The items of each query, sorted by distance, ties by id.

        Raises
        ------
        ParameterError
            If an argument does not fit the store.
        DataError
            If ``among`` has unknown or repeated ids.
        ModelMismatchError
            If the stored codes were made by another model than the queries.
        """
        self._check_queries(codes, "store.within(hasher.encode(Q))")
        _validation.check_integer(radius, "radius", "within", low=0)
        radius, conditions = min(radius, self.n_bits), self._compile_where(where)
        if among is None:
            return self._search_within(codes, radius, conditions)
        with self._snapshot():
            return self._gather(among, conditions, "within").within(codes, radius)

    @abstractmethod
    def vectors(self, ids: ArrayLike) -> Float32Array:
        """Return the stored vectors of some ids, in the order of the ids.

        Parameters
        ----------
        ids
            Ids of codes that are present; they may repeat.

        Returns
        -------
        Float32Array
            One row per id.

        Raises
        ------
        StoreError
            If the store keeps no vectors.
        DataError
            If an id is not present.
        """

    @property
    def model_digest(self) -> str | None:
        """Digest of the model that made the codes; None if it is unknown."""
        return self._model_digest

    def close(self) -> None:
        """Release files, locks and connections; closing twice is allowed."""

    @abstractmethod
    def _load(self, loader: BatchLoader) -> None:
        """Read the batches and add them: all, or none after an error."""

    @abstractmethod
    def _search_exact(self, codes: Codes, k: int, conditions: Any) -> Hits:
        """Return the k nearest codes that meet the conditions, or all if there are fewer."""

    @abstractmethod
    def _probe_index(self, codes: Codes, k: int, conditions: Any) -> RadiusHits:
        """Ask the engine's index for up to k results per query."""

    @abstractmethod
    def _search_within(self, codes: Codes, radius: int, conditions: Any) -> RadiusHits:
        """Return the codes within the radius that meet the conditions."""

    def _gather(self, among: ArrayLike, conditions: Any, owner: str) -> HammingIndex:
        """Return the codes that a filter leaves and that meet the conditions, in memory."""
        checked = check_among(among, len(self), owner)
        ids = self._list_ids()[checked] if checked.dtype == bool else checked
        codes = self.codes(ids)
        if conditions is not None:
            meets = np.isin(ids, self._find_meeting(ids, conditions))
            ids, codes = ids[meets], codes[meets]
        index = HammingIndex(self.n_bits)
        index.add(codes, ids=ids)
        return index

    def _list_ids(self) -> Ids:
        """Return the ids of all codes, ascending."""
        parts = [np.asarray(batch.ids, np.int64) for batch in self.batches()]
        return np.sort(np.concatenate([np.empty(0, np.int64), *parts]))

    def _find_meeting(self, ids: Ids, conditions: Any) -> Ids:
        """Return those of some ids whose rows meet conditions; stores without columns have none."""
        return ids

    def _compile_where(self, where: Where | None) -> Any:
        """Return conditions in the terms of the engine; None for no conditions."""
        if parse_conditions(where, type(self).__name__):
            requirement = "None, because the store has no columns"
            _validation.raise_invalid("where", type(self).__name__, requirement, repr(where))

    def _snapshot(self) -> AbstractContextManager[None]:
        """Read one state of the store, so that no candidate vanishes before it is measured."""
        return nullcontext()

    def _list_rerankers(
        self, codes: Codes, query_embedding: ArrayLike | None, n_candidates: int, rerank: Any
    ) -> list[Reranker]:
        """Return what orders the nearest codes: the embedding of the queries, then ``rerank``."""
        check_rerank(rerank, query_embedding)
        steps: list[Reranker] = []
        if query_embedding is not None:
            embedding = check_query_embedding(query_embedding, codes)
            steps.append(RerankByEmbedding(embedding, n_candidates))
        if isinstance(rerank, RerankByStoredVectors):
            rerank = rerank.bind(self.vectors)
        return steps if rerank is None else [*steps, rerank]

    def _search_index(self, codes: Codes, k: int, conditions: Any) -> Hits:
        """Search the engine's index; search exactly for queries with fewer than k results."""
        near = self._probe_index(codes, k, conditions)
        is_short = np.diff(near.offsets) < k
        if is_short.all():
            return self._search_exact(codes, k, conditions)._replace(n_tied=None)
        found = Hits(np.empty((len(codes), k), np.int64), np.empty((len(codes), k), np.int32))
        items = near.offsets[:-1][~is_short, None] + np.arange(k)
        found.ids[~is_short], found.distances[~is_short] = near.ids[items], near.distances[items]
        if is_short.any():
            rest = self._search_exact(codes[is_short], k, conditions)
            found.ids[is_short], found.distances[is_short] = rest.ids, rest.distances
        return found

    def _check_queries(self, codes: Any, call: str) -> None:
        check_codes(codes, self.n_bits, type(self).__name__, call)
        combine_digests([self._model_digest, codes.model_digest])

    def _check_present(self, ids: Ids, is_present: BoolArray) -> None:
        if not is_present.all():
            raise_unknown_ids(ids[~is_present], type(self).__name__)
