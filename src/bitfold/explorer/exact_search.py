"""Exact ℓ2 neighbors, for comparison with the codes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray, Float64Array
from bitfold.metrics import closest_neighbors
from bitfold.search import Hits

_MAX_CACHED_ANSWERS = 512
"""Maximum number of cached answers; each costs a scan of all vectors."""


class ExactSearch:
    """Find the nearest rows that are items of the index.

    Parameters
    ----------
    vectors
        Array or memory map, one row per vector.
    is_item
        Returns whether a row is an item of the index.
    """

    def __init__(self, vectors: AnyArray, is_item: Callable[[int], bool]) -> None:
        self.vectors = vectors
        self._is_item = is_item
        self._cached = lru_cache(_MAX_CACHED_ANSWERS)(self._nearest)

    def nearest(self, vector: Float64Array, k: int, exclude: int | None = None) -> Hits:
        """Return the k nearest items except ``exclude``, the query itself."""
        width = self.vectors.shape[1]
        if len(vector) != width:
            _validation.raise_invalid("vector", "the query", f"{width} numbers", len(vector))
        return self._cached(vector.tobytes(), k, exclude)

    def _nearest(self, content: bytes, k: int, exclude: int | None) -> Hits:
        vector, n = np.frombuffer(content), len(self.vectors)
        n_candidates = k + (exclude is not None)
        while True:
            rows = closest_neighbors(self.vectors, vector[None], k=min(n_candidates, n))[0].tolist()
            kept = [row for row in rows if row != exclude and self._is_item(row)][:k]
            if len(kept) == k or n_candidates >= n:
                break
            n_candidates *= 4
        ids = np.array(kept, np.int64)
        distances = np.linalg.norm(np.asarray(self.vectors[ids], np.float64) - vector, axis=1)
        return Hits(ids[None], distances[None])
