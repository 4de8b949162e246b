"""Re-ranking by stored vectors equals re-ranking by vectors in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.stores.conftest import FAISS_KINDS, STORE_KINDS, MakeStore

import bitfold as bf
from bitfold.errors import ParameterError, StoreError
from bitfold.stores import RerankByStoredVectors

RNG = np.random.default_rng(0)
X = RNG.standard_normal((600, 20)).astype(np.float32)
Q = RNG.standard_normal((7, 20)).astype(np.float32)
DIRECTIONS = RNG.standard_normal((20, 30)).astype(np.float32)
CODES, QUERIES = (bf.Codes.from_bits(rows @ DIRECTIONS > 0) for rows in (X, Q))

every_kind = pytest.mark.parametrize("kind", STORE_KINDS)


@pytest.fixture
def store(kind: str, make_store: MakeStore) -> Any:
    if kind in FAISS_KINDS:
        store = make_store(kind, 30, vectors=X)
        store.add(CODES)
    else:
        store = make_store(kind, 30, n_features=20)
        store.add(CODES, vectors=X)
    return store


@every_kind
@pytest.mark.parametrize("metric", ["l2", "ip", "cosine"])
def test_results_match_vectors_in_memory(store: Any, metric: str) -> None:
    index = bf.HammingIndex(30)
    index.add(CODES)
    for n_candidates in (5, 50, 10_000):
        rerank = bf.RerankByVectors(X, Q, n_candidates, metric)
        expected = index.search(QUERIES, 8, rerank=rerank)
        found = store.search(QUERIES, 8, rerank=RerankByStoredVectors(Q, n_candidates, metric))
        assert np.array_equal(found.ids, expected.ids)
        assert np.array_equal(found.distances, expected.distances)
        assert found.distances.dtype == expected.distances.dtype


@every_kind
def test_no_queries(store: Any) -> None:
    found = store.search(QUERIES[:0], 8, rerank=RerankByStoredVectors(Q[:0]))
    assert found.ids.shape == (0, 8)


@every_kind
def test_invalid_parameters_raise(store: Any) -> None:
    for rerank, name in (
        (RerankByStoredVectors(Q[:3]), "queries of RerankByStoredVectors .* got 3"),
        (RerankByStoredVectors(Q, metric="l1"), "metric of RerankByVectors .* got 'l1'"),
        (RerankByStoredVectors(Q, n_candidates=0), "n_candidates of RerankByStoredVectors"),
    ):
        with pytest.raises(ParameterError, match=name):
            store.search(QUERIES, 5, rerank=rerank)


@every_kind
def test_store_without_vectors_raises(kind: str, make_store: MakeStore) -> None:
    store = make_store(kind, 30)
    store.add(QUERIES)
    with pytest.raises(StoreError, match=r"vectors; pass .* to create\(\)"):
        store.search(QUERIES, 5, rerank=RerankByStoredVectors(Q))
