"""HammingIndex against its peers: same codes, queries, threads and answers."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray
from reproduction.data.sift_photos import load_sift_photos
from usearch.index import MetricKind, ScalarKind
from usearch.index import search as search_usearch

import bitfold as bf
from benchmarks.data import load_sift_vectors, make_hasher, make_random_codes
from benchmarks.measuring import Ratio, time_both, time_once
from bitfold import datasets
from bitfold.datasets import Dataset
from bitfold.errors import MissingDataError
from bitfold.hashers import ITQ

N_ROWS, N_QUERIES, K = 1_000_000, 1000, 10

MANY, N_MANY = 1000, 200
"""Number of items per query, and of queries, for many candidates."""

N_CLUSTERS = 1000

N_ASYMMETRIC = 200
"""Number of queries of asymmetric search."""

MULTI_HASH_SETTINGS = [(3, 16), (3, 18), (3, 20), (3, 21), (4, 14), (4, 16)]
"""Numbers of hash tables and of bits per table for faiss's IndexBinaryMultiHash."""


def run() -> list[Ratio]:
    """Return all ratios."""
    return [
        *compare_random_codes(64, 2.0),
        *compare_random_codes(128, 1.5),
        *compare_random_codes(256, 1.5),
        *compare_large_k(),
        *compare_filters(),
        compare_kmeans(),
        *compare_radius(),
        *compare_asymmetric(),
        *compare_learned_codes(),
        time_opening(),
    ]


def make_index(codes: bf.Codes) -> bf.HammingIndex:
    """Return our index of codes."""
    index = bf.HammingIndex(codes.n_bits)
    index.add(codes)
    return index


def make_flat_index(codes: bf.Codes) -> faiss.IndexBinaryFlat:
    """Return the exact scan of faiss."""
    index = faiss.IndexBinaryFlat(8 * codes.packed.shape[1])
    index.add(codes.packed)
    return index


def compare_random_codes(n_bits: int, bound: float) -> list[Ratio]:
    """Compare the top 10 of random codes: throughput with the peers, and latency."""
    database, queries = (
        make_random_codes(N_ROWS, n_bits, 0),
        make_random_codes(N_QUERIES, n_bits, 1),
    )
    index, flat = make_index(database), make_flat_index(database)
    check_distances(index, flat, queries[:50])
    ours, theirs = time_both(
        lambda: index.search(queries, K), lambda: flat.search(queries.packed, K)
    )
    name = f"top-10, 1,000,000 × {n_bits} bits, 1,000 queries"
    note = f"{ours:.3f} s, faiss {theirs:.3f} s"
    ratios = [Ratio(f"{name}: times faiss flat", theirs / ours, bound, at_least=True, note=note)]
    few = queries[:100]
    ours, theirs = time_both(lambda: index.search(few, K), lambda: run_usearch(database, few))
    note = f"100 queries: {ours:.3f} s, usearch {theirs:.3f} s"
    ratios.append(
        Ratio(f"{name}: times usearch exact", theirs / ours, bound, at_least=True, note=note)
    )
    if n_bits == 64:
        ratios += [compare_latency(index, flat, queries), compare_limit(index, database, queries)]
    return ratios


def check_distances(
    index: bf.HammingIndex, flat: faiss.IndexBinaryFlat, queries: bf.Codes, k: int = K
) -> None:
    """Check that distances are equal; ids may differ within a tie."""
    distances, _ = flat.search(queries.packed, k)
    np.testing.assert_array_equal(index.search(queries, k).distances, distances)


