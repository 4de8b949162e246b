"""Stores in faiss: indexes of every kind, threads, and invalid input."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest

import bitfold as bf
from bitfold.errors import DataError, ParameterError, StoreError
from bitfold.stores import Batch, FaissStore, RerankByStoredVectors

RNG = np.random.default_rng(0)
N_BITS = 61
CODES = bf.Codes.from_bits(RNG.integers(0, 2, (400, N_BITS), np.uint8))
IDS = RNG.permutation(5000)[:400]

every_kind = pytest.mark.parametrize("kind", ["BFlat", "BIVF8", "BHNSW8", "BHash3x8"])


def make_index(ids: Any = None) -> bf.HammingIndex:
    index = bf.HammingIndex(N_BITS)
    index.add(CODES, ids=ids)
    return index


def have_equal_results(store: FaissStore, index: bf.HammingIndex) -> bool:
    results = [
        [*each.search(CODES[:9], 20), *each.within(CODES[:9], 24)] for each in (store, index)
    ]
    return all(np.array_equal(a, b) for a, b in zip(*results, strict=True))


def make_raw_index(kind: str) -> Any:
    """Make an index as users of faiss do, without ids."""
    raw = faiss.index_binary_factory(64, kind)
    if isinstance(raw, faiss.IndexBinaryIVF):
        raw.cp.min_points_per_centroid = 1
        raw.train(CODES.packed)
    raw.add(CODES.packed)
    return raw


@every_kind
@pytest.mark.parametrize("is_file", [False, True])
def test_index_without_ids_becomes_a_store(kind: str, is_file: bool, tmp_path: Path) -> None:
    if is_file:
        faiss.write_index_binary(make_raw_index(kind), str(tmp_path / "raw.faiss"))
        store = FaissStore.open(tmp_path / "raw.faiss", N_BITS)
    else:
        store = FaissStore(make_raw_index(kind), N_BITS)
    assert have_equal_results(store, make_index())
    store.add(CODES[:5])
    assert store.codes([400, 404]) == CODES[[0, 4]]
    store.remove([0])
    assert len(store) == 404


def test_id_map_keeps_its_ids() -> None:
    raw = faiss.IndexBinaryIDMap(faiss.IndexBinaryFlat(64))
    raw.add_with_ids(CODES.packed, IDS)
    assert have_equal_results(FaissStore(raw, N_BITS), make_index(IDS))


def test_n_bits_must_fit_the_index() -> None:
    raw = faiss.IndexBinaryFlat(64)
    raw.add(RNG.integers(0, 256, (10, 8), np.uint8))
    assert FaissStore(raw).n_bits == 64
    for n_bits in (56, 65):
        with pytest.raises(ParameterError, match=f"57 to 64.* got {n_bits}"):
            FaissStore(raw, n_bits)
    with pytest.raises(ParameterError, match="bit 61"):
        FaissStore(raw, 61)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (faiss.IndexBinaryHash(64, 8), "IndexBinaryHash"),
        (faiss.IndexFlatL2(8), "IndexFlatL2"),
        (faiss.IndexBinaryIDMap(faiss.index_binary_factory(64, "BIVF4")), "IVF, which has ids"),
    ],
)
def test_unsupported_indexes_raise(raw: Any, name: str) -> None:
    with pytest.raises(ParameterError, match=f"Flat, IVF, HNSW or MultiHash .* got .*{name}"):
        FaissStore(raw)


def test_invalid_input_raises() -> None:
    with pytest.raises(ParameterError, match=r"factory of FaissStore .* got 'nonsense'"):
        FaissStore.create(64, "nonsense")
    with pytest.raises(ParameterError, match=r"at least 8 .* got 7"):
        FaissStore.create(N_BITS, "BIVF8").add(CODES[:7])
    with pytest.raises(ParameterError, match="where of FaissStore must be None"):
        FaissStore.create(N_BITS).within(CODES[:1], 1, where=[("label", "=", 1)])
    with pytest.raises(StoreError, match=r"ids and codes only; pass vectors to create\(\)"):
        FaissStore.create(N_BITS).add(CODES, vectors=np.zeros((400, 3)))


def test_vectors_need_a_row_for_every_id() -> None:
    store = FaissStore.create(N_BITS, vectors=np.zeros((3, 2)))
    store.add(CODES[:5])
    with pytest.raises(DataError, match="id 3 is outside the 3 rows"):
        store.search(CODES[:1], 5, rerank=RerankByStoredVectors(np.zeros((1, 2))))


def test_failed_load_adds_nothing() -> None:
    store = FaissStore.create(N_BITS)
    store.add(CODES[:5])
    with pytest.raises(ValueError, match="7"):
        store.add_batches([Batch([7, 8], CODES[:2]), Batch([9, 7], CODES[:2])])
    assert len(store) == 5
    store.add(CODES[:1])
    assert store.codes([5]) == CODES[:1]


def test_threads_can_search_together() -> None:
    store = FaissStore.create(N_BITS, "BIVF8")
    store.add(CODES, ids=IDS)
    store.engine.nprobe = 2
    expected = store.search(CODES, 15).ids
    is_wrong: list[bool] = []

    def search() -> None:
        for _ in range(5):
            is_wrong.append(not np.array_equal(store.search(CODES, 15).ids, expected))
            store.search(CODES, 15, exact=False)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert is_wrong == [False] * 20
    assert store.engine.nprobe == 2
