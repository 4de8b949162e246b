"""A model with its index, and the buckets of its codes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bitfold._kernels import hamming
from bitfold._types import AnyArray, BoolArray, Ids, Int64Array, UInt8Array, Words
from bitfold.codes import Codes, combine_digests
from bitfold.errors import DataError, ModelMismatchError
from bitfold.hashers import Hasher, load
from bitfold.search import Buckets, HammingIndex, Hits


class RadiusCounts(NamedTuple):
    """Number of items within each radius of a query; ``alike`` counts those with its label."""

    within: Int64Array
    alike: Int64Array | None


@dataclass(frozen=True, eq=False)
class IndexedModel:
    """A model and its index.

    Parameters
    ----------
    name
        Name of the model on the page.
    hasher
        The model.
    index
        Codes of the items.
    buckets
        The distinct codes, with the items that have each.
    """

    name: str
    hasher: Hasher
    index: HammingIndex
    buckets: Buckets

    @classmethod
    def open(cls, index_path: Path, model_path: Path, name: str) -> IndexedModel:
        """Open an index and the model that made it."""
        index, hasher = HammingIndex.open(index_path), load(model_path)
        if index.n_bits != hasher.n_bits_:
            raise ModelMismatchError(
                f"{index_path} has codes of {index.n_bits} bits, but {model_path} makes codes of "
                f"{hasher.n_bits_} bits."
            )
        combine_digests([index.model_digest, hasher.model_digest])
        if not len(index):
            raise DataError(f"{index_path} is empty; add codes to it first.")
        return cls(name, hasher, index, index.buckets())

    @property
    def n_bits(self) -> int:
        """Length of the codes."""
        return self.hasher.n_bits_

    @cached_property
    def ids(self) -> Ids:
        """Ids of all items, ascending."""
        return np.sort(self.buckets.ids)

    @cached_property
    def sizes(self) -> Int64Array:
        """Number of items per bucket (distinct code)."""
        return self.buckets.sizes

    @property
    def n_distinct(self) -> int:
        """Number of distinct codes."""
        return len(self.buckets.codes)

    def __contains__(self, item: int) -> bool:
        if not self.ids[0] <= item <= self.ids[-1]:
            return False
        return bool(self.ids[np.searchsorted(self.ids, item)] == item)

    def members(self, bucket: int, at_most: int) -> Ids:
        """Return the first ids of a bucket."""
        begin, end = (int(offset) for offset in self.buckets.offsets[bucket : bucket + 2])
        return self.buckets.ids[begin : min(end, begin + at_most)]

    def bits(self, buckets: AnyArray | slice) -> UInt8Array:
        """Return the bits of some buckets, one row per code."""
        return np.unpackbits(self.buckets.codes.packed[buckets], axis=1, count=self.n_bits)

    def codes(self, ids: ArrayLike) -> Codes:
        """Return the codes of items."""
        return self.index.codes(ids)

    def encode(self, vector: AnyArray) -> Codes:
        """Return the code of a vector."""
        return self.hasher.encode(vector[None])

    def agreement(self, item: int, vector: AnyArray) -> float:
        """Return the fraction of equal bits between the code of an item and of a vector."""
        return float(np.mean(self.codes([item]).unpack() == self.encode(vector).unpack()))

    def nearest(self, code: Codes, k: int, exclude: int | None = None) -> Hits:
        """Return the k nearest items except ``exclude``, the query itself."""
        found = self.index.search(code, k + (exclude is not None))
        kept = np.flatnonzero(found.ids[0] != exclude)[:k]
        return Hits(found.ids[:, kept], found.distances[:, kept])

    @cached_property
    def _columns(self) -> Words:
        """The distinct codes as words, one column per code."""
        return np.ascontiguousarray(self.buckets.codes.words().T)

    def count_within(
        self, code: Codes, alike: BoolArray | None = None, exclude: int | None = None
    ) -> RadiusCounts:
        """Count the items within each radius.

        Parameters
        ----------
        code
            The code of the query.
        alike
            Mask of items to count separately too, in the order of ``buckets.ids``.
        exclude
            The item that is the query, which is not counted.
        """
        distances = np.empty(self.n_distinct, np.uint16)
        hamming.measure(code.words()[0], self._columns, distances)
        itself = exclude is not None and exclude in self
        counts = np.bincount(distances, self.sizes, self.n_bits + 1).astype(np.int64)
        counts[0] -= itself
        if alike is None:
            return RadiusCounts(np.cumsum(counts), None)
        same = np.bincount(np.repeat(distances, self.sizes)[alike], minlength=self.n_bits + 1)
        same[0] -= itself
        return RadiusCounts(np.cumsum(counts), np.cumsum(same))


def hamming_distances(code: Codes, others: Codes) -> Int64Array:
    """Return the Hamming distances between one code and others."""
    differing = np.bitwise_count(code.words() ^ others.words())
    total: Int64Array = differing.sum(axis=1, dtype=np.int64)
    return total
