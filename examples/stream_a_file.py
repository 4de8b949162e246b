"""Stream a file: fit and encode a memory map without loading it.

Writes vectors to a .npy file, maps it into memory, and encodes more and more of its rows into a
codes file. Memory use does not grow with them. If ``encode_to_file`` is interrupted, the next call
resumes the work.
"""

import sys
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import bitfold as bf
from bitfold.io import encode_to_file

N_ROWS, WIDTH, BLOCK = 80_000, 64, 10_000


def write_vectors(path: Path) -> None:
    """Write points of a curved sheet, block by block."""
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((3, WIDTH))
    out = np.lib.format.open_memmap(path, "w+", np.float32, (N_ROWS, WIDTH))
    for start in range(0, N_ROWS, BLOCK):
        out[start : start + BLOCK] = np.sin(rng.uniform(-2, 2, (BLOCK, 3)) @ directions)
    out.flush()


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    write_vectors(folder / "vectors.npy")
    X = np.load(folder / "vectors.npy", mmap_mode="r")
    hasher = bf.IMH(64, base=bf.KMeansBase(100), random_state=0).fit(X[:BLOCK])

    tracemalloc.start()
    sizes, held = [], []
    for n in (N_ROWS // 8, N_ROWS // 4, N_ROWS // 2, N_ROWS):
        tracemalloc.reset_peak()
        encode_to_file(hasher, X[:n], folder / "vectors.codes")
        sizes.append(n * X.itemsize * WIDTH / 1e6)
        held.append(tracemalloc.get_traced_memory()[1] / 1e6)
        codes = (folder / "vectors.codes").stat().st_size / 1e6
        print(
            f"{sizes[-1]:5.1f} MB of vectors: {codes:.2f} MB of codes, {held[-1]:.1f} MB of memory"
        )

figure = Figure(figsize=(5, 3.2), layout="constrained")
axes = figure.subplots()
axes.plot(sizes, sizes, "o--", color="#222222", label="the file")
axes.plot(sizes, held, "o-", color="#d62728", label="memory used while encoding")
axes.set(xlabel="vectors, MB", ylabel="MB", ylim=(0, None))
axes.legend(frameon=False)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "stream_a_file.png")
