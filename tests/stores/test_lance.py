"""LanceDB: columns, filters, versions, and what a crash leaves."""

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
from bitfold.errors import MissingStoreError, StoreError
from bitfold.stores import Batch, LanceStore, RerankByStoredVectors
from bitfold.stores.lance.table import Table

CODES = bf.Codes(np.random.default_rng(0).integers(0, 256, (300, 8), np.uint8), 64)


@pytest.fixture
def store(tmp_path: Path) -> LanceStore:
    store = LanceStore.create(tmp_path / "db", "t", 64)
    store.add(CODES)
    return store


def test_another_process_sees_each_version_whole(tmp_path: Path, store: LanceStore) -> None:
    reader = LanceStore.open(tmp_path / "db", "t")
    store.add(CODES)
    assert reader.count() == 600
    store.delete(np.arange(300))
    assert reader.count() == 300
    assert reader.search(CODES[:1], 1).ids.tolist() == [[300]]


def test_a_load_is_one_version(store: LanceStore) -> None:
    seen = []
    counts: list[int] = []

    def batches() -> Iterator[Batch]:
        for start in range(0, 300, 100):
            counts.append(store.count())
            yield Batch(CODES[start : start + 100])

    store.load(batches(), lambda stage, done, total: seen.append((stage, done)))
    assert counts == [300, 300, 300]
    assert seen == [("loading", 100), ("loading", 200), ("loading", 300)]
    assert store.count() == 600


def test_a_load_that_fails_leaves_nothing(store: LanceStore) -> None:
    bad = [
        ([Batch(CODES[:5]), Batch(CODES[:2], [900, 301])], "new and all different, got 301"),
        ([Batch(CODES[:5], np.arange(500, 505)), Batch(CODES[:1], [2])], "different, got 2"),
        ([Batch(CODES[:5]), Batch(bf.Codes(np.zeros((1, 1), np.uint8), 8))], "of 64 bits, got 8"),
    ]
    for batches, sentence in bad:
        with pytest.raises(ValueError, match=sentence) as error:
            store.load(batches)
        assert "\n" not in str(error.value)
    assert store.count() == 300

    def broken() -> Iterator[Batch]:
        yield Batch(CODES[:5])
        raise KeyError("the user's own trouble")

    with pytest.raises(KeyError, match="the user's own trouble"):
        store.load(broken())
    assert store.count() == 300
    store.add(CODES[:1])
    assert store.codes([300]) == CODES[:1]


DYING = """
import os, sys
import numpy as np, bitfold as bf
from bitfold.stores import Batch, LanceStore
codes = bf.Codes(np.zeros((70_000, 8), np.uint8), 64)
def batches():
    for number in range(5):
        if number == 4:
            os.kill(os.getpid(), 9)
        yield Batch(codes)
path, replace = sys.argv[1:]
if replace == "load":
    LanceStore.open(path, "t").load(batches())
else:
    LanceStore.create(path, sys.argv[2], 64, batches=batches(), replace=True)
"""


@pytest.mark.parametrize("how", ["load", "new"])
def test_a_killed_load_leaves_what_was_there(tmp_path: Path, store: LanceStore, how: str) -> None:
    command = [sys.executable, "-c", DYING, str(tmp_path / "db"), how]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    again = LanceStore.open(tmp_path / "db", "t")
    assert again.count() == 300
    again.add(CODES[:1])
    assert again.search(CODES[:1], 2).ids.tolist() == [[0, 300]]
    if how == "new":
        with pytest.raises(MissingStoreError):
            LanceStore.open(tmp_path / "db", "new")
        made = LanceStore.create(tmp_path / "db", "new", 64)
        assert made.count() == 0


def test_ids_go_on_after_a_crash_before_they_were_noted(
    store: LanceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Table, "keep", lambda *_: None)  # as if killed just before
        store.add(CODES[:5])
        store.add(CODES[:1], ids=[1000])
    with pytest.raises(ValueError, match="new and all different, got 1000"):
        store.add(CODES[:1], ids=[1000])
    store.add(CODES[:1])
    assert store.codes([1001]) == CODES[:1]


def test_rows_of_another_program_are_seen(tmp_path: Path, store: LanceStore) -> None:
    table = lancedb.connect(tmp_path / "db").open_table("t")
    row = {"id": 777, "code": CODES.packed[3].tolist()}
    table.add(pa.Table.from_pylist([row], schema=table.schema))
    assert store.search(CODES[3:4], 2).ids.tolist() == [[3, 777]]
    with pytest.raises(ValueError, match="new and all different, got 777"):
        store.add(CODES[:1], ids=[777])
    store.add(CODES[:1])
    assert store.codes([778]) == CODES[:1]


