"""bitfold for ann-benchmarks: Hamming candidates, re-ranked on the originals."""

import numpy as np
from ann_benchmarks.algorithms.base.module import BaseANN

import bitfold as bf
from bitfold import hashers

_METRICS = {"euclidean": "l2", "angular": "cosine"}


class Bitfold(BaseANN):
    """Codes of a hasher; exact distances to so many of the nearest decide."""

    def __init__(self, metric, method, n_bits):
        if metric not in _METRICS:
            raise ValueError(f"metric of Bitfold must be euclidean or angular, got {metric}.")
        self._metric, self._method, self._n_bits = metric, method, n_bits
        self._candidates = 200
        self.name = str(self)

    def fit(self, X):
        """Learn codes of the rows, and index them."""
        self._vectors = self._prepared(X)
        hasher = getattr(hashers, self._method)(n_bits=self._n_bits)
        if "random_state" in hasher.get_params():
            hasher.set_params(random_state=0)
        self._hasher = hasher.fit(self._vectors)
        self._index = bf.HammingIndex(self._n_bits)
        self._index.add(self._hasher.encode(self._vectors))

    def set_query_arguments(self, candidates):
        """Choose how many of the nearest codes are looked at."""
        self._candidates = candidates
        self.name = str(self)

    def query(self, v, n):
        """Return the ids of the n nearest rows."""
        return self._nearest(v[None], n)[0]

    def batch_query(self, X, n):
        """Answer many queries at once, on all cores."""
        self.res = self._nearest(X, n)

    def _nearest(self, X, n):
        queries = self._prepared(X)
        finer = bf.RerankByVectors(self._vectors, queries, self._candidates, _METRICS[self._metric])
        return self._index.search(self._hasher.encode(queries), n, rerank=finer).ids

    def _prepared(self, X):
        """Float32 rows; of length 1 where only their direction counts."""
        rows = np.ascontiguousarray(X, np.float32)
        if self._metric == "angular":
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            rows = rows / np.where(lengths > 0, lengths, 1)
        return rows

    def __str__(self):
        return (
            f"Bitfold(method={self._method}, n_bits={self._n_bits}, candidates={self._candidates})"
        )


class BitfoldHamming(BaseANN):
    """Exact search of bits, a column each, by Hamming distance."""

    name = "BitfoldHamming()"

    def fit(self, X):
        """Pack the bits and index them."""
        codes = bf.Codes.from_bits(X)
        self._index = bf.HammingIndex(codes.n_bits)
        self._index.add(codes)

    def query(self, v, n):
        """Return the ids of the n nearest rows."""
        return self._index.search(bf.Codes.from_bits(v[None]), n).ids[0]

    def batch_query(self, X, n):
        """Answer many queries at once, on all cores."""
        self.res = self._index.search(bf.Codes.from_bits(X), n).ids
