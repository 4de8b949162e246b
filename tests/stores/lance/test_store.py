"""Stores in LanceDB: versions, killed loads, tables of other programs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
import pytest

import bitfold as bf
from bitfold.errors import MissingStoreError, ModelMismatchError, ParameterError, StoreError
from bitfold.stores import Batch, LanceStore, RerankByStoredVectors
from bitfold.stores.lance.table import LanceTable

CODES = bf.Codes(np.random.default_rng(0).integers(0, 256, (300, 8), np.uint8), 64)


@pytest.fixture
def store(tmp_path: Path) -> LanceStore:
    store = LanceStore.create(tmp_path / "db", "t", 64)
    store.add(CODES)
    return store


def test_readers_see_complete_versions(tmp_path: Path, store: LanceStore) -> None:
    reader = LanceStore.open(tmp_path / "db", "t")
    store.add(CODES)
    assert len(reader) == 600
    store.remove(np.arange(300))
    assert len(reader) == 300
    assert reader.search(CODES[:1], 1).ids.tolist() == [[300]]


def test_load_is_one_version(store: LanceStore) -> None:
    seen = []
    counts: list[int] = []

    def batches() -> Iterator[Batch]:
        for start in range(0, 300, 100):
            counts.append(len(store))
            yield Batch(None, CODES[start : start + 100])

    store.add_batches(batches(), lambda stage, done, total: seen.append((stage, done)))
    assert counts == [300, 300, 300]
    assert seen == [("loading", 100), ("loading", 200), ("loading", 300)]
    assert len(store) == 600


def test_failed_load_adds_nothing(store: LanceStore) -> None:
    short = bf.Codes(np.zeros((1, 1), np.uint8), 8)
    cases = [
        ([Batch(None, CODES[:5]), Batch([900, 301], CODES[:2])], r"\b301\b"),
        ([Batch(np.arange(500, 505), CODES[:5]), Batch([2], CODES[:1])], r"\b2\b"),
        ([Batch(None, CODES[:5]), Batch(None, short)], "64 bits, got 8"),
    ]
    for batches, message in cases:
        with pytest.raises(ValueError, match=message) as error:
            store.add_batches(batches)
        assert "\n" not in str(error.value)
    assert len(store) == 300

    def fail() -> Iterator[Batch]:
        yield Batch(None, CODES[:5])
        raise KeyError("the caller's own error")

    with pytest.raises(KeyError, match="the caller's own error"):
        store.add_batches(fail())
    assert len(store) == 300
    store.add(CODES[:1])
    assert store.codes([300]) == CODES[:1]


KILLED_LOAD = """
import os, sys
import numpy as np, bitfold as bf
from bitfold.stores import Batch, LanceStore
codes = bf.Codes(np.zeros((70_000, 8), np.uint8), 64)
def batches():
    for number in range(5):
        if number == 4:
            os.kill(os.getpid(), 9)
        yield Batch(None, codes)
path, how = sys.argv[1:]
if how == "load":
    LanceStore.open(path, "t").add_batches(batches())
else:
    LanceStore.create(path, how, 64, batches=batches(), replace=True)
