"""What every store can do, and what they do alike: checks, ties, re-ranking."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bitfold import _validation
from bitfold._types import AnyArray, BoolArray, Float32Array, Ids, ProgressCallback
from bitfold.codes import Codes
from bitfold.search import Hits, RadiusHits, Reranker
from bitfold.search import ids as numbers
from bitfold.search.contract import MAX_BITS
from bitfold.stores.filters import Condition, Where, grouped
from bitfold.stores.originals import RerankByStoredVectors


class Batch(NamedTuple):
    """Some rows of a store.

    ``ids`` None continues after the largest id so far; ``vectors`` are the originals and
    ``columns`` the user's own values, one for each code.
    """

    codes: Codes
    ids: ArrayLike | None = None
    vectors: Any = None
    columns: Mapping[str, Any] | None = None


class Store(ABC):
    """Codes in an engine: the same ids and distances as :class:`bitfold.HammingIndex` gives.

    Stores are made by ``create`` and ``open``, whose parameters are the engine's; whatever
    follows is the same for all.

    Attributes
    ----------
    n_bits
        Length of the codes.
    """

    n_bits: int

    def add(
        self,
        codes: Codes,
        ids: ArrayLike | None = None,
        *,
        vectors: Any = None,
        columns: Mapping[str, Any] | None = None,
    ) -> None:
        """Add codes, all of them or, after an error, none.

        Parameters
        ----------
        codes
            Codes of ``n_bits``.
        ids
            A different integer for each code; None continues after the largest id so far,
            beginning with 0.
        vectors
            Their originals, where the store keeps them for re-ranking.
        columns
            Values of the user's columns, by name.
        """
        self.load([Batch(codes, ids, vectors, columns)])

    @abstractmethod
    def load(self, batches: Iterable[Batch], progress: ProgressCallback | None = None) -> None:
        """Add batch after batch as one change: nobody ever sees a part of it.

        Parameters
        ----------
        batches
            Read once, one in memory at a time where the engine allows.
        progress
            Called with (stage, done, total) after each.
        """

    def search(
        self,
        codes: Codes,
        k: int = 10,
        *,
        rerank: Reranker | RerankByStoredVectors | None = None,
        where: Where | None = None,
        exact: bool = True,
    ) -> Hits:
        """Find the k nearest codes of each query, ties by id.

        Parameters
        ----------
        codes
            Query codes.
        k
            How many, at most the number of codes in the store.
        rerank
            :class:`RerankByStoredVectors`, :class:`bitfold.RerankByVectors` or
            :class:`bitfold.RerankByEmbedding`: order the nearest codes by something finer.
        where
            Conditions on the user's columns, as pyarrow's filters: ``[("label", "=", 3)]``; all
            must hold, or in a list of such lists all of one. Where fewer than k rows meet them
            the answer has as many columns.
        exact
            False asks the engine's index, which is faster and may miss some; what it leaves
            short of k is looked up exactly.
        """
        check_codes(codes, self.n_bits, type(self).__name__)
        _validation.check_integer(k, "k", "search", low=1)
        if rerank is None:
            return self._nearest(codes, k, k, where, exact)
        wanted = _validation.check_integer(
            rerank.n_candidates, "n_candidates", type(rerank).__name__, low=1
        )
        finer = rerank.over(self.vectors) if isinstance(rerank, RerankByStoredVectors) else rerank
        with self._snapshot():
            found = self._nearest(codes, max(wanted, k), k, where, exact)
            if not found.ids.size:
                return Hits(found.ids[:, :k], found.distances[:, :k].astype(np.float32))
            distances = finer.measure(found.ids, self.codes)
        order = np.lexsort((found.ids, distances), axis=1)[:, :k]
        return Hits(
            np.take_along_axis(found.ids, order, 1), np.take_along_axis(distances, order, 1)
        )

    def within(self, codes: Codes, radius: int = 2, *, where: Where | None = None) -> RadiusHits:
        """Find all codes within a Hamming radius of each query.

        Parameters
        ----------
        codes
            Query codes.
        radius
            The largest distance that still counts.
        where
            Conditions on the user's columns, as for :meth:`search`.
        """
        check_codes(codes, self.n_bits, type(self).__name__)
        _validation.check_integer(radius, "radius", "within", low=0)
        return self._within(codes, min(radius, self.n_bits), self._conditions(where))

    @abstractmethod
    def delete(self, ids: ArrayLike) -> None:
        """Delete codes by id; an unknown id is an error, and then nothing is deleted.

        Parameters
        ----------
        ids
            Ids of codes in the store.
        """

    @abstractmethod
    def count(self) -> int:
        """How many codes there are."""

    @abstractmethod
    def codes(self, ids: ArrayLike) -> Codes:
        """Return the codes of some ids, in their order.

        Parameters
        ----------
        ids
            Ids of codes in the store.
        """

    @abstractmethod
    def vectors(self, ids: ArrayLike) -> Float32Array:
        """Return the originals of some ids, in their order.

        Parameters
        ----------
        ids
            Ids of codes in the store.
        """

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """Read all codes with their ids, a batch at a time."""

    def close(self) -> None:  # noqa: B027  # not abstract: most have nothing open
        """Give up what the store holds open."""

    def __len__(self) -> int:
        return self.count()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    @abstractmethod
    def _exact(self, codes: Codes, k: int, where: Any) -> Hits:
        """Find the min(k, rows that count) nearest of each query, ties by id."""

    @abstractmethod
    def _probe(self, codes: Codes, k: int, where: Any) -> RadiusHits:
        """Ask the engine's index for up to k of each query."""

    @abstractmethod
    def _within(self, codes: Codes, radius: int, where: Any) -> RadiusHits: ...

    def _snapshot(self) -> AbstractContextManager[None]:
        """See one state throughout: a candidate may not vanish before it is measured."""
        return nullcontext()

    @abstractmethod
    def _filter(self, groups: list[list[Condition]]) -> Any:
        """Put conditions into the engine's terms."""

    def _conditions(self, where: Where | None) -> Any:
        groups = grouped(where, type(self).__name__)
        return self._filter(groups) if groups else None

    def _nearest(self, codes: Codes, wanted: int, k: int, where: Where | None, exact: bool) -> Hits:
        """Find ``wanted`` of each query, or all there are, which without conditions are k."""
        conditions = self._conditions(where)
        find = self._exact if exact else self._indexed
        found = find(codes, wanted, conditions)
        width = found.ids.shape[1] if len(codes) else self.count()
        if where is None and width < k:
            _validation.raise_invalid("k", "search", f"at most the {width} codes of the store", k)
        if not len(codes):
            return Hits(np.empty((0, k), np.int64), np.empty((0, k), np.int32))
        return found

    def _indexed(self, codes: Codes, k: int, where: Any) -> Hits:
        """Ask the index, and look up exactly what it leaves short."""
        near = self._probe(codes, k, where)
        short = np.flatnonzero(np.diff(near.offsets) < k)
        if len(short) == len(codes):
            return self._exact(codes, k, where)
        found = Hits(np.empty((len(codes), k), np.int64), np.empty((len(codes), k), np.int32))
        for query in np.setdiff1d(np.arange(len(codes)), short):
            first = near.offsets[query]
            found.ids[query] = near.ids[first : first + k]
            found.distances[query] = near.distances[first : first + k]
        if len(short):
            found.ids[short], found.distances[short] = self._exact(codes[short], k, where)
        return found

    def _check_originals(self, n_features: int | None) -> int:
        """Return the width of the originals, refused where none are kept."""
        if n_features is None:
            raise_invalid(self, "n_features", "given to create, for originals to be kept", "None")
        return n_features

    def _check_column(self, column: str, known: Sequence[str]) -> None:
        """Refuse a condition on a column that is not there."""
        if column not in known:
            listed = ", ".join(map(repr, known))
            raise_invalid(self, "a column in where", f"one of {listed}", repr(column))

    def _known(self, ids: Ids, known: BoolArray) -> None:
        """Refuse ids that are not there."""
        if not known.all():
            numbers.raise_ids(type(self).__name__, "in the store", ids[~known])


