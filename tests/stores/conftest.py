"""A real Postgres, and every store behind one way to make it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import faiss
import numpy as np
import pytest
from numpy.typing import ArrayLike
from tests.stores.postgres import running

import bitfold as bf
from bitfold.search import Hits, RadiusHits
from bitfold.stores import FaissStore, LanceStore, PgvectorStore

KINDS = ["index", "BFlat", "BIVF4", "BHNSW8", "BHash3x1", "lance", "postgres"]
STORES = KINDS[1:]

_number = itertools.count()


class IndexAsStore:
    """``HammingIndex`` by the names of the contract: what all stores are measured by."""

    def __init__(self, n_bits: int, vectors: Any = None) -> None:
        self.index, self.n_bits = bf.HammingIndex(n_bits), n_bits

    def add(self, codes: bf.Codes, ids: ArrayLike | None = None, **others: Any) -> None:
        self.index.add(codes, ids=ids)

    def search(self, codes: bf.Codes, k: int = 10, *, rerank: Any = None) -> Hits:
        return self.index.search(codes, k, rerank=rerank)

    def within(self, codes: bf.Codes, radius: int = 2) -> RadiusHits:
        return self.index.within(codes, radius)

    def delete(self, ids: ArrayLike) -> None:
        self.index.remove(ids)

    def count(self) -> int:
        return len(self.index)

    def codes(self, ids: ArrayLike) -> bf.Codes:
        return self.index.codes(ids)

    def close(self) -> None:
        self.index.close()


class Make(Protocol):
    def __call__(self, kind: str, n_bits: int, **options: Any) -> Any: ...


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a Postgres of our own, stopped and removed at the end."""
    with running() as url:
        yield url


@pytest.fixture
def make(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Make]:
    """Make an empty store of a kind; all are closed at the end."""
    made: list[Any] = []

    def new(kind: str, n_bits: int, **options: Any) -> Any:
        maker: Callable[..., Any] = _MAKERS.get(kind, _faiss)
        store = maker(request, tmp_path_factory, kind, n_bits, options)
        made.append(store)
        return store

    yield new
    for store in made:
        store.close()


def _index(request: Any, folder: Any, kind: str, n_bits: int, options: Any) -> IndexAsStore:
    return IndexAsStore(n_bits)


def _faiss(request: Any, folder: Any, kind: str, n_bits: int, options: Any) -> FaissStore:
    vectors = options.get("vectors")
    store = FaissStore.create(n_bits, kind, vectors=vectors)
    if isinstance(store.engine, faiss.IndexBinaryIVF):
        # Trained beforehand, so that a test may begin with a single code.
        rng = np.random.default_rng(0)
        store.engine.cp.min_points_per_centroid = 1
        store.engine.train(rng.integers(0, 256, (64, store.engine.code_size), np.uint8))
    return store


def _lance(request: Any, folder: Any, kind: str, n_bits: int, options: Any) -> LanceStore:
    path: Path = options.pop("path", None) or folder.mktemp("lance")
    options.pop("vectors", None)
    return LanceStore.create(path, f"t{next(_number)}", n_bits, **options)


def _postgres(request: Any, folder: Any, kind: str, n_bits: int, options: Any) -> PgvectorStore:
    url = request.getfixturevalue("server")
    options.pop("vectors", None)
    return PgvectorStore.create(url, f"t{next(_number)}", n_bits, **options)


_MAKERS: dict[str, Callable[..., Any]] = {"index": _index, "lance": _lance, "postgres": _postgres}
