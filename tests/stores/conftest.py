"""A Postgres server, and factories for empty stores of every kind."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import faiss
import numpy as np
import pytest
from tests.stores.postgres_server import start_postgres

from bitfold.stores import FaissStore, LanceStore, PgvectorStore, Store

FAISS_KINDS = ["BFlat", "BIVF4", "BHNSW8", "BHash3x1"]
TABLE_KINDS = ["lance", "postgres"]
STORE_KINDS = [*FAISS_KINDS, *TABLE_KINDS]

MakeStore = Callable[..., Any]

_table_numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a Postgres server."""
    with start_postgres() as url:
        yield url


@pytest.fixture
def make_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MakeStore]:
    """Create an empty store of a kind; all are closed at the end."""
    stores: list[Store] = []

    def make(kind: str, n_bits: int, **options: Any) -> Store:
        if kind in FAISS_KINDS:
            store: Store = make_faiss_store(kind, n_bits, **options)
        elif kind == "lance":
            folder = tmp_path_factory.mktemp("lance")
            store = LanceStore.create(folder, f"t{next(_table_numbers)}", n_bits, **options)
        else:
            url = request.getfixturevalue("server")
            store = PgvectorStore.create(url, f"t{next(_table_numbers)}", n_bits, **options)
        stores.append(store)
        return store

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def filled_store(kind: str, make_store: MakeStore) -> Any:
    """A table with the codes and columns of ``table_data``."""
    from tests.stores.table_data import CODES, COLUMN_TYPES, COLUMNS

    store = make_store(kind, 32, columns=COLUMN_TYPES)
    store.add(CODES, columns=COLUMNS)
    return store


def make_faiss_store(kind: str, n_bits: int, **options: Any) -> FaissStore:
    """Create a store in memory; an IVF is trained, so that a test can add a single code."""
    if kind.startswith("BHash") and n_bits < 3:
        kind = "BHash1x1"  # a table needs at least one bit
    store = FaissStore.create(n_bits, kind, **options)
    if isinstance(store.engine, faiss.IndexBinaryIVF):
        rng = np.random.default_rng(0)
        store.engine.cp.min_points_per_centroid = 1
        store.engine.train(rng.integers(0, 256, (64, store.engine.code_size), np.uint8))
    return store