def compare_large_k() -> list[Ratio]:
    """Compare the top 1,000 of random codes, by codes and by embedding."""
    database, queries = make_random_codes(N_ROWS, 128, 0), make_random_codes(N_MANY, 128, 1)
    index, flat = make_index(database), make_flat_index(database)
    check_distances(index, flat, queries[:50], MANY)
    ours, theirs = time_both(
        lambda: index.search(queries, MANY), lambda: flat.search(queries.packed, MANY), n_runs=9
    )
    name = f"top-1,000, 1,000,000 × 128 bits, {N_MANY} queries"
    note = f"{ours:.3f} s, faiss {theirs:.3f} s"
    ratios = [Ratio(f"{name}: times faiss flat", theirs / ours, 3, at_least=True, note=note)]
    embedding = np.random.default_rng(1).standard_normal((50, 128), dtype=np.float32)
    few = bf.Codes.from_bits(embedding > 0)
    index.search(few[:5], MANY, query_embedding=embedding[:5])  # compiles the kernel
    many, ten = time_both(
        lambda: index.search(few, MANY, query_embedding=embedding),
        lambda: index.search(few, K, query_embedding=embedding),
    )
    note = f"50 queries: {many:.3f} s, top-10 {ten:.3f} s"
    name = "asymmetric top-1,000, 1,000,000 × 128 bits: of the asymmetric top-10"
    return [*ratios, Ratio(name, many / ten, 3, note=note)]


