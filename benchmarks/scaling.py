"""What rows cost, from a hundred thousand to ten million, and whether a line foretells it.

``python -m benchmarks scaling`` measures what ``docs/scaling.jsonl`` does not hold yet, size by
size, and writes the tables of ``docs/scaling.md`` anew. Vectors are SIFT-like bytes from a file, as
they would be; codes that are searched are random ones, all distinct, which is the worst case.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import dask.array as da
import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray
from reproduction.records import Case, Records

import bitfold as bf
from benchmarks import _costs
from benchmarks._costs import ENCODE, FIT, FIT_ALL, INDEX, LOCAL, ONE, SEARCH, TWO
from benchmarks._harness import Ratio, best_of, dask_workers
from benchmarks.streaming import D, write_vectors
from bitfold import distributed
from bitfold.io import open_vectors
from bitfold.io.codes_file import encode_to_file
from distributed import wait

SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
ALL_ROWS = 1_000_000
"""Rows up to which K-means over all of them is measured: every iteration is a pass."""

N_BITS, M, QUERIES, K = 64, 400, 1000, 10
BLOCK = 100_000
BOUND = 1.3
"""How far the model may be from the size that was held out."""

WORKERS = {ONE: 1, TWO: 2}
DOCS = Path(__file__).parents[1] / "docs"

Seconds = dict[str, float]


def run() -> list[Ratio]:
    """Measure what is missing, write the page, and see whether the model holds."""
    records = measure(SIZES, DOCS / "scaling.jsonl")
    rewrite(records, DOCS / "scaling.md")
    return [
        Ratio(
            f"{stage}, {place}: model against {check.n:,} rows",
            check.factor,
            BOUND,
            note=f"{check.foretold:.1f} s foretold, {check.measured:.1f} s",
        )
        for (stage, place), (_, check) in _costs.costs(_costs.times(records)).items()
    ]


def rewrite(records: Records, path: Path) -> None:
    """Write the tables of the page anew; the rest of it stays."""
    path.write_text(_costs.page(path.read_text("utf-8"), list(records)), "utf-8")


def measure(sizes: tuple[int, ...], path: Path) -> Records:
    """Run every case that has no record, the small ones first; each is kept as it is done."""
    records = Records(path)
    cases = [_case(n, place) for place in _costs.PLACES for n in sorted(sizes)]
    missing = [case for case in cases if case not in records]
    if not missing:
        return records
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_vectors(folder / "x.npy", max(case.rows for case in missing))
        for place in dict.fromkeys(case.method for case in missing):
            with _at(place, folder) as run_case:
                for case in [case for case in missing if case.method == place]:
                    records.add(case, run_case(folder, case.rows))
    return records


def _case(n: int, place: str) -> Case:
    return Case("sift-like", place, N_BITS, queries=QUERIES, rows=n, measure="scaling")


@contextmanager
def _at(place: str, folder: Path) -> Iterator[Callable[[Path, int], dict[str, object]]]:
    """Give what measures one size at a place, after a small one that compiles what has changed."""
    small = min(20 * M, len(np.load(folder / "x.npy", mmap_mode="r")))
    if place == LOCAL:
        here(folder, small)
        yield here
        return
    with dask_workers(WORKERS[place]):
        on_cluster(folder, small)
        yield on_cluster


def hasher(base: bf.KMeansBase | None = None) -> bf.IMH:
    """Return the hasher that everything is measured with."""
    return bf.IMH(N_BITS, base=base or bf.KMeansBase(M), random_state=0)


def random_codes(n: int, seed: int = 0) -> bf.Codes:
    """Return codes that are all but surely distinct."""
    packed = np.random.default_rng(seed).integers(0, 256, (n, N_BITS // 8), np.uint8)
    return bf.Codes(packed, N_BITS)


def here(folder: Path, n: int) -> dict[str, object]:
    """Measure this process on all its cores: from a file, to files."""
    X, model, out = open_vectors(folder / "x.npy")[:n], hasher(), folder / "c.npy"
    timed = partial(best_of, times=3)
    took = {
        FIT: timed(lambda: model.fit(X)),
        ENCODE: timed(lambda: encode_to_file(model, X, out, restart=True)),
    }
    n_bytes = {"vectors, uint8": float(D), "codes": out.stat().st_size / n}
    codes, asked = random_codes(n), random_codes(QUERIES, 1)
    # Most of it is fresh memory, whose price differs from time to time.
    took[INDEX] = best_of(lambda: bf.HammingIndex(N_BITS).add(codes), times=7)
    index = bf.HammingIndex(N_BITS)
    index.add(codes)
    took[SEARCH] = timed(lambda: index.search(asked, K))
    index.save(folder / f"{n}.index")
    files = [file.stat().st_size for file in (folder / f"{n}.index").iterdir()]
    return _costs.result(took, n_bytes | {"index, all codes distinct": sum(files) / n})


def on_cluster(folder: Path, n: int) -> dict[str, object]:
    """Measure the workers of the current client, which read the file themselves."""
    X, model = rows_of(folder / "x.npy", n), hasher()
    timed = partial(best_of, times=2 if n <= ALL_ROWS else 1)
    took: Seconds = {FIT: timed(lambda: distributed.fit(model, X))}
    if n <= ALL_ROWS:
        base = distributed.DaskKMeansBase(M)
        took[FIT_ALL] = timed(lambda: distributed.fit(hasher(base), X))
    took[ENCODE] = timed(lambda: distributed.collect(distributed.encode(model, X), N_BITS))
    np.save(folder / "random.npy", random_codes(n).packed)
    codes, asked = rows_of(folder / "random.npy", n).persist(), random_codes(QUERIES, 1)
    wait(codes)
    took[SEARCH] = timed(lambda: distributed.search(codes, asked, K))
    return _costs.result(took)


def rows_of(path: Path, n: int) -> da.Array:
    """Return the first rows of a .npy as a Dask array whose blocks the workers read."""
    mapped = np.load(path, mmap_mode="r")
    blocks = [
        da.from_delayed(
            delayed(_read)(str(path), start, min(start + BLOCK, n)),
            (min(BLOCK, n - start), mapped.shape[1]),
            mapped.dtype,
        )
        for start in range(0, n, BLOCK)
    ]
    return da.concatenate(blocks)


def _read(path: str, start: int, stop: int) -> NDArray[np.uint8]:
    return np.array(np.load(path, mmap_mode="r")[start:stop])
