"""Encoding from a file: its peak memory, and its rate against encoding from memory."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import bitfold as bf
from benchmarks.data import load_sift_vectors, make_hasher
from benchmarks.measuring import Ratio, time_once
from bitfold.io import encode_to_file, open_vectors

N_ROWS, N_FEATURES = 10_000_000, 128
ROWS_PER_RUN = 1_000_000
"""Rows of one run from the file and from memory; in short runs both see the same busy machine."""

BLOCK_ROWS = 100_000

CHILD = """
import re, sys
from pathlib import Path
import bitfold as bf
from bitfold.io import encode_to_file, open_vectors

folder = Path(sys.argv[1])
model, vectors = bf.load(folder / "m.bitfold"), open_vectors(folder / "x.npy")
rows = encode_to_file(model, vectors, folder / "c.npy")
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(rows, int(peak[1]) / 1024)
"""


def run() -> list[Ratio]:
    """Measure ten million SIFT-like vectors in a temporary file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_vectors(folder / "x.npy")
        vectors = open_vectors(folder / "x.npy")
        hasher = make_hasher().fit(vectors[:100_000])
        hasher.encode(vectors[:5000])  # compiles kernels, which takes memory
        hasher.save(folder / "m.bitfold")
        return [measure_memory(folder), compare_rates(hasher, folder / "x.npy")]


def write_vectors(path: Path, n_rows: int = N_ROWS) -> None:
    """Write rows of 128 bytes: SIFT descriptors, repeated with a little noise."""
    out = np.lib.format.open_memmap(path, "w+", np.uint8, (n_rows, N_FEATURES))
    start = 0
    for block in make_blocks(n_rows):
        out[start : start + len(block)] = block
        start += len(block)
    out.flush()


def make_blocks(n_rows: int) -> Iterator[NDArray[np.uint8]]:
    """Yield rows block by block."""
    rng = np.random.default_rng(0)
    vectors = load_sift_vectors()
    if vectors is None:
        vectors = rng.integers(0, 128, (BLOCK_ROWS, N_FEATURES), np.uint8)
    for start in range(0, n_rows, BLOCK_ROWS):
        part = np.asarray(vectors[start % len(vectors) :][: min(BLOCK_ROWS, n_rows - start)])
        yield part.astype(np.uint8) ^ rng.integers(0, 4, part.shape, np.uint8)


def measure_memory(folder: Path) -> Ratio:
    """Measure the peak memory of a separate process in megabytes, including the libraries."""
    command = [sys.executable, "-c", CHILD, str(folder)]
    n_rows, peak = subprocess.check_output(command, text=True).split()
    note = f"{int(n_rows):,} × {N_FEATURES} bytes to 64 bits, IMH, m=400; including libraries"
    return Ratio("encode from a memory map, peak MB", float(peak), 500, note=note)


def compare_rates(hasher: bf.IMH, path: Path) -> Ratio:
    """Compare encoding from file to file with encoding from memory to memory."""
    vectors, out = open_vectors(path), path.with_name("c.npy")
    seconds = []
    for start in range(0, N_ROWS, ROWS_PER_RUN):
        part = vectors[start : start + ROWS_PER_RUN]
        in_memory = np.array(part)
        to_file = partial(encode_to_file, hasher, part, out, restart=True)
        seconds.append((time_once(to_file), time_once(partial(hasher.encode, in_memory))))
    ours, theirs = np.median(seconds, axis=0)
    rates = f"{ROWS_PER_RUN / ours:,.0f} rows/s, from memory {ROWS_PER_RUN / theirs:,.0f}"
    name = "encode from a memory map to a file, fraction of the rate in memory"
    note = f"{rates}, medians of {len(seconds)}"
    return Ratio(name, float(theirs / ours), 0.85, at_least=True, note=note)
