"""Two-stage search in every store, on CIFAR-10's GIST: the same recall in each: `make paper`."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from reproduction.cifar10_jpeg import load_cifar10_jpeg
from tests.stores.postgres_server import start_postgres

import bitfold as bf
from bitfold import hashers, metrics
from bitfold.errors import MissingDataError
from bitfold.search import Hits
from bitfold.stores import (
    Batch,
    FaissStore,
    LanceStore,
    PgvectorStore,
    RerankByStoredVectors,
    Store,
)

N_BITS, CANDIDATES = 128, 200

METHODS = ["ITQ", "LSH", "PStableLSH", "RMMH", "SpH"]
"""Those that mean to keep Euclidean neighbors; the stores get the codes of the best of them."""


class Reached(NamedTuple):
    """What a method's codes give in the index, by re-ranking."""

    recall: float
    hits: Hits
    codes: bf.Codes
    asked: bf.Codes


def recall(ids: Any, truth: Any) -> float:
    """Recall of the ten nearest, in percent."""
    return 100 * float(np.mean(metrics.recall_at_k(ids, truth, 10)))


def tried(method: str, X: Any, Q: Any, truth: Any) -> Reached:
    hasher = getattr(hashers, method)(N_BITS, random_state=0).fit(X)
    codes, asked = hasher.encode(X), hasher.encode(Q)
    index = bf.HammingIndex(N_BITS)
    index.add(codes)
    hits = index.search(asked, 10, rerank=bf.RerankByVectors(X, Q, CANDIDATES))
    return Reached(recall(hits.ids, truth), hits, codes, asked)


def filled(store: Store, codes: bf.Codes, vectors: Any) -> Store:
    """Load a store batch by batch, with originals where it keeps them."""
    kept = not isinstance(store, FaissStore)
    store.add_batches(
        Batch(None, codes[i : i + 10_000], vectors=vectors[i : i + 10_000] if kept else None)
        for i in range(0, len(codes), 10_000)
    )
    return store


def stores(X: Any, folder: Path, url: str) -> dict[str, Callable[[], Store]]:
    """Every store, by name, made when its turn comes."""
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
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        data = load_cifar10_jpeg()
    except MissingDataError as error:
        pytest.skip(f"needs real data: {error}")
    X, Q = data.database.astype(np.float32), data.queries.astype(np.float32)
    truth = metrics.closest_neighbors(X, Q, k=10)

    def say(name: str, reached: float, note: str = "") -> None:
        with capsys.disabled():
            print(f"\n{name:24} recall@10 {reached:.2f}{note}")

    by_method = {method: tried(method, X, Q, truth) for method in METHODS}
    for method, reached in by_method.items():
        say(f"HammingIndex, {method}", reached.recall)
    best = max(by_method.values(), key=lambda reached: reached.recall)
    with start_postgres() as url:
        for name, make in stores(X, tmp_path, url).items():
            with filled(make(), best.codes, X) as store:
                start = time.perf_counter()
                hits = store.search(best.asked, 10, rerank=RerankByStoredVectors(Q, CANDIDATES))
                taken = 1000 * (time.perf_counter() - start) / len(Q)
                say(name, recall(hits.ids, truth), f"  {taken:.2f} ms a query")
                assert np.array_equal(hits.ids, best.hits.ids)
                assert np.array_equal(hits.distances, best.hits.distances)
    assert best.recall > 50
