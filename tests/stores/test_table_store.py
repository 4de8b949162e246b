"""Stores that are tables: filters, index and vectors combined, and snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.stores.conftest import MakeStore
from tests.stores.table_data import CODES, COLUMN_TYPES, COLUMNS, N_ROWS, every_table

import bitfold as bf
from bitfold.errors import DataError, ParameterError
from bitfold.stores import LanceStore, PgvectorStore, RerankByStoredVectors


@every_table
def test_conditions_index_and_vectors_in_one_call(kind: str, make_store: MakeStore) -> None:
    rng = np.random.default_rng(1)
    X, Q = (rng.standard_normal((n, 7)).astype(np.float32) for n in (N_ROWS, 9))
    store = make_store(kind, 32, n_features=7, columns=COLUMN_TYPES)
    store.add(CODES, vectors=X, columns=COLUMNS)
    store.build_index()
    selected = np.flatnonzero(COLUMNS["label"] == 2)
    distances = np.linalg.norm(X[selected] - Q[:, None], axis=2)
    nearest = np.argsort(distances, axis=1)[:, :5]
    for exact in (True, False):
        found = store.search(
            CODES[:9],
            5,
            rerank=RerankByStoredVectors(Q, n_candidates=N_ROWS),
            where=[("label", "=", 2)],
            exact=exact,
        )
        assert np.array_equal(found.ids, selected[nearest])
        assert np.allclose(found.distances, np.take_along_axis(distances, nearest, 1))


@every_table
def test_conditions_and_ids_must_both_hold(kind: str, filled_store: Any) -> None:
    where, among = [("label", "in", [1, 2])], np.arange(0, N_ROWS, 3)
    selected = among[np.isin(COLUMNS["label"][among], [1, 2])]
    index = bf.HammingIndex(32)
    index.add(CODES[selected], ids=selected)
    for exact in (True, False):
        found = filled_store.search(CODES[:9], 5, among=among, where=where, exact=exact)
        assert np.array_equal(found.ids, index.search(CODES[:9], 5).ids)
    near = filled_store.within(CODES[:9], 12, among=among, where=where)
    assert np.array_equal(near.ids, index.within(CODES[:9], 12).ids)
    with pytest.raises(DataError, match=f": {N_ROWS}"):
        filled_store.search(CODES[:9], 5, among=[0, N_ROWS], where=where)


@every_table
def test_search_effort_of_the_index(kind: str, make_store: MakeStore) -> None:
    rng = np.random.default_rng(0)
    codes = bf.Codes(rng.integers(0, 256, (2000, 8), np.uint8), 64)
    queries = bf.Codes(rng.integers(0, 256, (30, 8), np.uint8), 64)
    store = make_store(kind, 64)
    store.add(codes)
    store.build_index()
    setting, high = {"lance": ("n_probes", 44), "postgres": ("ef_search", 1000)}[kind]
    expected, recalls = store.search(queries, 10).distances, []
    for value in (1, high):
        setattr(store, setting, value)
        found = store.search(queries, 10, exact=False)
        recalls.append(np.mean(found.distances == expected))
    assert recalls[0] < recalls[1]
    assert recalls[1] > 0.95
    setattr(store, setting, 0)
    with pytest.raises(ParameterError, match=f"{setting} of .* got 0"):
        store.search(queries, 10, exact=False)


class RemovingReranker:
    """Removes the candidates in another store before they are measured."""

    n_candidates = 5

    def __init__(self, other: Any) -> None:
        self.other = other

    def measure(self, ids: Any, codes_of: Any) -> Any:
        self.other.remove(ids[0])
        codes_of(ids.ravel())
        return np.zeros(ids.shape, np.float32)


@every_table
def test_candidates_do_not_vanish_during_a_search(
    kind: str, filled_store: Any, request: pytest.FixtureRequest
) -> None:
    table = filled_store._table
    if kind == "postgres":
        other: Any = PgvectorStore.open(request.getfixturevalue("server"), table.name)
    else:
        other = LanceStore.open(Path(table.engine.uri).parent, table.engine.name)
    with other:
        found = filled_store.search(CODES[:1], 5, rerank=RemovingReranker(other))
    assert found.ids.shape == (1, 5)
    assert len(filled_store) == N_ROWS - 5
    filled_store.add(CODES[:1])  # the store reads the newest version again
    assert len(filled_store) == N_ROWS - 4


@every_table
def test_invalid_n_features_raises(kind: str, make_store: MakeStore) -> None:
    for n_features in (0, -1, *((16_001,) if kind == "postgres" else ())):
        with pytest.raises(ParameterError, match=f"n_features of .* got {n_features}"):
            make_store(kind, 32, n_features=n_features)