def test_a_table_made_by_another_program(tmp_path: Path) -> None:
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
    store._table.engine.add(pa.Table.from_pylist([{"key": 50}], schema=names))  # no code: not there
    assert len(store.search(CODES[:1], 5).ids[0]) == len(store.within(CODES[:1], 64).ids) == 5
    with pytest.raises(ValueError, match="at most the 5 codes of the store, got 6"):
        store.search(CODES[:1], 6)
    with pytest.raises(ValueError, match="column 'id' of LanceStore must be of int64, got null"):
        LanceStore.open(tmp_path / "db", "theirs")
    with pytest.raises(ValueError, match="'size' of LanceStore must be of fixed-size lists of ui"):
        LanceStore.open(tmp_path / "db", "theirs", id_column="key", code_column="size")


def test_what_is_not_there(tmp_path: Path, store: LanceStore) -> None:
    with pytest.raises(MissingStoreError, match=r"no does not exist\."):
        LanceStore.open(tmp_path / "no", "t")
    with pytest.raises(MissingStoreError, match=r"table 'u' in .*db does not exist\."):
        LanceStore.open(tmp_path / "db", "u")
    with pytest.raises(FileExistsError, match=r"table 't' in .*db exists already; open it, or"):
        LanceStore.create(tmp_path / "db", "t", 64)
    assert store.count() == 300
    with pytest.raises(StoreError, match=r"^table '../evil' in .* cannot be used: [^\n]*\.$"):
        LanceStore.create(tmp_path / "db", "../evil", 64)
    assert LanceStore.create(tmp_path / "db", "t", 8, replace=True).count() == 0


def test_without_lancedb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(
        ImportError, match=r'LanceStore needs LanceDB: pip install "bitfold\[lanced'
    ):
        LanceStore.create(tmp_path, "t", 8)


def test_codes_added_after_the_index_are_found_by_it(store: LanceStore) -> None:
    store.build_index(n_lists=4)
    store.add(bf.Codes(np.full((1, 8), 255, np.uint8), 64))
    asked = bf.Codes(np.full((1, 8), 255, np.uint8), 64)
    assert store.search(asked, 1, exact=False).ids.tolist() == [[300]]
    store.delete([300])
    assert store.search(asked, 1, exact=False).ids[0, 0] != 300
    with pytest.raises(ValueError, match="n_lists of build_index must be at most 300, got 301"):
        store.build_index(n_lists=301)


def test_an_empty_store_has_nothing_to_index(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be with codes in it, got an empty one"):
        LanceStore.create(tmp_path, "t", 8).build_index()


def test_vectors_are_checked(tmp_path: Path) -> None:
    store = LanceStore.create(tmp_path, "t", 64, n_features=3)
    wrong: list[tuple[Any, str]] = [
        (None, "must be 5 rows of 3 features: the store keeps them, got None"),
        (np.zeros((5, 2)), r"must be of shape \(5, 3\), got shape \(5, 2\)"),
        (np.full((5, 3), np.nan), "must be finite, got NaN in row 0"),
    ]
    for vectors, sentence in wrong:
        with pytest.raises(ValueError, match=f"vectors of LanceStore {sentence}"):
            store.add(CODES[:5], vectors=vectors)
    plain = LanceStore.create(tmp_path, "u", 64)
    with pytest.raises(ValueError, match="must be None: the store was made without n_features"):
        plain.add(CODES[:5], vectors=np.zeros((5, 3)))
    with pytest.raises(ValueError, match="n_features of LanceStore must be given to create"):
        plain.vectors([0])
    assert store.count() == plain.count() == 0


def test_memory_of_a_long_table_is_bounded(tmp_path: Path) -> None:
    """Two stages over more rows than a batch has, in batches of every size."""
    rng = np.random.default_rng(0)
    codes = bf.Codes(rng.integers(0, 4, (600_000, 2), np.uint8), 16)
    store = LanceStore.create(tmp_path, "t", 16)
    store.load(Batch(codes[i : i + 90_000]) for i in range(0, 600_000, 90_000))
    index = bf.HammingIndex(16)
    index.add(codes)
    assert sum(1 for _ in store.batches()) > 1
    found, expected = store.search(codes[:5], 40), index.search(codes[:5], 40)
    assert np.array_equal(found.ids, expected.ids)
    near, there = store.within(codes[:2], 1), index.within(codes[:2], 1)
    assert np.array_equal(near.ids, there.ids)


def test_times_come_back_in_their_zone(tmp_path: Path) -> None:
    when = datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=UTC)
    store = LanceStore.create(tmp_path, "t", 64, columns={"when": datetime})
    store.add(CODES[:2], columns={"when": [when, None]})
    assert store.columns([1, 0]) == {"when": [None, when]}
    assert store.search(CODES[:1], 2, where=[("when", ">=", when)]).ids.tolist() == [[0]]


def test_originals_come_back_as_they_were(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((300, 7))
    store = LanceStore.create(tmp_path, "t", 64, n_features=7)
    store.add(CODES, vectors=X)
    assert np.array_equal(store.vectors([5, 3, 5]), X[[5, 3, 5]].astype(np.float32))
    found = store.search(CODES[:1], 3, rerank=RerankByStoredVectors(X[:1], n_candidates=300))
    assert found.ids[0, 0] == 0
