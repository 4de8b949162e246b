"""Re-ranking by the vectors that a store keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray, Float32Array, Ids
from bitfold.codes import Codes
from bitfold.search import RerankByVectors, Reranker

_BLOCK_FLOATS = 1 << 24
"""Floats fetched from the store at a time (64 MB): fewer round trips to the engine."""


@dataclass(frozen=True)
class RerankByStoredVectors:
    """Order the nearest codes by exact distances to the vectors that the store keeps.

    The distances are those of :class:`bitfold.RerankByVectors`.

    Parameters
    ----------
    queries
        Vectors of the queries, one row per query code.
    n_candidates
        Number of nearest codes to consider.
    metric
        "l2", "ip" (negative inner product) or "cosine" (1 - cosine): smaller is nearer.

    Examples
    --------
    >>> from bitfold.stores import LanceStore
    >>> vectors = np.array([[0.0], [1.0], [2.0]])
    >>> store = LanceStore.create("lancedb", "points", n_bits=8, n_features=1)
    >>> store.add(Codes(np.zeros((3, 1), np.uint8), 8), vectors=vectors)
    >>> query = Codes(np.zeros((1, 1), np.uint8), 8)
    >>> store.search(query, k=2, rerank=RerankByStoredVectors([[1.9]])).ids.tolist()
    [[2, 1]]
    """

    queries: Any
    n_candidates: int = 200
    metric: str = "l2"

    def bind(self, fetch_vectors: Callable[[Ids], Float32Array]) -> Reranker:
        """Return the re-ranker that reads the vectors of one store.

        Parameters
        ----------
        fetch_vectors
            Returns the vectors of some ids, such as :meth:`Store.vectors`.

        Returns
        -------
        Reranker
            What :meth:`HammingIndex.search` takes as ``rerank``.

        Raises
        ------
        ParameterError
            If ``n_candidates`` is not an integer of at least 1.
        """
        owner = type(self).__name__
        _validation.check_integer(self.n_candidates, "n_candidates", owner, low=1)
        return _BoundReranker(self.queries, self.n_candidates, self.metric, fetch_vectors)


@dataclass(frozen=True)
class _BoundReranker:
    queries: Any
    n_candidates: int
    metric: str
    fetch_vectors: Callable[[Ids], Float32Array]

    def measure(self, ids: Ids, codes_of: Callable[[Ids], Codes]) -> Float32Array:
        """Return the distances of all candidates, fetching each vector once per block."""
        owner = "RerankByStoredVectors"
        queries = _validation.check_matrix(self.queries, owner, name="queries")
        if len(queries) != len(ids):
            requirement = f"one row for each of the {len(ids)} query codes"
            _validation.raise_invalid("queries", owner, requirement, f"{len(queries)} rows")
        step = max(1, _BLOCK_FLOATS // (ids.shape[1] * queries.shape[1]))
        blocks = [slice(i, i + step) for i in range(0, len(ids), step)]
        return np.concatenate([self._measure_block(ids[b], queries[b], codes_of) for b in blocks])

    def _measure_block(
        self, ids: Ids, queries: AnyArray, codes_of: Callable[[Ids], Codes]
    ) -> Float32Array:
        unique = np.unique(ids)
        vectors = self.fetch_vectors(unique)
        rerank = RerankByVectors(vectors, queries, self.n_candidates, self.metric, ids=unique)
        return rerank.measure(ids, codes_of)