def raise_invalid(store: Store | type[Store], name: str, demand: str, got: object) -> NoReturn:
    """Raise the error sentence in the name of a store."""
    owner = store if isinstance(store, type) else type(store)
    _validation.raise_invalid(name, owner.__name__, demand, got)


def check_bits(n_bits: Any, owner: str) -> int:
    """Return a code length that search can handle."""
    return _validation.check_integer(n_bits, "n_bits", owner, low=1, high=MAX_BITS)


def flat(
    query: NDArray[np.integer[Any]], ids: Ids, distances: AnyArray, n_queries: int
) -> RadiusHits:
    """Lay answers out query by query, by distance, ties by id."""
    order = np.lexsort((ids, distances, query))
    counts = np.bincount(query, minlength=n_queries)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return RadiusHits(offsets, ids[order].astype(np.int64), distances[order].astype(np.int32))


def check_codes(codes: Any, n_bits: int, owner: str) -> None:
    """Raise unless these are codes of a store's length."""
    if not isinstance(codes, Codes):
        raise TypeError(f"codes must be bitfold.Codes, got {type(codes).__name__}.")
    if codes.n_bits != n_bits:
        _validation.raise_invalid("codes", owner, f"of {n_bits} bits", f"{codes.n_bits} bits")


def check_vectors(vectors: Any, count: int, width: int | None, owner: str) -> Float32Array | None:
    """Return originals as finite float32 rows, one for each code, where a store keeps them."""
    if width is None:
        if vectors is not None:
            demand = "None: the store was made without n_features"
            _validation.raise_invalid("vectors", owner, demand, type(vectors).__name__)
        return None
    if vectors is None:
        demand = f"{count} rows of {width} features: the store keeps them"
        _validation.raise_invalid("vectors", owner, demand, "None")
    matrix = _validation.check_matrix(vectors, owner, name="vectors", min_rows=0)
    if matrix.shape != (count, width):
        demand = f"of shape ({count}, {width})"
        _validation.raise_invalid("vectors", owner, demand, f"shape {matrix.shape}")
    _validation.check_finite(np.asarray(matrix), owner, name="vectors")
    return np.ascontiguousarray(matrix, np.float32)
