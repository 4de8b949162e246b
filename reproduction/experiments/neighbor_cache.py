"""Nearest base points that are found once for the methods and code lengths that need the same."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any

import numpy as np

from bitfold.neighbors import NearestBasePoints, Neighbors
from reproduction.shared_types import Float32Array

MAX_BYTES = 1 << 30
"""Size of the neighbors that are kept; those of a million rows take 12 bytes per neighbor."""

_find = NearestBasePoints.find


class NeighborCache:
    """Neighbors by the contents of a block of rows and a base set; the oldest ones are dropped."""

    def __init__(self) -> None:
        self.blocks: OrderedDict[bytes, Neighbors] = OrderedDict()
        self.n_bytes = 0

    def find(self, base: NearestBasePoints, rows: Float32Array) -> Neighbors:
        """Return the nearest base points of rows, as :meth:`NearestBasePoints.find` does."""
        key = _hash(base.points, base.k, base.directions, rows)
        found = self.blocks.get(key)
        if found is None:
            found = self.blocks[key] = _find(base, rows)
            self.n_bytes += _count_bytes(found)
            while self.n_bytes > MAX_BYTES:
                self.n_bytes -= _count_bytes(self.blocks.popitem(last=False)[1])
        return found


CACHE = NeighborCache()
"""The cache of this process."""


def share_neighbors() -> None:
    """Let all hashers of this process share the neighbors that they find.

    A lookup takes a tenth of the search for wide data. It is for runs whose times do not count.
    """
    NearestBasePoints.find = lambda self, rows: CACHE.find(self, rows)  # type: ignore[method-assign]


def _hash(*parts: Any) -> bytes:
    digest = hashlib.sha1(usedforsecurity=False)
    for part in parts:
        array = np.ascontiguousarray(0 if part is None else part)
        digest.update(f"{array.shape} {array.dtype}".encode())
        digest.update(array.data)
    return digest.digest()


def _count_bytes(found: Neighbors) -> int:
    return found.indices.nbytes + found.sq_distances.nbytes
