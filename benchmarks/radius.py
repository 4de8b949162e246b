"""Wide radii and all pairs, on random and on learned codes, against the flat scan of faiss."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

import bitfold as bf
from benchmarks.data import load_sift_vectors, make_random_codes
from benchmarks.measuring import Ratio, time_both, time_once
from benchmarks.search import make_flat_index, make_index
from bitfold.hashers import ITQ

N_ROWS = 1_000_000

N_QUERIES = 1000
"""Enough that waking up a second core, about a millisecond on a virtual machine, hardly counts."""

N_SAMPLED = 200
"""Number of rows by which the time of faiss for all rows is extrapolated."""

MANY_ROWS = 10_000_000

RADII = (0, 2, 4, 6, 8, 10, 12, 14, 16)
"""Radii at which the lookup is compared with a scan."""

BOUNDS: dict[str, dict[int, float]] = {
    "ITQ(64)": {2: 50, 4: 10, 10: 4},
    "DualHasher(64)": {2: 4, 4: 4, 10: 2.5},
}
"""Least times faiss by radius."""


def run() -> list[Ratio]:
    """Return all ratios; those of learned codes need SIFT."""
    random = make_random_codes(N_ROWS, 64, 0)
    return [
        compare_within("random codes", random, make_random_codes(N_QUERIES, 64, 1), 10, 15),
        compare_perceptual("random codes", make_random_codes(250_000, 256, 0)),
        compare_perceptual("copies of images", make_copies(250_000, 256)),
        compare_pairs("random codes", random, 8, 60),
        compare_with_scan("random codes", random, make_random_codes(N_QUERIES, 64, 1)),
        *compare_learned_codes(),
        *compare_sizes(),
    ]


def compare_learned_codes() -> Iterator[Ratio]:
    """Compare codes of SIFT descriptors, which are crowded; the queries are held out."""
    vectors = load_sift_vectors()
    if vectors is None:
        return
    database, queries = vectors[:-N_QUERIES], np.asarray(vectors[-N_QUERIES:])
    for name, hasher in (
        ("ITQ(64)", ITQ(64, random_state=0)),
        ("DualHasher(64)", bf.DualHasher(64, random_state=0)),
    ):
        codes = hasher.fit(database).encode(database)
        for radius, bound in BOUNDS[name].items():
            title = f"{name} codes of SIFT"
            yield compare_within(title, codes, hasher.encode(queries), radius, bound)
        yield compare_with_scan(f"{name} codes of SIFT", codes, hasher.encode(queries))
        if name == "ITQ(64)":
            yield compare_pairs(f"{name} codes of SIFT", codes, 4, 10)


def compare_perceptual(name: str, codes: bf.Codes) -> Ratio:
    """Compare the radius within which PDQ hashes of images count as near."""
    noise = np.random.default_rng(2).random((N_QUERIES, codes.n_bits)) < 0.05
    queries = bf.Codes.from_bits(codes[:N_QUERIES].unpack() ^ noise)
    return compare_within(name, codes, queries, 31, 4)


def make_copies(n: int, n_bits: int) -> bf.Codes:
    """Return codes like those of images of which there are several versions, with biased bits."""
    rng = np.random.default_rng(3)
    originals = rng.random((n // 4, n_bits)) < rng.uniform(0.3, 0.7, n_bits)
    versions = originals[rng.integers(0, len(originals), n)]
    return bf.Codes.from_bits(versions ^ (rng.random((n, n_bits)) < rng.uniform(0, 0.12, (n, 1))))


def compare_within(
    name: str, database: bf.Codes, queries: bf.Codes, radius: int, bound: float
) -> Ratio:
    """Compare a radius lookup, after checking its answers."""
    index, flat = make_index(database), make_flat_index(database)
    building = time_once(lambda: index.build_tables(radius))
    # The radius of faiss is exclusive.
    limits, distances, _ = flat.range_search(queries.packed, radius + 1)
    hits = index.within(queries, radius)
    np.testing.assert_array_equal(hits.offsets, limits)
    assert hits.distances.sum() == distances.sum()
    ours, theirs = time_both(
        lambda: index.within(queries, radius),
        lambda: flat.range_search(queries.packed, radius + 1),
        n_runs=15,
    )
    tables = f"tables {index.table_bytes / 1e6:.0f} MB in {building:.2f} s"
    n_hits = f"{len(hits.ids) / len(queries):.0f} hits per query"
    note = f"{ours * 1e3:.1f} ms, faiss {theirs * 1e3:.0f} ms; {n_hits}; {tables}"
    title = f"radius {radius}, {len(database):,} × {database.n_bits} bits, {name}: times faiss flat"
    return Ratio(title, theirs / ours, bound, at_least=True, note=note)


def compare_with_scan(name: str, database: bf.Codes, queries: bf.Codes) -> Ratio:
    """Compare the lookup with a scan at the radius where it gains least."""
    lookup, scan = make_index(database), make_index(database)
    scan.max_table_bytes = 0
    worst = (0.0, 0)
    for radius in RADII:
        lookup.build_tables(radius)
        ours, theirs = time_both(
            partial(lookup.within, queries, radius), partial(scan.within, queries, radius), 9
        )
        worst = max(worst, (ours / theirs, radius))
    title = f"radius {RADII[0]} to {RADII[-1]}, {len(database):,} × 64 bits, {name}: of a scan"
    return Ratio(title, worst[0], 1.1, note=f"most at radius {worst[1]}")


def compare_pairs(name: str, codes: bf.Codes, radius: int, bound: float) -> Ratio:
    """Compare all pairs with range searches of all rows, extrapolated from some of them."""
    index, flat = make_index(codes), make_flat_index(codes)
    sampled = codes[np.random.default_rng(4).choice(len(codes), N_SAMPLED, replace=False)]
    n_pairs = count_pairs(index, radius)  # also compiles the kernels
    ours, theirs = time_both(
        lambda: count_pairs(index, radius),
        lambda: flat.range_search(sampled.packed, radius + 1),
    )
    theirs *= len(codes) / N_SAMPLED
    extrapolated = f"faiss {theirs:.0f} s, extrapolated from {N_SAMPLED} rows"
    note = f"{n_pairs:,} pairs of distinct codes: {ours:.2f} s, {extrapolated}"
    title = f"all pairs within {radius}, {len(codes):,} × 64 bits, {name}: times faiss flat"
    return Ratio(title, theirs / ours, bound, at_least=True, note=note)


def count_pairs(index: bf.HammingIndex, radius: int) -> int:
    """Return the number of pairs within a radius."""
    return sum(len(pairs.first) for pairs in index.pairs(radius))


def compare_sizes() -> list[Ratio]:
    """Compare all pairs within radius 4 of ten million and of a million codes."""
    few, many = (_measure_pairs(n) for n in (N_ROWS, MANY_ROWS))
    name = f"all pairs within 4, {MANY_ROWS:,} × 64 bits"
    note = f"{many[0]:.1f} s, 1,000,000 codes {few[0]:.2f} s"
    code_bytes = 8 * MANY_ROWS
    memory = f"{many[1] / 1e6:.0f} MB with the codes, which have {code_bytes / 1e6:.0f} MB"
    return [
        Ratio(f"{name}: times 1,000,000", many[0] / few[0], 25, note=note),
        Ratio(f"{name}: memory, times the codes", many[1] / code_bytes, 3, note=memory),
    ]


PROGRAM = """
import re, sys, time
from pathlib import Path
import bitfold as bf
from benchmarks.data import make_random_codes
from benchmarks.radius import count_pairs, make_index

def read(name):
    return 1024 * int(re.search(name + r":\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

count_pairs(make_index(make_random_codes(10_000, 64, 0)), 4)  # compiles the kernels
before = read("VmRSS")
index = bf.HammingIndex.open(sys.argv[1])
start = time.perf_counter()
count_pairs(index, 4)
print(time.perf_counter() - start, read("VmHWM") - before)
"""


def _measure_pairs(n: int) -> tuple[float, float]:
    """Return the seconds of all pairs in an index on disk, and the memory, in a new process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        make_index(make_random_codes(n, 64, 0)).save(path)
        found = subprocess.check_output([sys.executable, "-c", PROGRAM, path])
    seconds, n_bytes = map(float, found.split())
    return seconds, n_bytes
