"""The second stage: exact distances on the originals that a store keeps."""

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
"""Floats of candidates fetched together: 64 MB, for fewer trips to the engine."""


@dataclass(frozen=True)
class RerankByStoredVectors:
    """Re-rank by exact distances to the originals in the store: two stages in one call.

    The distances are those of :class:`bitfold.RerankByVectors`.

    Parameters
    ----------
    queries
        The queries' originals, one for each query code.
    n_candidates
        How many of the nearest codes to look at.
    metric
        "l2", "ip" (negative inner product) or "cosine" (1 - cosine): smaller is nearer.
    """

    queries: Any
    n_candidates: int = 200
    metric: str = "l2"

    def over(self, vectors_of: Callable[[Ids], Float32Array]) -> Reranker:
        """Return the re-ranker over a store's vectors.

        Parameters
        ----------
        vectors_of
            Gives the originals of some ids.
        """
        return _Fetched(self, vectors_of)


@dataclass(frozen=True)
class _Fetched:
    """Fetches what each block of queries needs, once, and measures."""

    asked: RerankByStoredVectors
    vectors_of: Callable[[Ids], Float32Array]

    @property
    def n_candidates(self) -> int:
        return self.asked.n_candidates

    def measure(self, ids: Ids, codes_of: Callable[[Ids], Codes]) -> Float32Array:
        queries = _validation.check_matrix(
            self.asked.queries, "RerankByStoredVectors", name="queries"
        )
        if len(queries) != len(ids):
            demand = f"one for each of the {len(ids)} codes"
            _validation.raise_invalid("queries", "RerankByStoredVectors", demand, len(queries))
        step = max(1, _BLOCK_FLOATS // (ids.shape[1] * queries.shape[1]))
        parts = [slice(i, i + step) for i in range(0, len(ids), step)]
        return np.concatenate([self._measure(ids[p], queries[p], codes_of) for p in parts])

    def _measure(
        self, ids: Ids, queries: AnyArray, codes_of: Callable[[Ids], Codes]
    ) -> Float32Array:
        needed = np.unique(ids)
        vectors = self.vectors_of(needed)
        finer = RerankByVectors(vectors, queries, self.n_candidates, self.asked.metric, ids=needed)
        return finer.measure(ids, codes_of)
