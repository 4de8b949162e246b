"""Data larger than memory: the memory of fit and encode does not grow with the data."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs the peak memory that Linux reports"
)

N, D = 400_000, 64

CHILD = """
import re, sys
from pathlib import Path
import numpy as np
from bitfold.base_set import KMeansBase
from bitfold.embedding import TSNE
from bitfold.hashers import *
from threadpoolctl import threadpool_limits

# BLAS and faiss use one thread, because threads that wait for each other are slow on busy cores.
threadpool_limits(1)

def peak():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) / 1024

def run(X):
    labels = np.resize(np.arange(10, dtype=np.int8), len(X))
    return eval(sys.argv[2]).fit(X, labels).encode(X)

X = np.load(sys.argv[1], mmap_mode="r")
run(X[:20_000].copy())
before = peak()
codes = run(X)
print(peak() - before, len(codes), len(np.unique(codes.words())))
"""


HASHERS = [
    "IMH(32, base=KMeansBase(100, max_iter=5), embedding=TSNE(max_iter=100), random_state=0)",
    "AGH(32, base=KMeansBase(100, max_iter=5), random_state=0)",
    "CCAITQ(32, random_state=0)",
    "SDH(32, n_anchors=40, max_iter=2, random_state=0)",
    "ITQ(32, random_state=0)",
    "LDAHash(32, random_state=0)",
    "MDSH(32)",
    "SH(32)",
    "SSH(32, random_state=0)",
]
"""Hashers that read all rows; the others learn from a sample."""


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Write 102 MB of random rows around 50 centers, block by block."""
    path = tmp_path_factory.mktemp("memory") / "rows.npy"
    rng = np.random.default_rng(0)
    centers = rng.normal(0, 3, (50, D)).astype(np.float32)
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (N, D))
    for start in range(0, N, N // 20):
        block = rng.random((N // 20, D), np.float32)
        block += centers[rng.integers(50, size=N // 20)]
        rows[start : start + N // 20] = block
    rows.flush()
    yield path
    path.unlink()


@pytest.mark.parametrize("hasher", HASHERS)
def test_many_rows_need_little_memory(many_rows: Path, hasher: str) -> None:
    command = [sys.executable, "-c", CHILD, str(many_rows), hasher]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    growth, n_codes, n_distinct = map(float, done.stdout.split())
    assert n_codes == N
    assert n_distinct > 10
    # The rows take 102 MB; only samples, a few blocks and the codes are in memory.
    assert growth < 60
