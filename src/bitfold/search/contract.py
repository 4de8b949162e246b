"""The contract of every index and store: one set of methods, one set of result types.

:class:`bitfold.HammingIndex` and the stores in :mod:`bitfold.stores` implement
:class:`CodeIndex`. :func:`bitfold.testing.check_store` checks an implementation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, Self

from numpy.typing import ArrayLike

from bitfold import _validation
from bitfold._types import FloatingArray, Ids
from bitfold.codes import Codes
from bitfold.errors import ParameterTypeError
from bitfold.search.results import Batch, Hits, RadiusHits

MAX_BITS = 1024
"""Length of the longest codes that can be searched."""


class Reranker(Protocol):
    """Measures candidates by a finer distance; the ``rerank`` of :meth:`CodeIndex.search`.

    Examples
    --------
    >>> from bitfold import RerankByEmbedding
    >>> reranker: Reranker = RerankByEmbedding([[0.5, -1.0]], n_candidates=100)
    >>> reranker.n_candidates
    100
    """

    @property
    def n_candidates(self) -> int:
        """Number of nearest codes to measure per query."""

    def measure(self, ids: Ids, codes_of: Callable[[Ids], Codes]) -> FloatingArray:
        """Return the distance of each candidate to its query.

        Parameters
        ----------
        ids
            Ids of the candidates, one row per query.
        codes_of
            Returns the codes of some ids.

        Returns
        -------
        Distances of the same shape as ``ids``; smaller is nearer.
        """


class CodeIndex(ABC):
    """Codes with ids that can be searched by Hamming distance.

    Every index and store has these methods and gives the same answers: distances are exact,
    ties go by id, and a radius is inclusive.

    Attributes
    ----------
    n_bits
        Length of the codes.

    Examples
    --------
    >>> from bitfold import HammingIndex
    >>> with HammingIndex(n_bits=2) as index:
    ...     index.add(Codes.from_bits([[0, 1], [1, 1]]))
    ...     isinstance(index, CodeIndex), len(index)
    (True, 2)
    """

    n_bits: int

    @abstractmethod
    def add(self, codes: Codes, ids: ArrayLike | None = None) -> None:
        """Add codes; after an error none of them is added.

        Parameters
        ----------
        codes
            Codes of ``n_bits``.
        ids
            One unique integer per code; None continues after the largest id so far, starting
            with 0.

        Raises
        ------
        ParameterError
            If the codes have another length, or ``ids`` are not one integer per code.
        DataError
            If an id appears twice or is already present.
        """

    @abstractmethod
    def remove(self, ids: ArrayLike) -> None:
        """Remove codes by id; after an error none of them is removed.

        Parameters
        ----------
        ids
            Ids of codes that are present.

        Raises
        ------
        ParameterError
            If ``ids`` are not integers.
        DataError
            If an id is not present.
        """

    @abstractmethod
    def search(
        self,
        codes: Codes,
        k: int = 10,
        *,
        query_embedding: ArrayLike | None = None,
        rerank: Any = None,
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
            ``hasher.embed(Q)``, to rank the codes by it instead of by Hamming distance. A store
            may rank only the codes that are nearest by Hamming distance.
        rerank
            A :class:`Reranker`, which orders the nearest codes by a finer distance.
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
            ``query_embedding`` is not that of the query codes, or ``among`` is neither ids nor a
            mask of the right length.
        DataError
            If ``among`` has unknown or repeated ids.
        """

    @abstractmethod
    def within(
        self, codes: Codes, radius: int = 2, *, among: ArrayLike | None = None
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
        """

    @abstractmethod
    def codes(self, ids: ArrayLike) -> Codes:
        """Return the codes of some ids, in the order of the ids.

        Parameters
        ----------
        ids
            Ids of codes that are present; they may repeat.

        Returns
        -------
        One code per id.

        Raises
        ------
        ParameterError
            If ``ids`` are not integers.
        DataError
            If an id is not present.
        """

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """Iterate over all codes with their ids, in batches of bounded size.

        Yields
        ------
        Each id appears in exactly one batch; the order is not specified.
        """

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of codes."""

    @abstractmethod
    def close(self) -> None:
        """Release files, locks and connections; closing twice is allowed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def check_codes(codes: Any, n_bits: int, owner: str, call: str) -> None:
    """Raise unless ``codes`` are codes of the given length.

    Parameters
    ----------
    codes
        Value to check.
    n_bits
        Length that the codes must have.
    owner
        Class that is named in the error.
    call
        What to call instead if ``codes`` are vectors, such as "index.add(hasher.encode(X))".

    Raises
    ------
    ParameterTypeError
        If ``codes`` are not :class:`bitfold.Codes`.
    ParameterError
        If they have another length.

    Examples
    --------
    >>> check_codes(Codes.from_bits([[0, 1]]), 2, "MyIndex", "index.search(hasher.encode(Q))")
    """
    if not isinstance(codes, Codes):
        raise ParameterTypeError("codes", owner, "bitfold.Codes", _describe(codes, call))
    if codes.n_bits != n_bits:
        _validation.raise_invalid("codes", owner, f"of {n_bits} bits", f"{codes.n_bits} bits")


def _describe(value: Any, call: str) -> str:
    """Return the type of a value that is not codes; of vectors or bits, also what to do."""
    kind, dtype = type(value).__name__, getattr(value, "dtype", None)
    kind = kind if dtype is None else f"{kind} of {dtype}"
    if str(dtype) in ("uint8", "bool"):
        made = "Codes(packed, n_bits)" if str(dtype) == "uint8" else "Codes.from_bits(bits)"
        return f"{kind}; convert bits with {made}, or encode vectors first: {call}"
    is_array_like = hasattr(value, "__array__") or isinstance(value, Sequence)
    if is_array_like and not isinstance(value, (str, bytes)):
        return f"{kind}; encode them first: {call}"
    return kind
