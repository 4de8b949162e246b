"""Files of faiss: round trips, damaged and hostile files, full disks."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import faiss
import numpy as np
import pytest

import bitfold as bf
from bitfold.errors import FormatError, MissingStoreError
from bitfold.stores import FaissStore
from bitfold.stores.faiss.files import is_consistent

RNG = np.random.default_rng(0)
N_BITS = 61
CODES = bf.Codes.from_bits(RNG.integers(0, 2, (400, N_BITS), np.uint8))
IDS = RNG.permutation(5000)[:400]

every_kind = pytest.mark.parametrize("kind", ["BFlat", "BIVF8", "BHNSW8", "BHash3x8"])


def make_store(kind: str) -> FaissStore:
    store = FaissStore.create(N_BITS, kind)
    store.add(CODES, ids=IDS)
    return store


def has_all_codes(store: FaissStore) -> bool:
    index = bf.HammingIndex(N_BITS)
    index.add(CODES, ids=IDS)
    results = [
        [*each.search(CODES[:9], 20), *each.within(CODES[:9], 24)] for each in (store, index)
    ]
    return all(np.array_equal(a, b) for a, b in zip(*results, strict=True))


@every_kind
def test_file_round_trip(kind: str, tmp_path: Path) -> None:
    store = make_store(kind)
    store.save(tmp_path / "x.faiss")
    loaded = FaissStore.open(tmp_path / "x.faiss", N_BITS)
    assert has_all_codes(loaded)
    assert type(loaded.engine) is type(store.engine)
    # A loaded store can be changed; HNSW and MultiHash are rebuilt.
    loaded.remove(IDS[:100])
    loaded.add(CODES[:100], ids=IDS[:100])
    assert has_all_codes(loaded)
    loaded.save(tmp_path / "y.faiss")
    assert has_all_codes(FaissStore.open(tmp_path / "y.faiss", N_BITS))


@every_kind
def test_faiss_reads_the_file(kind: str, tmp_path: Path) -> None:
    make_store(kind).save(tmp_path / "x.faiss")
    index = faiss.read_index_binary(str(tmp_path / "x.faiss"))
    assert (index.ntotal, index.d) == (400, 64)
    distances, ids = index.search(CODES.packed[:20], 1)
    assert np.mean(ids[:, 0] == IDS[:20]) > 0.9
    assert np.mean(distances == 0) > 0.9


@every_kind
def test_damaged_file_raises(kind: str, tmp_path: Path) -> None:
    make_store(kind).save(tmp_path / "x.faiss")
    content = (tmp_path / "x.faiss").read_bytes()
    damaged = [b"", content[:3], content[: len(content) // 2], content[:-9], b"nonsense" * 99]
    for number, data in enumerate(damaged):
        path = tmp_path / f"{number}.faiss"
        path.write_bytes(data)
        with pytest.raises(FormatError, match=f"{number}.faiss"):
            FaissStore.open(path)


def test_missing_file_or_folder_raises(tmp_path: Path) -> None:
    with pytest.raises(MissingStoreError, match=r"nothing\.faiss"):
        FaissStore.open(tmp_path / "nothing.faiss")
    with pytest.raises(FormatError):
        FaissStore.open(tmp_path)


def test_links_beyond_the_graph_are_detected(tmp_path: Path) -> None:
    """faiss would follow them beyond the end of its memory."""
    store = make_store("BHNSW8")
    assert is_consistent(store.index)
    links = faiss.vector_to_array(store.engine.hnsw.neighbors)
    links[np.flatnonzero(links >= 0)[7]] = 1 << 30
    faiss.copy_array_to_vector(links, store.engine.hnsw.neighbors)
    assert not is_consistent(store.index)
    store.save(tmp_path / "x.faiss")
    with pytest.raises(FormatError):
        FaissStore.open(tmp_path / "x.faiss")


WRITE_WITH_LIMIT = """
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
def test_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.faiss"
    path.write_bytes(b"old")
    command = [sys.executable, "-c", WRITE_WITH_LIMIT, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "File too large\n", done.stderr
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
