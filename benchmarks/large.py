"""Larger base sets: fitting and encoding against 400 base points, t-SNE against all pairs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import bitfold as bf
from benchmarks.core import warm_up
from benchmarks.data import load_mnist_vectors, load_sift_vectors, make_hasher
from benchmarks.measuring import Ratio, time_both, time_once
from bitfold.embedding import perplexity_affinities, stochastic
from bitfold.embedding.tsne import cauchy_repulsion, kl_divergence

FloatArray = NDArray[np.float32]

FEW, MANY = 400, 10_000


def run() -> list[Ratio]:
    """Return all ratios; real data are used if they are available."""
    X = load_mnist_vectors()
    warm_up(X)
    return [*compare_sizes(X), *compare_tsne(X), *measure_million()]


def compare_sizes(X: FloatArray) -> list[Ratio]:
    """Compare fitting and encoding with many and few base points."""
    few, automatic, many = make_hasher(FEW), make_hasher("auto"), make_hasher(MANY)
    few_seconds, auto_seconds = time_both(lambda: few.fit(X), lambda: automatic.fit(X), n_runs=2)
    many_seconds = time_once(lambda: many.fit(X))
    many.encode(X[:1000])
    slow, fast = time_both(lambda: many.encode(X), lambda: few.encode(X), n_runs=5)
    name = "fit, 69,000 × 784, 64 bits"
    return [
        Ratio(
            f"{name}, m={MANY:,} against m={FEW}", many_seconds / few_seconds, 12,
            note=f"{many_seconds:.0f} s",
        ),
        Ratio(
            f"{name}, m={MANY:,}, seconds", many_seconds, 120, note=f"m={FEW}: {few_seconds:.1f} s"
        ),
        Ratio(
            f"{name}, m=auto against m={FEW}", auto_seconds / few_seconds, 6,
            note=f"m={len(automatic.base_set_):,}, {auto_seconds:.0f} s",
        ),
        Ratio(f"encode, m={MANY:,} against m={FEW}", slow / fast, 2.5, note=f"{slow:.2f} s"),
    ]  # fmt: skip


def compare_tsne(X: FloatArray) -> list[Ratio]:
    """Compare t-SNE of many points, by near pairs and samples, with all pairs."""
    base = bf.RandomBase(MANY).choose(X, rng=0).points
    P = perplexity_affinities(base, 5.0)
    start = stochastic.random_start(MANY, 64, np.random.default_rng(0))
    schedule = stochastic.Schedule(max_iter=500, tolerance=-np.inf)
    estimated = kl_divergence(P, np.random.default_rng(0))
    exact = replace(estimated, repulsion=cauchy_repulsion, cost_error=0.0)
    found: dict[str, FloatArray] = {}

    def ours() -> None:
        objective = kl_divergence(P, np.random.default_rng(0))
        found["ours"] = stochastic.descend(P, objective, start, schedule).Y

    def all_pairs() -> None:
        found["all pairs"] = stochastic.descend(P, exact, start, schedule).Y

    quick, slow = time_once(ours), time_once(all_pairs)
    costs = {name: measure_divergence(P, exact, Y) for name, Y in found.items()}
    name = f"t-SNE, {MANY:,} points × 64 dimensions, 500 iterations"
    return [
        Ratio(f"{name}: times faster than all pairs", slow / quick, 4, True, f"{quick:.0f} s"),
        Ratio(
            f"{name}: KL against all pairs'", costs["ours"] / costs["all pairs"], 1.02,
            note=f"{costs['ours']:.3f} and {costs['all pairs']:.3f}",
        ),
    ]  # fmt: skip


def measure_divergence(P: csr_array, exact: stochastic.Objective, Y: FloatArray) -> float:
    """Return KL(P || Q) of Eq. (11) over all pairs."""
    # With a step of length zero the cost is that of the start.
    still = stochastic.Schedule(max_iter=1, learning_rate=1e-30)
    return stochastic.descend(P, exact, Y, still).cost


CHILD = """
import re, sys, time
from pathlib import Path
import numpy as np
import bitfold as bf
X = np.load(sys.argv[1], mmap_mode="r")[: int(sys.argv[2])]
X = np.array(X)
bf.IMH(64, base=bf.KMeansBase(1000), random_state=0).fit(X[:20_000]).encode(X[:20_000])
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 2**20
before = peak()
start = time.perf_counter()
hasher = bf.IMH(64, base=bf.KMeansBase(1000), random_state=0).fit(X)
middle = time.perf_counter()
hasher.encode(X)
print(peak() - before, middle - start, time.perf_counter() - middle)
"""


def measure_million() -> list[Ratio]:
    """Measure fitting and encoding of a million SIFT descriptors, and of half of them."""
    X = load_sift_vectors()
    if X is None:
        return []
    memory, whole = _measure_process(X, len(X))
    _, half = _measure_process(X, len(X) // 2)
    name = f"fit with m=1,000 and encode {len(X):,} × 128"
    return [
        Ratio(f"{name}: peak above the data, GB", memory, 1.2),
        Ratio(
            f"{name}: time against twice that of half", whole / (2 * half), 1.1,
            note=f"{whole:.0f} s",
        ),
    ]  # fmt: skip


def _measure_process(data: NDArray[np.uint8], n: int) -> tuple[float, float]:
    """Return the gigabytes above the data and the seconds of a separate process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npy"
        np.save(file, data[:n])
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(file), str(n)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    memory, fit, encode = map(float, done.stdout.split())
    return memory, fit + encode
