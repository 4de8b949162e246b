"""Exact ℓ2 neighbors: what codes are measured against."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray, Float64Array
from bitfold.metrics import closest_neighbors
from bitfold.search import Hits

_KEPT = 512
"""Answers that are kept: each costs a scan of all vectors."""


class Scan:
    """Finds the nearest rows, without those that are no items.

    Parameters
    ----------
    vectors
        One a row, an array or a memory map.
    belongs
        Whether a row is an item of the index.
    """

    def __init__(self, vectors: AnyArray, belongs: Callable[[int], bool]) -> None:
        self.vectors = vectors
        self._belongs = belongs
        self._kept = lru_cache(_KEPT)(self._nearest)

    def nearest(self, vector: Float64Array, k: int, but: int | None = None) -> Hits:
        """Find the k nearest items, one of them left out if need be, as the query itself is."""
        width = self.vectors.shape[1]
        if len(vector) != width:
            _validation.raise_invalid("vector", "the query", f"of {width} numbers", len(vector))
        return self._kept(vector.tobytes(), k, but)

    def _nearest(self, content: bytes, k: int, but: int | None) -> Hits:
        vector, n = np.frombuffer(content), len(self.vectors)
        asked = k + (but is not None)
        while True:
            rows = closest_neighbors(self.vectors, vector[None], k=min(asked, n))[0].tolist()
            kept = [row for row in rows if row != but and self._belongs(row)][:k]
            if len(kept) == k or asked >= n:
                break
            asked *= 4
        ids = np.array(kept, np.int64)
        found = np.linalg.norm(np.asarray(self.vectors[ids], np.float64) - vector, axis=1)
        return Hits(ids[None], found[None])
