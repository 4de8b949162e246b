"""Pages of a memory map are released after they were read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bitfold.io import Rows


def test_changes_of_a_private_map_survive(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((300, 33)))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="c")
    mapped[:] = 1
    list(Rows(mapped, np.zeros(33, np.float32), "T").blocks())
    assert (mapped == 1).all()


READ_ALL = """
import sys
import numpy as np
from bitfold.io import Rows

def peak():
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1024

X = np.memmap(sys.argv[1], np.float32, "r", shape=(50 << 10, 1 << 10))
rows = Rows(X, np.zeros(1 << 10, np.float32), "T")
rows.block(0, 2048)
before = peak()
for _ in rows.blocks():
    pass
read = peak()
rows.take(np.arange(0, len(X), 17))
print(read - before, peak() - read)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_read_pages_are_released(tmp_path: Path) -> None:
    with (tmp_path / "x").open("wb") as file:
        file.truncate(200 << 20)
    done = subprocess.run(
        [sys.executable, "-c", READ_ALL, str(tmp_path / "x")],
        capture_output=True,
        text=True,
        check=True,
    )
    blocks_mb, take_mb = map(int, done.stdout.split())
    # The matrix has 200 MB, a block 8 MB, the taken rows 12 MB.
    assert blocks_mb < 40
    assert take_mb < 60


READ_ADJACENT = """
import re, sys
from pathlib import Path
import numpy as np
from bitfold.io import Rows

def mapped():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"RssFile:\\s+(\\d+) kB", status)[1]) // 1024

X = np.memmap(sys.argv[1], np.uint8, "r", shape=(1_000_000, 128))
rows = Rows(X, np.zeros(128, np.float32), "T")
rows.block(0, 1000)
before = mapped()
for stop in range(2000, len(X), 1000):
    rows.block(stop - 1000, stop)
    X[stop - 1, 0]  # as a thread that works on the adjacent block may do
print(mapped() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_pages_mapped_by_other_threads_are_released(tmp_path: Path) -> None:
    with (tmp_path / "x").open("wb") as file:
        file.truncate(128_000_000)
    command = [sys.executable, "-c", READ_ADJACENT, str(tmp_path / "x")]
    # Of 128 MB; if only the pages of the block itself were released, 20 MB or more would stay.
    assert int(subprocess.check_output(command, text=True)) < 8
