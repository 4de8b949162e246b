"""Encoding from a file: what it holds in memory, and its rate against that from memory."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from reproduction.data.sift_photos import load_sift_photos

import bitfold as bf
from benchmarks._harness import Ratio, seconds
from bitfold.errors import MissingDataError
from bitfold.io import open_vectors
from bitfold.io.codes_file import encode_to_file

N, D = 10_000_000, 128
HELD = 1_000_000
"""Rows of one turn, from the file and from memory; short turns see the same busy machine."""

CHILD = """
import re, sys
from pathlib import Path
import bitfold as bf
from bitfold.io import open_vectors
from bitfold.io.codes_file import encode_to_file

folder = Path(sys.argv[1])
model, vectors = bf.load(folder / "m.bitfold"), open_vectors(folder / "x.npy")
rows = encode_to_file(model, vectors, folder / "c.npy")
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(rows, int(peak[1]) / 1024)
"""


def run() -> list[Ratio]:
    """Measure on ten million SIFT-like vectors in a temporary file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        write_vectors(path / "x.npy")
        mapped = open_vectors(path / "x.npy")
        hasher = bf.IMH(64, base=bf.KMeansBase(400), random_state=0).fit(mapped[:100_000])
        hasher.encode(mapped[:5000])  # compiles what has changed, which takes memory
        hasher.save(path / "m.bitfold")
        return [peak_memory(path), rate(hasher, path / "x.npy")]


def write_vectors(path: Path, n: int = N) -> None:
    """Write n × D bytes: real SIFT descriptors again and again, each time a little moved."""
    out = np.lib.format.open_memmap(path, "w+", np.uint8, (n, D))
    start = 0
    for block in jittered(np.random.default_rng(0), n):
        out[start : start + len(block)] = block
        start += len(block)
    out.flush()


def jittered(rng: np.random.Generator, n: int = N) -> Iterator[NDArray[np.uint8]]:
    """Yield blocks of n rows in all."""
    step = 100_000
    try:
        known = load_sift_photos().database
    except MissingDataError:
        known = rng.integers(0, 128, (step, D), np.uint8)
    for start in range(0, n, step):
        part = np.asarray(known[start % len(known) :][: min(step, n - start)])
        yield part.astype(np.uint8) ^ rng.integers(0, 4, part.shape, np.uint8)


def peak_memory(folder: Path) -> Ratio:
    """Megabytes that a process of its own holds at most, the libraries included."""
    command = [sys.executable, "-c", CHILD, str(folder)]
    rows, peak = subprocess.check_output(command, text=True).split()
    note = f"{int(rows):,} × {D} bytes to 64 bits, IMH, m=400; with all libraries"
    return Ratio("encode from a memory map, peak MB", float(peak), 500, note=note)


def rate(hasher: bf.IMH, path: Path) -> Ratio:
    """Rows a second from the file to a file, against those from memory to memory, in turns."""
    mapped, out = open_vectors(path), path.with_name("c.npy")
    turns = []
    for start in range(0, N, HELD):
        part = mapped[start : start + HELD]
        held = np.array(part)
        to_file = partial(encode_to_file, hasher, part, out, restart=True)
        turns.append((seconds(to_file), seconds(partial(hasher.encode, held))))
    ours, theirs = np.median(turns, axis=0)
    note = f"{HELD / ours:,.0f} rows/s, from memory {HELD / theirs:,.0f}, medians of {len(turns)}"
    what = "encode from a memory map to a file, share of the rate in memory"
    return Ratio(what, float(theirs / ours), 0.85, at_least=True, note=note)
