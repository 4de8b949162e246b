"""The Hamming index against its peers: same codes, same queries, same threads, same answers."""

from __future__ import annotations

import lzma
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np
from numba import njit
from numpy.typing import NDArray
from usearch.index import MetricKind, ScalarKind
from usearch.index import search as usearch_exact

import bitfold as bf
from benchmarks._harness import Ratio, best_of, seconds, side_by_side
from bitfold import datasets
from bitfold._kernels.hamming import popcount
from bitfold._threads import map_blocks
from bitfold.errors import MissingDataError

Bytes = NDArray[np.uint8]

N, Q, K = 1_000_000, 1000, 10


def run() -> list[Ratio]:
    """Measure all."""
    return [
        *random_codes(64, 2.0),
        *random_codes(128, 1.5),
        *random_codes(256, 1.5),
        *radius(),
        *manifold_codes(),
        opening(),
    ]


def codes_of(n: int, n_bits: int, seed: int) -> bf.Codes:
    """Random codes, all but surely distinct."""
    rng = np.random.default_rng(seed)
    return bf.Codes(rng.integers(0, 256, (n, n_bits // 8), np.uint8), n_bits)


def to_index(codes: bf.Codes) -> bf.HammingIndex:
    """Our index."""
    index = bf.HammingIndex(codes.n_bits)
    index.add(codes)
    return index


def flat(codes: bf.Codes) -> faiss.IndexBinaryFlat:
    """Return faiss's exact scan."""
    index = faiss.IndexBinaryFlat(8 * codes.packed.shape[1])
    index.add(codes.packed)
    return index


@njit(nogil=True, cache=True)
def _bare(query: NDArray[np.uint64], words: NDArray[np.uint64]) -> int:
    total = 0
    for w in range(words.shape[0]):
        column, word = words[w], query[w]
        for c in range(column.shape[0]):
            total += popcount(column[c] ^ word)
    return total


def bare_pass(queries: bf.Codes, index: bf.HammingIndex) -> None:
    """Nothing but xor and popcount over the distinct codes, on all cores: the limit."""
    words = index._segments[0].words
    for _ in map_blocks(lambda query: _bare(query, words), queries.words()):
        pass


def random_codes(n_bits: int, bound: float) -> list[Ratio]:
    """Top 10 of random codes: throughput against the peers, and latency."""
    database, queries = codes_of(N, n_bits, 0), codes_of(Q, n_bits, 1)
    ours, theirs = to_index(database), flat(database)
    same_answers(ours, theirs, queries[:50])
    a, b = side_by_side(lambda: ours.search(queries, K), lambda: theirs.search(queries.packed, K))
    what = f"top-10, 1,000,000 × {n_bits} bits, 1,000 queries"
    note = f"{a:.3f} s, faiss {b:.3f} s"
    ratios = [Ratio(f"{what}: times faiss flat", b / a, bound, at_least=True, note=note)]
    few = queries[:100]
    a, c = side_by_side(lambda: ours.search(few, K), lambda: usearch(database, few))
    note = f"100 queries: {a:.3f} s, usearch {c:.3f} s"
    ratios.append(Ratio(f"{what}: times usearch exact", c / a, bound, at_least=True, note=note))
    if n_bits == 64:
        ratios += [latency(ours, theirs, queries), limit(ours, queries)]
    return ratios


def same_answers(ours: bf.HammingIndex, theirs: faiss.IndexBinaryFlat, queries: bf.Codes) -> None:
    """Distances must agree; ids may differ within a tie."""
    distances, _ = theirs.search(queries.packed, K)
    np.testing.assert_array_equal(ours.search(queries, K).distances, distances)


def usearch(database: bf.Codes, queries: bf.Codes) -> None:
    """Exact search of usearch."""
    usearch_exact(
        database.packed,
        queries.packed,
        K,
        metric=MetricKind.Hamming,
        exact=True,
        dtype=ScalarKind.B1,
    )


def latency(ours: bf.HammingIndex, theirs: faiss.IndexBinaryFlat, queries: bf.Codes) -> Ratio:
    """One query at a time."""
    ones = [queries[i] for i in range(50)]
    a, b = side_by_side(
        lambda: [ours.search(one, K) for one in ones],
        lambda: [theirs.search(one.packed, K) for one in ones],
    )
    note = f"{a / 50 * 1e3:.2f} ms, faiss {b / 50 * 1e3:.2f} ms"
    return Ratio("one query at a time, 1,000,000 × 64 bits: of faiss's", a / b, 1.0, note=note)


def limit(ours: bf.HammingIndex, queries: bf.Codes) -> Ratio:
    """Distance to the limit."""
    bare_pass(queries[:2], ours)
    a, b = side_by_side(lambda: ours.search(queries, K), lambda: bare_pass(queries, ours), 5)
    note = f"{a:.3f} s, xor and popcount alone {b:.3f} s"
    return Ratio("top-10, 64 bits: of a bare xor + popcount pass", a / b, 1.6, note=note)


def radius() -> list[Ratio]:
    """All codes within radius 2, against the scan and the best setting of the hash tables."""
    database, queries = codes_of(N, 64, 0), codes_of(Q, 64, 1)
    ours, theirs = to_index(database), flat(database)
    ours.within(queries, 2)
    # faiss's radius is strict.
    limits, distances, _ = theirs.range_search(queries.packed[:50], 3)
    near = ours.within(queries[:50], 2)
    np.testing.assert_array_equal(near.offsets, limits)
    assert sorted(near.distances) == sorted(distances)
    a, b = side_by_side(
        lambda: _ten_times(lambda: ours.within(queries, 2)),
        lambda: _ten_times(lambda: theirs.range_search(queries.packed, 3)),
    )
    a, b = a / 10, b / 10
    best, setting = min(_multihash(database, queries, n, bits) for n, bits in SETTINGS)
    what = "radius 2, 1,000,000 × 64 bits, 1,000 queries"
    note = f"{a * 1e3:.2f} ms, faiss flat {b * 1e3:.0f} ms"
    best_note = f"{a * 1e3:.2f} ms, IndexBinaryMultiHash{setting} {best * 1e3:.1f} ms"
    return [
        Ratio(f"{what}: times faiss flat", b / a, 20, at_least=True, note=note),
        Ratio(f"{what}: of the best MultiHash", a / best, 1.0, note=best_note),
    ]


SETTINGS = [(3, 16), (3, 18), (3, 20), (3, 21), (4, 14), (4, 16)]


def _multihash(
    database: bf.Codes, queries: bf.Codes, n_hash: int, bits: int
) -> tuple[float, tuple[int, int]]:
    """Seconds of one setting that finds everything: with more hashes than the radius, no flip."""
    index = faiss.IndexBinaryMultiHash(64, n_hash, bits)
    index.nflip = 0
    index.add(database.packed)
    taken = best_of(lambda: _ten_times(lambda: index.range_search(queries.packed, 3))) / 10
    return taken, (n_hash, bits)


def _ten_times(work: Callable[[], object]) -> None:
    """Repeat what takes a millisecond, so that waking up is not what is measured."""
    for _ in range(10):
        work()


def manifold_codes() -> list[Ratio]:
    """Codes that IMH learned, which repeat."""
    ratios = []
    for name, (X, queries, m) in real_sets().items():
        hasher = bf.IMH(64, base=bf.KMeansBase(m), random_state=0).fit(X)
        codes, asked = hasher.encode(X), hasher.encode(queries)
        ours, theirs = to_index(codes), flat(codes)
        same_answers(ours, theirs, asked[:50])
        a, b = side_by_side(
            lambda ours=ours, asked=asked: ours.search(asked, K),  # type: ignore[misc]
            lambda theirs=theirs, asked=asked: theirs.search(asked.packed, K),  # type: ignore[misc]
        )
        note = f"{ours.n_distinct:,} distinct of {len(ours):,}; {a:.3f} s, faiss {b:.3f} s"
        what = f"top-10, IMH codes of {name}, m={m:,}: times faiss flat"
        ratios.append(Ratio(what, b / a, 6, at_least=True, note=note))
    return ratios


def real_sets() -> dict[str, tuple[NDArray[np.float32], NDArray[np.float32], int]]:
    """MNIST and SIFT-1M-photos, where they are at hand."""
    sets = {}
    try:
        mnist = datasets.mnist()
    except MissingDataError:
        return {}
    sets["MNIST"] = (mnist.database.astype(np.float32), mnist.queries.astype(np.float32), 1000)
    folder = Path(os.environ["BITFOLD_DATA"]) / "sift"
    if (folder / "base.npy.xz").is_file():
        with lzma.open(folder / "base.npy.xz") as file:
            base = np.load(file)
        sets["SIFT-1M-photos"] = (base, np.load(folder / "query.npy")[:1000], 1000)
    return sets


def opening() -> Ratio:
    """Milliseconds to open 10 million codes, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ten-million"
        to_index(codes_of(10_000_000, 64, 0)).save(path)
        code = (
            "import time, bitfold as bf; bf.HammingIndex\n"
            f"start = time.perf_counter(); index = bf.HammingIndex.open({str(path)!r})\n"
            "print(time.perf_counter() - start)"
        )
        taken = min(_printed(code) for _ in range(3))
        wall = seconds(lambda: bf.HammingIndex.open(path))
    note = f"first open of a process; again {wall * 1e3:.1f} ms"
    return Ratio("open an index of 10,000,000 codes, ms", taken * 1e3, 50, note=note)


def _printed(code: str) -> float:
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    return float(output.stdout)