"""


@pytest.mark.parametrize("how", ["load", "new"])
def test_killed_load_adds_nothing(tmp_path: Path, store: LanceStore, how: str) -> None:
    command = [sys.executable, "-c", KILLED_LOAD, str(tmp_path / "db"), how]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    again = LanceStore.open(tmp_path / "db", "t")
    assert len(again) == 300
    again.add(CODES[:1])
    assert again.search(CODES[:1], 2).ids.tolist() == [[0, 300]]
    if how == "new":
        with pytest.raises(MissingStoreError):
            LanceStore.open(tmp_path / "db", "new")
        made = LanceStore.create(tmp_path / "db", "new", 64)
        assert len(made) == 0


def test_ids_continue_after_a_crash(store: LanceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        # As if the process was killed before it could store the next id.
        patch.setattr(LanceTable, "store_metadata", lambda *_: None)
        store.add(CODES[:5])
        store.add(CODES[:1], ids=[1000])
    with pytest.raises(ValueError, match=r"\b1000\b"):
        store.add(CODES[:1], ids=[1000])
    store.add(CODES[:1])
    assert store.codes([1001]) == CODES[:1]


def test_rows_of_another_program_are_found(tmp_path: Path, store: LanceStore) -> None:
    table = lancedb.connect(tmp_path / "db").open_table("t")
    row = {"id": 777, "code": CODES.packed[3].tolist()}
    table.add(pa.Table.from_pylist([row], schema=table.schema))
    assert store.search(CODES[3:4], 2).ids.tolist() == [[3, 777]]
    with pytest.raises(ValueError, match=r"\b777\b"):
        store.add(CODES[:1], ids=[777])
    store.add(CODES[:1])
    assert store.codes([778]) == CODES[:1]


def test_table_of_another_program(tmp_path: Path) -> None:
    names = pa.schema(
        [
            ("key", pa.int64()),
            ("bits", pa.list_(pa.uint8(), 8)),
            ("size", pa.int32()),
            ("tags", pa.list_(pa.string())),
        ]
    )
    rows = [
        {"key": 10 + i, "bits": row.tolist(), "size": i, "tags": ["a"]}
        for i, row in enumerate(CODES.packed[:4])
    ]
    data = pa.Table.from_pylist(rows, schema=names)
    lancedb.connect(tmp_path / "db").create_table("theirs", data)
    store = LanceStore.open(tmp_path / "db", "theirs", id_column="key", code_column="bits")
    assert store.n_bits == 64
    found = store.search(CODES[:1], 2, where=[("size", ">", 1)])
    assert sorted(found.ids[0].tolist()) == [12, 13]
    store.add(CODES[:1], columns={"size": [7]})
    assert store.columns([14]) == {"size": [7]}
    # A row without a code is ignored.
    store._table.engine.add(pa.Table.from_pylist([{"key": 50}], schema=names))
    assert len(store.search(CODES[:1], 9).ids[0]) == len(store.within(CODES[:1], 64).ids) == 5
    with pytest.raises(ParameterError, match=r"column 'id' .* got null"):
        LanceStore.open(tmp_path / "db", "theirs")
    with pytest.raises(ParameterError, match=r"column 'size' .* fixed-size lists of uint8"):
        LanceStore.open(tmp_path / "db", "theirs", id_column="key", code_column="size")


def test_missing_and_existing_tables(tmp_path: Path, store: LanceStore) -> None:
    with pytest.raises(MissingStoreError, match="no does not exist"):
        LanceStore.open(tmp_path / "no", "t")
    with pytest.raises(MissingStoreError, match=r"Table 'u' in .*db does not exist"):
        LanceStore.open(tmp_path / "db", "u")
    with pytest.raises(FileExistsError, match=r"Table 't' in .*db already exists"):
        LanceStore.create(tmp_path / "db", "t", 64)
    assert len(store) == 300
    with pytest.raises(StoreError, match=r"^Table '../evil' in .* cannot be used: [^\n]*\.$"):
        LanceStore.create(tmp_path / "db", "../evil", 64)
    assert len(LanceStore.create(tmp_path / "db", "t", 8, replace=True)) == 0


def test_missing_lancedb_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(ImportError, match=r'pip install "bitfold\[lancedb\]"'):
        LanceStore.create(tmp_path, "t", 8)


def test_codes_added_after_the_index_are_found(store: LanceStore) -> None:
    store.build_index(n_lists=4)
    store.add(bf.Codes(np.full((1, 8), 255, np.uint8), 64))
    query = bf.Codes(np.full((1, 8), 255, np.uint8), 64)
    assert store.search(query, 1, exact=False).ids.tolist() == [[300]]
    store.remove([300])
    assert store.search(query, 1, exact=False).ids[0, 0] != 300
    with pytest.raises(ValueError, match=r"n_lists of build_index .* 300, got 301"):
        store.build_index(n_lists=301)


def test_index_on_an_empty_store_raises(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="empty store"):
        LanceStore.create(tmp_path, "t", 8).build_index()


def test_invalid_vectors_raise(tmp_path: Path) -> None:
    store = LanceStore.create(tmp_path, "t", 64, n_features=3)
    cases: list[tuple[Any, str]] = [
        (None, "5 rows and 3 features, got None"),
        (np.zeros((5, 2)), r"\(5, 3\), got shape \(5, 2\)"),
        (np.full((5, 3), np.nan), "NaN in row 0"),
    ]
    for vectors, message in cases:
        with pytest.raises(ValueError, match=f"vectors of LanceStore .*{message}"):
            store.add(CODES[:5], vectors=vectors)
    plain = LanceStore.create(tmp_path, "u", 64)
    with pytest.raises(ValueError, match="vectors of LanceStore must be None"):
        plain.add(CODES[:5], vectors=np.zeros((5, 3)))
    with pytest.raises(StoreError, match="keeps no vectors"):
        plain.vectors([0])
    assert len(store) == len(plain) == 0


def test_search_over_several_batches(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    codes = bf.Codes(rng.integers(0, 4, (600_000, 2), np.uint8), 16)
    store = LanceStore.create(tmp_path, "t", 16)
    store.add_batches(Batch(None, codes[i : i + 90_000]) for i in range(0, 600_000, 90_000))
    index = bf.HammingIndex(16)
    index.add(codes)
    assert sum(1 for _ in store.batches()) > 1
    found, expected = store.search(codes[:5], 40), index.search(codes[:5], 40)
    assert np.array_equal(found.ids, expected.ids)
    near, there = store.within(codes[:2], 1), index.within(codes[:2], 1)
    assert np.array_equal(near.ids, there.ids)


def test_times_keep_their_zone(tmp_path: Path) -> None:
    when = datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=UTC)
    store = LanceStore.create(tmp_path, "t", 64, columns={"when": datetime})
    store.add(CODES[:2], columns={"when": [when, None]})
    assert store.columns([1, 0]) == {"when": [None, when]}
    assert store.search(CODES[:1], 2, where=[("when", ">=", when)]).ids.tolist() == [[0]]


def test_vectors_round_trip(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((300, 7))
    store = LanceStore.create(tmp_path, "t", 64, n_features=7)
    store.add(CODES, vectors=X)
    assert np.array_equal(store.vectors([5, 3, 5]), X[[5, 3, 5]].astype(np.float32))
    found = store.search(CODES[:1], 3, rerank=RerankByStoredVectors(X[:1], n_candidates=300))
    assert found.ids[0, 0] == 0


def test_model_digest_is_stored(tmp_path: Path) -> None:
    codes = bf.Codes(CODES.packed, 64, "3f2a")
    LanceStore.create(tmp_path, "t", 64, batches=[Batch(None, codes[:5])])
    store = LanceStore.open(tmp_path, "t")
    assert store.model_digest == "3f2a"
    store.remove([1])
    store.build_index()
    with pytest.raises(ModelMismatchError, match=r"3f2a.* 77ab"):
        LanceStore.open(tmp_path, "t").add(bf.Codes(CODES.packed, 64, "77ab"))
    assert LanceStore.open(tmp_path, "t").codes([0]).model_digest == "3f2a"
