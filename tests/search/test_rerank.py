"""Re-ranking against exact distances."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

import bitfold as bf
from bitfold.search import Reranker

RNG = np.random.default_rng(0)
X = RNG.standard_normal((500, 20)).astype(np.float32)
Q = RNG.standard_normal((7, 20)).astype(np.float32)
DIRECTIONS = RNG.standard_normal((20, 24)).astype(np.float32)


def codes(vectors: NDArray[Any]) -> bf.Codes:
    return bf.Codes.from_bits(vectors @ DIRECTIONS > 0)


@pytest.fixture(scope="module")
def index() -> bf.HammingIndex:
    index = bf.HammingIndex(24)
    index.add(codes(X))
    return index


@pytest.mark.parametrize(
    ("metric", "exact"),
    [
        ("l2", cdist(Q, X)),
        ("ip", -Q.astype(np.float64) @ X.T.astype(np.float64)),
        ("cosine", cdist(Q, X, "cosine")),
    ],
)
def test_all_candidates_give_the_exact_ranking(
    index: bf.HammingIndex,
    metric: str,
    exact: NDArray[Any],
) -> None:
    hits = index.search(
        codes(Q), 10, rerank=bf.RerankByVectors(X, Q, n_candidates=500, metric=metric)
    )
    order = np.argsort(exact, axis=1)[:, :10]
    assert np.array_equal(hits.ids, order)
    np.testing.assert_allclose(hits.distances, np.take_along_axis(exact, order, 1), rtol=1e-4)


def test_candidates_are_the_nearest_codes(index: bf.HammingIndex) -> None:
    candidates = index.search(codes(Q), 30).ids
    hits = index.search(codes(Q), 5, rerank=bf.RerankByVectors(X, Q, n_candidates=30))
    exact = cdist(Q, X)
    for i in range(len(Q)):
        best = sorted(candidates[i], key=lambda j: exact[i, j])[:5]
        assert hits.ids[i].tolist() == [int(j) for j in best]


def test_memmap_and_own_ids(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    vectors = np.load(tmp_path / "x.npy", mmap_mode="r")
    ids = RNG.permutation(10_000)[: len(X)]
    index = bf.HammingIndex(24)
    index.add(codes(X), ids=ids)
    hits = index.search(
        codes(Q), 3, rerank=bf.RerankByVectors(vectors, Q, n_candidates=500, ids=ids)
    )
    assert np.array_equal(hits.ids, ids[np.argsort(cdist(Q, X), axis=1)[:, :3]])


def test_embedding_distance_is_the_weighted_hamming_distance(index: bf.HammingIndex) -> None:
    reals = Q @ DIRECTIONS
    hits = index.search(codes(Q), 500, rerank=bf.RerankByEmbedding(reals, n_candidates=500))
    bits = codes(X).unpack()
    for i in range(len(Q)):
        weighted = np.array([np.abs(reals[i])[b != (reals[i] > 0)].sum() for b in bits])
        np.testing.assert_allclose(hits.distances[i], np.sort(weighted), rtol=1e-4, atol=1e-5)
        assert np.array_equal(np.sort(hits.ids[i]), np.arange(500))


def test_embedding_of_all_candidates_equals_asymmetric_search(index: bf.HammingIndex) -> None:
    reals = Q @ DIRECTIONS
    reranked = index.search(codes(Q), 40, rerank=bf.RerankByEmbedding(reals, n_candidates=500))
    hits = index.search(codes(Q), 40, query_embedding=reals)
    assert np.array_equal(reranked.ids, hits.ids)
    assert np.array_equal(reranked.distances, hits.distances)
    assert reranked.distances.dtype == hits.distances.dtype == np.float32
    assert reranked.n_tied is None


def test_embedding_finds_more_neighbors_than_hamming(index: bf.HammingIndex) -> None:
    queries = X[:100] + 0.05 * RNG.standard_normal((100, 20)).astype(np.float32)
    truth = np.argsort(cdist(queries, X), axis=1)[:, :10]
    plain = index.search(codes(queries), 10)
    rerank = bf.RerankByEmbedding(queries @ DIRECTIONS, n_candidates=100)
    finer = index.search(codes(queries), 10, rerank=rerank)

    def recall(ids: NDArray[Any]) -> float:
        return float(np.mean([len(set(a) & set(b)) / 10 for a, b in zip(ids, truth, strict=True)]))

    assert recall(finer.ids) > recall(plain.ids) + 0.03


def test_zero_vector_has_cosine_distance_one(index: bf.HammingIndex) -> None:
    zero = np.zeros((1, 20), np.float32)
    hits = index.search(codes(zero), 3, rerank=bf.RerankByVectors(X, zero, metric="cosine"))
    assert hits.distances.tolist() == [[1, 1, 1]]


@pytest.mark.parametrize(
    ("rerank", "message"),
    [
        (
            bf.RerankByVectors(X, Q, metric="l1"),
            "metric of RerankByVectors must be one of 'l2', 'ip', 'cosine'",
        ),
        (
            bf.RerankByVectors(X, Q[:3]),
            r"queries of RerankByVectors must be of shape \(7, 20\), got shape \(3, 20\)",
        ),
        (
            bf.RerankByVectors(X[:100], Q),
            "vectors of RerankByVectors has 100 rows, but none for id",
        ),
        (
            bf.RerankByVectors(X, Q, ids=[1, 2]),
            "ids of RerankByVectors must be one id for each of the 500 rows",
        ),
        (
            bf.RerankByVectors(X, Q, n_candidates=0),
            "n_candidates of RerankByVectors must be at least 1, got 0",
        ),
        (
            bf.RerankByVectors(X, Q * np.nan),
            "queries of RerankByVectors must be finite, got NaN in row 0",
        ),
        (
            bf.RerankByEmbedding(Q),
            r"query_embedding of RerankByEmbedding must be of shape \(7, 24\).*got shape \(7, 20\)",
        ),
    ],
)
def test_errors(index: bf.HammingIndex, rerank: Reranker, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        index.search(codes(Q), 3, rerank=rerank)


def test_error_names_the_row_that_is_not_finite(index: bf.HammingIndex) -> None:
    nearest = int(index.search(codes(Q), 5).ids.max())
    vectors = X.copy()
    vectors[nearest] = np.nan
    with pytest.raises(
        ValueError, match=f"vectors of RerankByVectors .* got NaN in row {nearest}."
    ):
        index.search(codes(Q), 3, rerank=bf.RerankByVectors(vectors, Q, n_candidates=5))
