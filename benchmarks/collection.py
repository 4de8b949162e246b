"""Collections: searching text vectors against faiss, and opening ten million items."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import faiss
import numpy as np
from numpy.typing import NDArray

from benchmarks.data import load_text_queries, load_text_vectors
from benchmarks.measuring import Ratio, time_best, time_both
from bitfold import Collection, DualHasher
from bitfold.hashers import LSH

N_BITS, K, N_CANDIDATES = 128, 10, 100
N_ITEMS, N_FEATURES = 10_000_000, 8


def run() -> list[Ratio]:
    """Return all ratios; those of the text set need real data."""
    X, Q = load_text_vectors(), load_text_queries()
    with tempfile.TemporaryDirectory() as folder:
        text = [] if X is None or Q is None else compare_with_flat(X, Q, Path(folder))
        return [*text, measure_opening(Path(folder) / "large.bitfold")]


def compare_with_flat(X: NDArray[np.float32], Q: NDArray[np.float32], folder: Path) -> list[Ratio]:
    """Compare recall and speed with an exact search of faiss on the same cores."""
    flat = faiss.IndexFlatL2(X.shape[1])
    flat.add(X)
    exact = flat.search(Q, K)[1]
    ratios = []
    for name, hasher in ("default", None), ("DualHasher", DualHasher(N_BITS, random_state=0)):
        path = folder / f"{name}.bitfold"
        with Collection.create(path, X, hasher=hasher, keep_vectors="float16") as c:
            found = c.search(Q, K, n_candidates=N_CANDIDATES).ids
            ours, theirs = time_both(
                lambda: c.search(Q, K, n_candidates=N_CANDIDATES), lambda: flat.search(Q, K)
            )
            one, flat_one = time_both(
                lambda: c.search(Q[:1], K, n_candidates=N_CANDIDATES),
                lambda: flat.search(Q[:1], K),
                n_runs=20,
            )
        size = f"{len(X):,} text vectors, {N_BITS} bits, {name}"
        pairs = zip(found, exact, strict=True)
        recall = float(np.mean([len(set(a) & set(b)) / K for a, b in pairs]))
        note = f"{1e6 * ours / len(Q):.0f} µs per query, faiss {1e6 * theirs / len(Q):.0f} µs"
        single = f"{1e6 * one:.0f} µs, faiss {1e6 * flat_one:.0f} µs"
        ratios += [
            Ratio(f"recall@10, {size}", recall, 0.8, at_least=True),
            Ratio(f"speed / faiss flat, {len(Q):,} queries, {name}", theirs / ours, 1, True, note),
            Ratio(f"speed / faiss flat, one query, {name}", flat_one / one, 1, True, single),
        ]
    return ratios


def measure_opening(path: Path) -> Ratio:
    """Measure how long it takes to open a collection of ten million items, in milliseconds."""
    hasher = LSH(64, random_state=0).fit(make_blocks(1).__next__())
    Collection.create(path, make_blocks(100), hasher=hasher, keep_vectors="int8").close()
    seconds = time_best(lambda: Collection.open(path).close(), n_runs=5)
    return Ratio(f"open {N_ITEMS:,} items, ms", 1000 * seconds, 50, note="best of 5")


def make_blocks(n_blocks: int) -> Iterator[NDArray[np.float32]]:
    """Yield random vectors, a hundredth of all items at a time."""
    rng = np.random.default_rng(0)
    return (rng.random((N_ITEMS // 100, N_FEATURES), np.float32) for _ in range(n_blocks))
