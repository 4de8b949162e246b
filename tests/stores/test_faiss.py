"""faiss: indexes and files of every kind, to and fro."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest

import bitfold as bf
from bitfold.errors import FormatError, MissingStoreError
from bitfold.stores import Batch, FaissStore, RerankByStoredVectors
from bitfold.stores.faiss.files import check_sound

RNG = np.random.default_rng(0)
N_BITS = 61
CODES = bf.Codes.from_bits(RNG.integers(0, 2, (400, N_BITS), np.uint8))
KINDS = ["BFlat", "BIVF8", "BHNSW8", "BHash3x8"]
IDS = RNG.permutation(5000)[:400]

every_kind = pytest.mark.parametrize("kind", KINDS)


def index() -> bf.HammingIndex:
    index = bf.HammingIndex(N_BITS)
    index.add(CODES, ids=IDS)
    return index


def equal(store: FaissStore, index: bf.HammingIndex) -> bool:
    answers = zip(
        [*store.search(CODES[:9], 20), *store.within(CODES[:9], 24)],
        [*index.search(CODES[:9], 20), *index.within(CODES[:9], 24)],
        strict=True,
    )
    return all(np.array_equal(a, b) for a, b in answers)


@every_kind
def test_a_file_comes_back_as_it_was(kind: str, tmp_path: Path) -> None:
    store = FaissStore.create(N_BITS, kind)
    store.add(CODES, ids=IDS)
    store.save(tmp_path / "x.faiss")
    again = FaissStore.open(tmp_path / "x.faiss", N_BITS)
    assert equal(again, index())
    assert type(again.engine) is type(store.engine)
    # What was read can be changed too: HNSW and MultiHash are then built again.
    again.delete(IDS[:100])
    again.add(CODES[:100], ids=IDS[:100])
    assert equal(again, index())
    again.save(tmp_path / "y.faiss")
    assert equal(FaissStore.open(tmp_path / "y.faiss", N_BITS), index())


@every_kind
def test_faiss_itself_reads_the_file(kind: str, tmp_path: Path) -> None:
    store = FaissStore.create(N_BITS, kind)
    store.add(CODES, ids=IDS)
    store.save(tmp_path / "x.faiss")
    read = faiss.read_index_binary(str(tmp_path / "x.faiss"))
    assert (read.ntotal, read.d) == (400, 64)
    distances, ids = read.search(CODES.packed[:20], 1)
    assert np.mean(ids[:, 0] == IDS[:20]) > 0.9
    assert np.mean(distances == 0) > 0.9


def raw_index(kind: str) -> Any:
    """An index as a user of faiss has it."""
    raw = faiss.index_binary_factory(64, kind)
    if isinstance(raw, faiss.IndexBinaryIVF):
        raw.cp.min_points_per_centroid = 1
        raw.train(CODES.packed)
    raw.add(CODES.packed)
    return raw


@every_kind
@pytest.mark.parametrize("from_file", [False, True])
def test_an_index_of_faiss_without_ids_becomes_a_store(
    kind: str, from_file: bool, tmp_path: Path
) -> None:
    if from_file:
        faiss.write_index_binary(raw_index(kind), str(tmp_path / "raw.faiss"))
        store = FaissStore.open(tmp_path / "raw.faiss", N_BITS)
    else:
        store = FaissStore(raw_index(kind), N_BITS)
    numbered = bf.HammingIndex(N_BITS)
    numbered.add(CODES)
    assert equal(store, numbered)
    store.add(CODES[:5])
    assert store.codes([400, 404]) == CODES[[0, 4]]
    store.delete([0])
    assert store.count() == 404


def test_an_id_map_of_faiss_keeps_its_ids() -> None:
    raw = faiss.IndexBinaryIDMap(faiss.IndexBinaryFlat(64))
    raw.add_with_ids(CODES.packed, IDS)
    assert equal(FaissStore(raw, N_BITS), index())


def test_the_length_of_codes() -> None:
    raw = faiss.IndexBinaryFlat(64)
    raw.add(RNG.integers(0, 256, (10, 8), np.uint8))
    assert FaissStore(raw).n_bits == 64
    for n_bits in (56, 65):
        with pytest.raises(ValueError, match=f"must be 57 to 64, as the index has .* got {n_bits}"):
            FaissStore(raw, n_bits)
    with pytest.raises(ValueError, match="must be 64: bits beyond 61 are set, got 61"):
        FaissStore(raw, 61)


@pytest.mark.parametrize(
    ("raw", "came"),
    [
        (faiss.IndexBinaryHash(64, 8), "IndexBinaryHash"),
        (faiss.IndexFlatL2(8), "IndexFlatL2"),
        (faiss.IndexBinaryIDMap(faiss.index_binary_factory(64, "BIVF4")), "an IVF, which has ids"),
    ],
)
def test_indexes_that_are_no_store(raw: Any, came: str) -> None:
    with pytest.raises(ValueError, match=f"must be a Flat, IVF, HNSW or MultiHash .* got {came}"):
        FaissStore(raw)


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="factory of FaissStore must be such as 'BFlat'"):
        FaissStore.create(64, "nonsense")
    with pytest.raises(ValueError, match="codes of FaissStore must be at least 8 at first"):
        FaissStore.create(N_BITS, "BIVF8").add(CODES[:7])
    with pytest.raises(ValueError, match="where of FaissStore must be None: faiss keeps no col"):
        FaissStore.create(N_BITS).within(CODES[:1], 1, where=[("label", "=", 1)])
    with pytest.raises(ValueError, match="a batch of FaissStore must be codes and ids"):
        FaissStore.create(N_BITS).add(CODES, vectors=np.zeros((400, 3)))
    with pytest.raises(MissingStoreError, match=r"nothing\.faiss does not exist\."):
        FaissStore.open(tmp_path / "nothing.faiss")


def test_originals_must_have_a_row_for_every_id() -> None:
    store = FaissStore.create(N_BITS, vectors=np.zeros((3, 2)))
    store.add(CODES[:5])
    with pytest.raises(ValueError, match="must be complete: a row for id 3, got 3 rows without"):
        store.search(CODES[:1], 5, rerank=RerankByStoredVectors(np.zeros((1, 2))))


def test_a_load_that_fails_leaves_nothing() -> None:
    store = FaissStore.create(N_BITS)
    store.add(CODES[:5])
    with pytest.raises(ValueError, match="new and all different, got 7"):
        store.load([Batch(CODES[:2], [7, 8]), Batch(CODES[:2], [9, 7])])
    assert store.count() == 5
    store.add(CODES[:1])
    assert store.codes([5]) == CODES[:1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_refused(kind: str, tmp_path: Path) -> None:
    store = FaissStore.create(N_BITS, kind)
    store.add(CODES, ids=IDS)
    store.save(tmp_path / "x.faiss")
    content = (tmp_path / "x.faiss").read_bytes()
    wrong = [b"", content[:3], content[: len(content) // 2], content[:-9], b"nonsense" * 99]
    for number, damaged in enumerate(wrong):
        path = tmp_path / f"{number}.faiss"
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match=r"must be a faiss file of a binary index, got"):
            FaissStore.open(path)
    with pytest.raises(FormatError, match="must be a faiss file"):
        FaissStore.open(tmp_path)


def test_links_out_of_the_graph_are_seen(tmp_path: Path) -> None:
    """faiss would follow them, beyond the end of its memory."""
    store = FaissStore.create(N_BITS, "BHNSW8")
    store.add(CODES)
    links = faiss.vector_to_array(store.engine.hnsw.neighbors)
    links[np.flatnonzero(links >= 0)[7]] = 1 << 30
    faiss.copy_array_to_vector(links, store.engine.hnsw.neighbors)
    with pytest.raises(RuntimeError, match="parts that do not fit"):
        check_sound(store.index)
    store.save(tmp_path / "x.faiss")
    with pytest.raises(FormatError, match="got another or a damaged one"):
        FaissStore.open(tmp_path / "x.faiss")


FULL = """
import resource, signal, sys
import numpy as np, bitfold as bf
from bitfold.stores import FaissStore
store = FaissStore.create(64)
store.add(bf.Codes(np.zeros((20_000, 8), np.uint8), 64))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    store.save(sys.argv[1])
except OSError as error:
    print(error.strerror)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs a limit on the size of files")
def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "x.faiss"
    path.write_bytes(b"old")
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "File too large\n", done.stderr
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_threads_may_search_together() -> None:
    store = FaissStore.create(N_BITS, "BIVF8")
    store.add(CODES, ids=IDS)
    store.engine.nprobe = 2
    expected = store.search(CODES, 15).ids
    wrong: list[int] = []

    def ask() -> None:
        for _ in range(5):
            if not np.array_equal(store.search(CODES, 15).ids, expected):
                wrong.append(1)
            store.search(CODES, 15, exact=False)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert store.engine.nprobe == 2