def compare_filters() -> list[Ratio]:
    """Compare the top 10 among 1 % of the items with the search of all."""
    database, queries = make_random_codes(N_ROWS, 128, 0), make_random_codes(N_QUERIES, 128, 1)
    index = make_index(database)
    left = np.sort(np.random.default_rng(2).choice(N_ROWS, N_ROWS // 100, replace=False))
    mask = np.zeros(N_ROWS, bool)
    mask[left] = True
    expected = make_flat_index(database[left]).search(queries.packed[:50], K)[0]
    ratios = []
    for kind, among in (("ids", left), ("a mask", mask)):
        found = index.search(queries[:50], K, among=among).distances
        np.testing.assert_array_equal(found, expected)
        ours, every = time_both(
            lambda among=among: index.search(queries, K, among=among),  # type: ignore[misc]
            lambda: index.search(queries, K),
        )
        name = f"top-10 among 1 % of 1,000,000 × 128 bits, by {kind}: of the search of all"
        note = f"{ours:.3f} s, all {every:.3f} s"
        ratios.append(Ratio(name, ours / every, 0.15, note=note))
    return ratios


def compare_kmeans() -> Ratio:
    """Compare clustering with bare passes of xor and popcount, one per iteration and center."""
    rng, centers = np.random.default_rng(0), make_random_codes(N_CLUSTERS, 64, 1)
    # Bits of codes in groups are flipped; the majorities of plain random codes would not move.
    flips = np.packbits(rng.random((N_ROWS, 64), np.float32) < 0.15, axis=1)
    codes = bf.Codes(centers.packed[rng.integers(N_CLUSTERS, size=N_ROWS)] ^ flips, 64)
    words = np.ascontiguousarray(codes.words().T)
    kmeans = bf.HammingKMeans(N_CLUSTERS, max_iter=10, tol=0, random_state=0)
    scan_codes(centers[:2], words)  # compiles the kernels
    kmeans.fit(codes[:N_CLUSTERS])
    ours, limit = time_both(lambda: kmeans.fit(codes), lambda: scan_codes(centers, words))
    n_passes = kmeans.n_iter_ + 1  # the codes are also compared with the first centers
    note = f"{ours:.2f} s for {kmeans.n_iter_} iterations, one pass {limit:.2f} s"
    name = "k-means, 1,000,000 × 64 bits, 1,000 clusters: of bare popcount passes"
    return Ratio(name, ours / limit / n_passes, 2.5, note=note)


def run_usearch(database: bf.Codes, queries: bf.Codes) -> None:
    """Run the exact search of usearch."""
    search_usearch(
        database.packed,
        queries.packed,
        K,
        metric=MetricKind.Hamming,
        exact=True,
        dtype=ScalarKind.B1,
    )


def compare_latency(
    index: bf.HammingIndex, flat: faiss.IndexBinaryFlat, queries: bf.Codes
) -> Ratio:
    """Compare one query at a time."""
    single = [queries[i] for i in range(50)]
    ours, theirs = time_both(
        lambda: [index.search(query, K) for query in single],
        lambda: [flat.search(query.packed, K) for query in single],
    )
    note = f"{ours / 50 * 1e3:.2f} ms, faiss {theirs / 50 * 1e3:.2f} ms"
    name = "one query at a time, 1,000,000 × 64 bits: of faiss"
    return Ratio(name, ours / theirs, 1.0, note=note)


def compare_limit(index: bf.HammingIndex, database: bf.Codes, queries: bf.Codes) -> Ratio:
    """Compare with a bare pass of xor and popcount over the codes."""
    words = np.ascontiguousarray(database.words().T)
    scan_codes(queries[:2], words)  # compiles the kernel
    ours, limit = time_both(
        lambda: index.search(queries, K), lambda: scan_codes(queries, words), n_runs=5
    )
    note = f"{ours:.3f} s, xor and popcount alone {limit:.3f} s"
    return Ratio("top-10, 64 bits: of a bare xor + popcount pass", ours / limit, 1.6, note=note)


def scan_codes(queries: bf.Codes, words: NDArray[np.uint64]) -> None:
    """Compute nothing but xor and popcount, on all cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda query: _sum_distances(query, words), queries.words()))


def _generate_popcount(typing_context: Any, word: Any) -> Any:
    """Return the processor's instruction, which numba does not offer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


_popcount: Any = intrinsic(_generate_popcount)


@njit(nogil=True, cache=True)
def _sum_distances(query: NDArray[np.uint64], words: NDArray[np.uint64]) -> int:
    total = 0
    for w in range(words.shape[0]):
        column, word = words[w], query[w]
        for c in range(column.shape[0]):
            total += _popcount(column[c] ^ word)
    return total


def compare_radius() -> list[Ratio]:
    """Compare radius 2 with the scan and with the best setting of the hash tables of faiss."""
    database, queries = make_random_codes(N_ROWS, 64, 0), make_random_codes(N_QUERIES, 64, 1)
    index, flat = make_index(database), make_flat_index(database)
    index.within(queries, 2)
    # The radius of faiss is exclusive.
    limits, distances, _ = flat.range_search(queries.packed[:50], 3)
    hits = index.within(queries[:50], 2)
    np.testing.assert_array_equal(hits.offsets, limits)
    assert sorted(hits.distances) == sorted(distances)
    ours, theirs = time_both(
        lambda: _repeat(lambda: index.within(queries, 2)),
        lambda: _repeat(lambda: flat.range_search(queries.packed, 3)),
    )
    ours, theirs = ours / N_REPEATS, theirs / N_REPEATS
    name = "radius 2, 1,000,000 × 64 bits, 1,000 queries"
    note = f"{ours * 1e3:.2f} ms, faiss flat {theirs * 1e3:.0f} ms"
    return [
        Ratio(f"{name}: times faiss flat", theirs / ours, 20, at_least=True, note=note),
        _compare_multi_hash(name, index, database, queries),
    ]


def _compare_multi_hash(
    name: str, index: bf.HammingIndex, database: bf.Codes, queries: bf.Codes
) -> Ratio:
    """Compare with the best setting of faiss's hash tables; both are run equally often.

    With more tables than the radius no flips are needed.
    """
    times = []
    for n_tables, n_bits in MULTI_HASH_SETTINGS:
        tables = faiss.IndexBinaryMultiHash(64, n_tables, n_bits)
        tables.nflip = 0
        tables.add(database.packed)
        ours, theirs = time_both(
            lambda: _repeat(lambda: index.within(queries, 2)),
            lambda tables=tables: _repeat(  # type: ignore[misc]
                lambda: tables.range_search(queries.packed, 3)
            ),
        )
        times.append((theirs / N_REPEATS, (n_tables, n_bits), ours / N_REPEATS))
    best, setting, _ = min(times)
    ours = min(each for *_, each in times)
    note = f"{ours * 1e3:.2f} ms, IndexBinaryMultiHash{setting} {best * 1e3:.2f} ms"
    return Ratio(f"{name}: of the best MultiHash", ours / best, 1.0, note=note)


N_REPEATS = 10
"""Repetitions of what takes a millisecond, so that starting threads is not what is measured."""


def _repeat(work: Callable[[], object]) -> None:
    for _ in range(N_REPEATS):
        work()


def compare_learned_codes() -> list[Ratio]:
    """Compare codes that IMH learned, many of which are equal."""
    ratios = []
    for data in load_datasets():
        X, Q = (np.asarray(part, np.float32) for part in (data.database, data.queries))
        hasher = make_hasher(1000).fit(X)
        codes, queries = hasher.encode(X), hasher.encode(Q)
        index, flat = make_index(codes), make_flat_index(codes)
        check_distances(index, flat, queries[:50])
        ours, theirs = time_both(
            lambda index=index, queries=queries: index.search(queries, K),  # type: ignore[misc]
            lambda flat=flat, queries=queries: flat.search(queries.packed, K),  # type: ignore[misc]
        )
        counts = f"{index.n_distinct:,} distinct of {len(index):,}"
        note = f"{counts}; {ours:.3f} s, faiss {theirs:.3f} s"
        name = f"top-10, IMH codes of {data.name}, m=1,000: times faiss flat"
        ratios.append(Ratio(name, theirs / ours, 6, at_least=True, note=note))
    return ratios


def compare_asymmetric() -> list[Ratio]:
    """Compare asymmetric search with our own Hamming search, on random and on learned codes."""
    rng = np.random.default_rng(1)
    embedding = rng.standard_normal((N_ASYMMETRIC, 128), dtype=np.float32)
    cases = [("random codes", make_random_codes(N_ROWS, 128, 0), embedding)]
    vectors = load_sift_vectors()
    if vectors is not None:
        hasher = ITQ(128, random_state=0).fit(vectors)
        Q = vectors[rng.choice(len(vectors), N_ASYMMETRIC, replace=False)]
        noisy = Q + rng.normal(0, 10, Q.shape)
        cases.append(("ITQ codes of SIFT", hasher.encode(vectors), hasher.embed(noisy)))
    return [compare_with_hamming(*case) for case in cases]


def compare_with_hamming(
    name: str, database: bf.Codes, embedding: NDArray[np.floating[Any]]
) -> Ratio:
    """Compare both kinds of search on the same codes, after checking some answers."""
    index = make_index(database)
    queries = bf.Codes.from_bits(embedding > 0)
    hits = index.search(queries[:5], K, query_embedding=embedding[:5])
    dots = embedding[:5].astype(np.float64) @ (2.0 * database.unpack().T - 1)
    np.testing.assert_array_equal(hits.ids, np.argsort(-dots, axis=1, kind="stable")[:, :K])
    ours, hamming = time_both(
        lambda: index.search(queries, K, query_embedding=embedding),
        lambda: index.search(queries, K),
    )
    note = f"{N_ASYMMETRIC} queries: {ours:.3f} s, Hamming {hamming:.3f} s"
    title = f"asymmetric top-10, {len(database):,} × 128 bits, {name}: of our Hamming top-10"
    return Ratio(title, ours / hamming, 5.0, note=note)


def load_datasets() -> list[Dataset]:
    """Return MNIST and SIFT-1M-photos, if they are available."""
    found = []
    for load in (datasets.mnist, load_sift_photos):
        try:
            found.append(load(n_queries=1000))
        except MissingDataError:
            continue
    return found


def time_opening() -> Ratio:
    """Measure the milliseconds to open 10 million codes in a new process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ten-million"
        make_index(make_random_codes(10_000_000, 64, 0)).save(path)
        code = (
            "import time, bitfold as bf; bf.HammingIndex\n"
            f"start = time.perf_counter(); index = bf.HammingIndex.open({str(path)!r})\n"
            "print(time.perf_counter() - start)"
        )
        command = [sys.executable, "-c", code]
        first = min(float(subprocess.check_output(command)) for _ in range(3))
        again = time_once(lambda: bf.HammingIndex.open(path))
    note = f"first open of a process; again {again * 1e3:.1f} ms"
    return Ratio("open an index of 10,000,000 codes, ms", first * 1e3, 50, note=note)
