"""Cost per row from a hundred thousand to ten million rows, and whether a line predicts it.

``python -m benchmarks scaling`` measures what ``docs/scaling.jsonl`` does not contain yet, and
writes the tables of ``docs/scaling.md``. Vectors are SIFT-like bytes in a file; codes that are
searched are random and all distinct, which is the worst case.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

import bitfold as bf
from benchmarks import cost_model
from benchmarks.cost_model import (
    ENCODE,
    FIT,
    FIT_ALL,
    INDEX,
    LOCAL,
    ONE_WORKER,
    SEARCH,
    TWO_WORKERS,
)
from benchmarks.data import make_hasher, make_random_codes
from benchmarks.measuring import Ratio, start_dask_workers, time_best
from benchmarks.streaming import N_FEATURES, write_vectors
from bitfold import distributed
from bitfold.io import encode_to_file, open_vectors
from bitfold.io.records import RunRecords
from distributed import wait

SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
MAX_FIT_ALL_ROWS = 1_000_000
"""Largest size for K-means over all rows, in which every iteration is a pass."""

N_BITS, N_BASE_POINTS, N_QUERIES, K = 64, 400, 1000, 10
BLOCK_ROWS = 100_000
MAX_FACTOR = 1.3
"""Largest factor between the prediction and the size that was held out."""

N_WORKERS = {ONE_WORKER: 1, TWO_WORKERS: 2}
DOCS = Path(__file__).parents[1] / "docs"

Measure = Callable[[Path, int], dict[str, Any]]


@dataclass(frozen=True)
class ScalingCase:
    """A number of rows, and where it is measured."""

    place: str
    n_rows: int


def run() -> list[Ratio]:
    """Measure what is missing, write the page, and compare the model with the held-out sizes."""
    records = measure_missing(SIZES, DOCS / "scaling.jsonl")
    page = DOCS / "scaling.md"
    page.write_text(cost_model.update_page(page.read_text("utf-8"), list(records)), "utf-8")
    return [
        Ratio(
            f"{stage}, {place}: model against {check.n_rows:,} rows",
            check.factor,
            MAX_FACTOR,
            note=f"{check.predicted:.1f} s predicted, {check.measured:.1f} s measured",
        )
        for (stage, place), (_, check) in cost_model.fit_costs(records).items()
    ]


def measure_missing(sizes: tuple[int, ...], path: Path) -> RunRecords:
    """Measure every case that has no record, in ascending order of size."""
    records = RunRecords(path)
    cases = [ScalingCase(place, n) for place in cost_model.PLACES for n in sorted(sizes)]
    missing = [case for case in cases if case not in records]
    if not missing:
        return records
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_vectors(folder / "x.npy", max(case.n_rows for case in missing))
        for place in dict.fromkeys(case.place for case in missing):
            with _prepare(place, folder) as measure:
                for case in [case for case in missing if case.place == place]:
                    records.add(case, measure(folder, case.n_rows))
    return records


@contextmanager
def _prepare(place: str, folder: Path) -> Iterator[Measure]:
    """Yield a function that measures one size, after a small one that compiles the kernels."""
    n_small = min(20 * N_BASE_POINTS, len(np.load(folder / "x.npy", mmap_mode="r")))
    if place == LOCAL:
        measure_locally(folder, n_small)
        yield measure_locally
        return
    with start_dask_workers(N_WORKERS[place]):
        measure_on_cluster(folder, n_small)
        yield measure_on_cluster


def measure_locally(folder: Path, n_rows: int) -> dict[str, Any]:
    """Measure this process on all cores, from a file to files."""
    X, hasher = open_vectors(folder / "x.npy")[:n_rows], make_hasher(N_BASE_POINTS)
    out = folder / "c.npy"
    seconds = {
        FIT: time_best(lambda: hasher.fit(X)),
        ENCODE: time_best(lambda: encode_to_file(hasher, X, out, restart=True)),
    }
    n_bytes = {"vectors, uint8": float(N_FEATURES), "codes": out.stat().st_size / n_rows}
    codes, queries = (make_random_codes(n, N_BITS, s) for n, s in ((n_rows, 0), (N_QUERIES, 1)))
    # Most of the time is for fresh memory, and varies.
    seconds[INDEX] = time_best(lambda: bf.HammingIndex(N_BITS).add(codes), n_runs=7)
    index = bf.HammingIndex(N_BITS)
    index.add(codes)
    seconds[SEARCH] = time_best(lambda: index.search(queries, K))
    index.save(folder / f"{n_rows}.index")
    sizes = [file.stat().st_size for file in (folder / f"{n_rows}.index").iterdir()]
    n_bytes["index, all codes distinct"] = sum(sizes) / n_rows
    return {"seconds": seconds, "bytes": n_bytes}


def measure_on_cluster(folder: Path, n_rows: int) -> dict[str, Any]:
    """Measure the workers of the current client, which read the file themselves."""
    X, hasher = read_with_dask(folder / "x.npy", n_rows), make_hasher(N_BASE_POINTS)
    time_stage = partial(time_best, n_runs=2 if n_rows <= MAX_FIT_ALL_ROWS else 1)
    seconds = {FIT: time_stage(lambda: distributed.fit(hasher, X))}
    if n_rows <= MAX_FIT_ALL_ROWS:
        base = distributed.DaskKMeansBase(N_BASE_POINTS)
        on_all_rows = bf.IMH(N_BITS, base=base, random_state=0)
        seconds[FIT_ALL] = time_stage(lambda: distributed.fit(on_all_rows, X))
    seconds[ENCODE] = time_stage(lambda: distributed.collect(distributed.encode(hasher, X), N_BITS))
    np.save(folder / "random.npy", make_random_codes(n_rows, N_BITS, 0).packed)
    codes = read_with_dask(folder / "random.npy", n_rows).persist()
    wait(codes)
    queries = make_random_codes(N_QUERIES, N_BITS, 1)
    seconds[SEARCH] = time_stage(lambda: distributed.search(codes, queries, K))
    return {"seconds": seconds}


def read_with_dask(path: Path, n_rows: int) -> da.Array:
    """Return the first rows of a .npy as a Dask array whose blocks the workers read."""
    mapped = np.load(path, mmap_mode="r")
    blocks = [
        da.from_delayed(
            delayed(_read_block)(str(path), start, min(start + BLOCK_ROWS, n_rows)),
            (min(BLOCK_ROWS, n_rows - start), mapped.shape[1]),
            mapped.dtype,
        )
        for start in range(0, n_rows, BLOCK_ROWS)
    ]
    return da.concatenate(blocks)


def _read_block(path: str, start: int, stop: int) -> NDArray[np.uint8]:
    return np.array(np.load(path, mmap_mode="r")[start:stop])
