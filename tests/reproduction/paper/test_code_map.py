"""The paper's complexities (Sec. III-C), by what a computation reads and keeps."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

import bitfold as bf
from bitfold.induction import induce
from bitfold.neighbors import NearestBasePoints

X = load_digits().data.astype(np.float32)


def test_a_code_needs_the_k_nearest_embeddings() -> None:
    """The mean takes O(rk): other embeddings are not read."""
    base, queries, k = X[:100], X[200:210], 5
    embedding = np.random.default_rng(0).standard_normal((100, 8)).astype(np.float32)
    nearest = NearestBasePoints(base, k).find(queries)
    expected = induce(nearest, embedding, 10.0)
    is_needed = np.isin(np.arange(100), nearest.indices)
    assert is_needed.sum() <= k * len(queries) < 100
    embedding[~is_needed] = np.nan
    np.testing.assert_array_equal(induce(nearest, embedding, 10.0), expected)


def test_a_model_does_not_grow_with_the_rows() -> None:
    """Hashing needs m base points of d numbers and m embeddings of r, for any number of rows."""
    for n in (600, 1700):
        model = bf.IMH(16, base=bf.KMeansBase(50), random_state=0).fit(X[:n])
        assert model.base_points_.shape == (50, 64)
        assert model.base_embedding_.shape == (50, 16)
