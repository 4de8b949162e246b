"""Two-stage search has the same recall in every store, on GIST of CIFAR-10: `make paper`."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.paper.conftest import LoadData
from tests.stores.postgres_server import start_postgres

import bitfold as bf
from bitfold import hashers, metrics
from bitfold.search import Hits
from bitfold.stores import (
    Batch,
    FaissStore,
    LanceStore,
    PgvectorStore,
    RerankByStoredVectors,
    Store,
)

N_BITS, N_CANDIDATES = 128, 200

METHODS = ["ITQ", "LSH", "PStableLSH", "RMMH", "SpH"]
"""Methods for Euclidean neighbors; the stores get the codes of the best one."""


class IndexResult(NamedTuple):
    """Recall and hits of a method in the index, with re-ranking, and its codes."""

    recall: float
    hits: Hits
    codes: bf.Codes
    queries: bf.Codes


def measure_recall(ids: Any, truth: Any) -> float:
    """Return the recall of the ten nearest, in percent."""
    return 100 * float(np.mean(metrics.recall_at_k(ids, truth, 10)))


def try_method(method: str, X: Any, Q: Any, truth: Any) -> IndexResult:
    hasher = getattr(hashers, method)(N_BITS, random_state=0).fit(X)
    codes, queries = hasher.encode(X), hasher.encode(Q)
    index = bf.HammingIndex(N_BITS)
    index.add(codes)
    hits = index.search(queries, 10, rerank=bf.RerankByVectors(X, Q, N_CANDIDATES))
    return IndexResult(measure_recall(hits.ids, truth), hits, codes, queries)


def load_store(store: Store, codes: bf.Codes, vectors: Any) -> Store:
    """Load a store batch by batch, with vectors if it stores them."""
    kept = not isinstance(store, FaissStore)
    store.add_batches(
        Batch(None, codes[i : i + 10_000], vectors=vectors[i : i + 10_000] if kept else None)
        for i in range(0, len(codes), 10_000)
    )
    return store


def list_stores(X: Any, folder: Path, url: str) -> dict[str, Callable[[], Store]]:
    """Return functions that create each store, by name."""
    width = X.shape[1]
    factories = {"Flat": "BFlat", "IVF": "BIVF64", "HNSW": "BHNSW32", "MultiHash": "BHash4x16"}
    return {
        **{
            f"FaissStore, {name}": partial(FaissStore.create, N_BITS, factory, vectors=X)
            for name, factory in factories.items()
        },
        "LanceStore": partial(LanceStore.create, folder, "t", N_BITS, n_features=width),
        "PgvectorStore": partial(PgvectorStore.create, url, "t", N_BITS, n_features=width),
    }


@pytest.mark.paper
def test_recall_is_the_same_in_every_store(
    tmp_path: Path, load_data: LoadData, capsys: pytest.CaptureFixture[str]
) -> None:
    data = load_data("cifar10")
    X, Q = data.database.astype(np.float32), data.queries.astype(np.float32)
    truth = metrics.closest_neighbors(X, Q, k=10)

    def report(name: str, recall: float, note: str = "") -> None:
        with capsys.disabled():
            print(f"\n{name:24} recall@10 {recall:.2f}{note}")

    by_method = {method: try_method(method, X, Q, truth) for method in METHODS}
    for method, result in by_method.items():
        report(f"HammingIndex, {method}", result.recall)
    best = max(by_method.values(), key=lambda result: result.recall)
    with start_postgres() as url:
        for name, make in list_stores(X, tmp_path, url).items():
            with load_store(make(), best.codes, X) as store:
                start = time.perf_counter()
                hits = store.search(best.queries, 10, rerank=RerankByStoredVectors(Q, N_CANDIDATES))
                taken = 1000 * (time.perf_counter() - start) / len(Q)
                report(name, measure_recall(hits.ids, truth), f"  {taken:.2f} ms per query")
                assert np.array_equal(hits.ids, best.hits.ids)
                assert np.array_equal(hits.distances, best.hits.distances)
    assert best.recall > 50
