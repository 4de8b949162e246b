"""A model with its codes: the buckets of equal codes, and the index that searches them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bitfold._kernels import hamming
from bitfold._types import (
    AnyArray,
    BoolArray,
    Float32Array,
    Ids,
    Int32Array,
    Int64Array,
    UInt8Array,
    UInt16Array,
    Words,
)
from bitfold.codes import Codes, combine_digests
from bitfold.errors import DataError, ModelMismatchError
from bitfold.hashers import DualHasher, Hasher, load
from bitfold.hashers.base.base_set import BaseSetHasher
from bitfold.search import HammingIndex


class RadiusCounts(NamedTuple):
    """Number of items within each radius of a query; ``alike`` counts those with its label."""

    within: Int64Array
    alike: Int64Array | None


class ModelPaths(NamedTuple):
    """Where a model was read from, for code that reads it again."""

    index_path: Path | None = None
    model_path: Path | None = None
    collection_path: Path | None = None


@dataclass(frozen=True, eq=False)
class IndexedModel:
    """A model and the codes of the items; items are numbered by rows.

    Parameters
    ----------
    name
        Name of the model on the page.
    hasher
        The model.
    distinct
        The distinct codes, in the order of their smallest rows.
    offsets
        Where the rows of each distinct code begin in ``rows``; one entry more than codes.
    rows
        Rows of all items, bucket by bucket, ascending in each.
    paths
        Where the model comes from.
    """

    name: str
    hasher: Hasher
    distinct: Codes
    offsets: Int64Array
    rows: Int64Array
    paths: ModelPaths

    @classmethod
    def open(cls, index_path: Path, model_path: Path, name: str) -> tuple[IndexedModel, Ids]:
        """Open an index and the model that made it; return the ids of the rows, too."""
        index, hasher = HammingIndex.open(index_path), load(model_path)
        if index.n_bits != hasher.n_bits_:
            raise ModelMismatchError(
                f"{index_path} has codes of {index.n_bits} bits, but {model_path} makes codes of "
                f"{hasher.n_bits_} bits."
            )
        combine_digests([index.model_digest, hasher.model_digest])
        if not len(index):
            raise DataError(f"{index_path} is empty; add codes to it first.")
        return cls.from_index(name, hasher, index, ModelPaths(index_path, model_path))

    @classmethod
    def from_index(
        cls, name: str, hasher: Hasher, index: HammingIndex, paths: ModelPaths
    ) -> tuple[IndexedModel, Ids]:
        """Return the model with the codes of an index, and the ids of the rows, ascending."""
        buckets = index.buckets()
        ids = np.sort(buckets.ids)
        is_dense = ids[0] == 0 and ids[-1] == len(ids) - 1
        rows = buckets.ids if is_dense else np.searchsorted(ids, buckets.ids)
        return cls(name, hasher, buckets.codes, buckets.offsets, rows, paths), ids

    @property
    def n_bits(self) -> int:
        """Length of the codes."""
        return self.hasher.n_bits_

    @property
    def n_rows(self) -> int:
        """Number of items."""
        return len(self.rows)

    @property
    def n_distinct(self) -> int:
        """Number of distinct codes."""
        return len(self.distinct)

    @property
    def n_coarse_bits(self) -> int | None:
        """Number of coarse bits of a ``DualHasher``, or None."""
        return self.hasher.n_coarse_bits_ if isinstance(self.hasher, DualHasher) else None

    @property
    def base_hasher(self) -> BaseSetHasher | None:
        """The hasher with a base set: the model itself, or its coarse part."""
        hasher = self.hasher.coarse_ if isinstance(self.hasher, DualHasher) else self.hasher
        return hasher if isinstance(hasher, BaseSetHasher) else None

    @cached_property
    def sizes(self) -> Int64Array:
        """Number of items per bucket (distinct code)."""
        return np.diff(self.offsets)

    @cached_property
    def bucket_of(self) -> Int32Array:
        """The bucket of each row."""
        out = np.empty(self.n_rows, np.int32)
        out[self.rows] = np.repeat(np.arange(self.n_distinct, dtype=np.int32), self.sizes)
        return out

    @cached_property
    def bucket_index(self) -> HammingIndex:
        """An index of the distinct codes, whose ids are the numbers of the buckets."""
        index = HammingIndex(self.n_bits)
        index.add(self.distinct)
        return index

    @cached_property
    def _columns(self) -> Words:
        """The distinct codes as words, one column per code."""
        return np.ascontiguousarray(self.distinct.words().T)

    def members(self, bucket: int) -> Int64Array:
        """Return the rows of a bucket, ascending."""
        begin, end = (int(offset) for offset in self.offsets[bucket : bucket + 2])
        return self.rows[begin:end]

    def bits(self, buckets: AnyArray | slice) -> UInt8Array:
        """Return the bits of some buckets, one row per code."""
        return np.unpackbits(self.distinct.packed[buckets], axis=1, count=self.n_bits)

    def codes(self, rows: ArrayLike) -> Codes:
        """Return the codes of items."""
        return self.distinct[self.bucket_of[np.asarray(rows, np.int64)]]

    def embed(self, vector: AnyArray) -> Float32Array:
        """Return the reals behind the bits of a vector."""
        reals: Float32Array = self.hasher.embed(vector[None])[0]
        return reals

    def encode(self, vector: AnyArray) -> Codes:
        """Return the code of a vector."""
        return self.hasher.encode(vector[None])

    def agreement(self, row: int, vector: AnyArray) -> float:
        """Return the fraction of equal bits between the code of an item and of a vector."""
        return float(np.mean(self.codes([row]).unpack() == self.encode(vector).unpack()))

    def find_bucket(self, code: Codes) -> int | None:
        """Return the bucket of a code, or None if no item has it."""
        found = self.bucket_index.search(_without_digest(code), 1)
        return int(found.ids[0, 0]) if found.distances[0, 0] == 0 else None

    def measure(self, code: Codes) -> UInt16Array:
        """Return the Hamming distances of all buckets to a code."""
        distances = np.empty(self.n_distinct, np.uint16)
        hamming.measure(code.words()[0], self._columns, distances)
        return distances

    def count_within(
        self, code: Codes, alike: BoolArray | None = None, exclude: int | None = None
    ) -> RadiusCounts:
        """Count the items within each radius.

        Parameters
        ----------
        code
            The code of the query.
        alike
            Mask of items to count separately too, by row.
        exclude
            The item that is the query, which is not counted.
        """
        distances = self.measure(code)
        counts = np.bincount(distances, self.sizes, self.n_bits + 1).astype(np.int64)
        counts[0] -= exclude is not None
        if alike is None:
            return RadiusCounts(np.cumsum(counts), None)
        same = np.bincount(distances[self.bucket_of[alike]], minlength=self.n_bits + 1)
        same[0] -= exclude is not None
        return RadiusCounts(np.cumsum(counts), np.cumsum(same))


def hamming_distances(code: Codes, others: Codes) -> Int64Array:
    """Return the Hamming distances between one code and others."""
    differing = np.bitwise_count(code.words() ^ others.words())
    total: Int64Array = differing.sum(axis=1, dtype=np.int64)
    return total


def _without_digest(code: Codes) -> Codes:
    return Codes(code.packed, code.n_bits)
