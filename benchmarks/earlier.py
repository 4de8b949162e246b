"""The default fit of IMH against that of an earlier commit, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measuring import Ratio

COMMIT = "5964d58"
"""The commit before base sets were chosen from the data; `git archive` must find it."""

N_RUNS = 3

FIT_IMH = """
import time
import numpy as np, bitfold as bf
from bitfold import datasets
X = datasets.mnist().database.astype(np.float32) / np.float32(255)
bf.IMH(64, random_state=0).fit(X[:5000])  # compiles the kernels
start = time.perf_counter()
bf.IMH(64, random_state=0).fit(X)
print(time.perf_counter() - start)
"""


def run() -> list[Ratio]:
    """Return the ratio of both fits of MNIST."""
    ours = str(Path(__file__).parents[1] / "src")
    with tempfile.TemporaryDirectory() as folder:
        extract_source(COMMIT, folder)
        pairs = [(time_fit(ours), time_fit(f"{folder}/src")) for _ in range(N_RUNS)]
    new, old = (min(times) for times in zip(*pairs, strict=True))
    note = f"{new:.1f} s, at {COMMIT} {old:.1f} s"
    return [Ratio("default IMH(64) fit, MNIST: of the earlier commit", new / old, 0.5, note=note)]


def extract_source(commit: str, folder: str) -> None:
    """Write the source tree of a commit to a folder."""
    archive = subprocess.run(["git", "archive", commit, "src"], check=True, capture_output=True)
    subprocess.run(["tar", "-x", "-C", folder], check=True, input=archive.stdout)


def time_fit(source: str) -> float:
    """Return the seconds of a fit with the package in a source folder."""
    environment = {**os.environ, "PYTHONPATH": source}
    command = [sys.executable, "-c", FIT_IMH]
    return float(subprocess.check_output(command, env=environment, cwd=source))
