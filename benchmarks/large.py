"""Larger base sets: fitting and encoding against 400 base points, t-SNE against all pairs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from reproduction.data.sift_photos import load_sift_photos
from scipy.sparse import csr_array

import bitfold as bf
from benchmarks._harness import Ratio, seconds, side_by_side
from benchmarks.core import vectors, warm_up
from bitfold.embedding import perplexity_affinities, stochastic
from bitfold.embedding.tsne import cauchy_repulsion, kl_divergence
from bitfold.errors import MissingDataError

FloatArray = NDArray[np.float32]

FEW, MANY = 400, 10_000


def run() -> list[Ratio]:
    """Measure all; real data where they are at hand, else noise of their shape."""
    X = vectors()
    warm_up(X)
    return [*fits_and_encoding(X), *tsne_of_many(X), *million()]


def hasher(m: int | str) -> bf.IMH:
    """Return a hasher with so many base points."""
    return bf.IMH(64, base=bf.KMeansBase(m), random_state=0)


def fits_and_encoding(X: FloatArray) -> list[Ratio]:
    """Whole fits, and encoding, by the number of base points."""
    few, automatic, many = hasher(FEW), hasher("auto"), hasher(MANY)
    base, auto = side_by_side(lambda: few.fit(X), lambda: automatic.fit(X), times=2)
    most = seconds(lambda: many.fit(X))
    many.encode(X[:1000])
    slow, fast = side_by_side(lambda: many.encode(X), lambda: few.encode(X), times=5)
    what = "fit, 69,000 × 784, 64 bits"
    return [
        Ratio(f"{what}, m={MANY:,} against m={FEW}", most / base, 12, note=f"{most:.0f} s"),
        Ratio(f"{what}, m={MANY:,}, seconds", most, 120, note=f"m={FEW}: {base:.1f} s"),
        Ratio(
            f"{what}, m=auto against m={FEW}", auto / base, 6,
            note=f"m={len(automatic.base_set_):,}, {auto:.0f} s",
        ),
        Ratio(f"encode, m={MANY:,} against m={FEW}", slow / fast, 2.5, note=f"{slow:.2f} s"),
    ]  # fmt: skip


def tsne_of_many(X: FloatArray) -> list[Ratio]:
    """The whole descent of many points, near pairs and samples against all pairs."""
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

    quick, slow = seconds(ours), seconds(all_pairs)
    costs = {name: divergence(P, exact, Y) for name, Y in found.items()}
    what = f"t-SNE, {MANY:,} points × 64 dimensions, 500 iterations"
    return [
        Ratio(f"{what}: times faster than all pairs", slow / quick, 4, True, f"{quick:.0f} s"),
        Ratio(
            f"{what}: KL against all pairs'", costs["ours"] / costs["all pairs"], 1.02,
            note=f"{costs['ours']:.3f} and {costs['all pairs']:.3f}",
        ),
    ]  # fmt: skip


def divergence(P: csr_array, exact: stochastic.Objective, Y: FloatArray) -> float:
    """KL(P || Q) of Eq. (11), by all pairs."""
    # A step of no length: the cost is that of where it began.
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


def million() -> list[Ratio]:
    """Fit with m = 1,000 and encode a million SIFT descriptors, and half as many."""
    try:
        X = load_sift_photos(n_queries=1).database
    except MissingDataError:
        return []
    memory, whole = _measured(X, len(X))
    _, half = _measured(X, len(X) // 2)
    what = f"fit with m=1,000 and encode {len(X):,} × 128"
    return [
        Ratio(f"{what}: peak above the data, GB", memory, 1.2),
        Ratio(
            f"{what}: time against twice that of half", whole / (2 * half), 1.1,
            note=f"{whole:.0f} s",
        ),
    ]  # fmt: skip


def _measured(data: NDArray[np.uint8], n: int) -> tuple[float, float]:
    """Gigabytes above the data and seconds, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npy"
        np.save(file, data[:n])
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(file), str(n)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    memory, fit, encode = map(float, done.stdout.split())
    return memory, fit + encode
