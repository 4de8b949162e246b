"""Data larger than memory: what fit and encode hold at a time does not grow with the data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs the peak that Linux keeps"
)

N, D = 1_000_000, 64

CHILD = """
import re, sys
from pathlib import Path
import numpy as np
from bitfold import IMH, KMeansBase
from bitfold.embedding import TSNE
from threadpoolctl import threadpool_limits

# BLAS and faiss on one thread, or they wait for each other on busy cores; blocks go to all.
threadpool_limits(1)

def peak():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) / 1024

def run(X):
    hasher = IMH(32, base=KMeansBase(100, n_iter=5), embedding=TSNE(n_iter=100), random_state=0)
    return hasher.fit(X).encode(X)

X = np.load(sys.argv[1], mmap_mode="r")
run(X[:20_000].copy())
before = peak()
codes = run(X)
print(peak() - before, len(codes), len(np.unique(codes.words())))
"""


@pytest.fixture
def many_rows(tmp_path: Path) -> Path:
    """Write 256 MB of random rows around a few centres, block by block."""
    path = tmp_path / "rows.npy"
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 3, (50, D)).astype(np.float32)
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (N, D))
    for start in range(0, N, N // 20):
        block = rng.random((N // 20, D), np.float32)
        block += centres[rng.integers(50, size=N // 20)]
        rows[start : start + N // 20] = block
    rows.flush()
    return path


def test_a_million_rows_in_a_file_need_little_memory(many_rows: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(many_rows)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    growth, n_codes, n_distinct = map(float, done.stdout.split())
    many_rows.unlink()
    assert n_codes == N
    assert n_distinct > 20
    # The rows are 256 MB; samples, a few blocks and the codes are what remains.
    assert growth < 100
