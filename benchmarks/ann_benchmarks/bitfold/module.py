"""bitfold for ann-benchmarks: candidates from codes, ordered by their vectors."""

import numpy as np
from ann_benchmarks.algorithms.base.module import BaseANN

import bitfold as bf
from bitfold import hashers

_METRICS = {"euclidean": "l2", "angular": "cosine"}

# Exact distances decide the order, so DualHasher's coarse bits matter less than by default.
_COARSE_WEIGHT = 0.1


class Bitfold(BaseANN):
    """Search the codes of a hasher, and rescore candidates by exact distances.

    With ``asymmetric``, candidates are the codes nearest to the reals of the query, otherwise
    those nearest by Hamming distance.
    """

    def __init__(self, metric, method, n_bits, asymmetric=False):
        if metric not in _METRICS:
            raise ValueError(f"metric must be euclidean or angular, got {metric!r}.")
        self._metric, self._method, self._n_bits = metric, method, n_bits
        self._asymmetric = asymmetric
        self._n_candidates = 200
        self.name = str(self)

    def fit(self, X):
        """Fit the hasher to the rows, and index their codes."""
        self._vectors = np.ascontiguousarray(X, np.float32)
        is_angular = self._metric == "angular"
        hasher = getattr(hashers, self._method)(n_bits=self._n_bits, normalize=is_angular)
        settings = {"random_state": 0, "coarse_weight": _COARSE_WEIGHT}
        known = hasher.get_params()
        hasher.set_params(**{name: value for name, value in settings.items() if name in known})
        self._hasher = hasher.fit(self._vectors)
        self._index = bf.HammingIndex(self._n_bits)
        self._index.add(self._hasher.encode(self._vectors))

    def set_query_arguments(self, n_candidates):
        """Set the number of candidates."""
        self._n_candidates = n_candidates
        self.name = str(self)

    def query(self, v, n):
        """Return the ids of the n nearest rows."""
        return self._search(v[None], n)[0]

    def batch_query(self, X, n):
        """Search many queries at once, on all cores."""
        self.res = self._search(X, n)

    def _search(self, X, n):
        queries = np.ascontiguousarray(X, np.float32)
        metric = _METRICS[self._metric]
        rescore = bf.RerankByVectors(self._vectors, queries, self._n_candidates, metric)
        embedding = self._hasher.embed(queries) if self._asymmetric else None
        codes = self._hasher.encode(queries)
        return self._index.search(codes, n, query_embedding=embedding, rerank=rescore).ids

    def __str__(self):
        return (
            f"Bitfold(method={self._method}, n_bits={self._n_bits}, "
            f"asymmetric={self._asymmetric}, n_candidates={self._n_candidates})"
        )


class BitfoldHamming(BaseANN):
    """Search bits, one column per bit, exactly by Hamming distance."""

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
        """Search many queries at once, on all cores."""
        self.res = self._index.search(bf.Codes.from_bits(X), n).ids
