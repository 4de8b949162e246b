"""Dask on two worker processes of one thread each, against the same work in this process.

Not among the benchmarks that run unasked: it starts a cluster, and its data are large.
"""

from __future__ import annotations

from typing import Any

import dask.array as da
import faiss
import numpy as np
from numpy.typing import NDArray
from reproduction.data.sift_photos import load_sift_photos

import bitfold as bf
from benchmarks._harness import Ratio, dask_workers, side_by_side
from bitfold import distributed
from bitfold.distributed._rows import DaskRows
from bitfold.errors import MissingDataError
from distributed import Client

FloatArray = NDArray[np.float32]

_BLOCK = 50_000
_M = 400


def run() -> list[Ratio]:
    """Measure all; SIFT-1M-photos where it is at hand, else clustered noise of its shape."""
    X = vectors()
    with dask_workers(2):
        remote = spread(X)
        return [*encode_against_threads(X, remote), *kmeans_against_faiss(X, remote)]


def vectors() -> FloatArray:
    """1,000,000 × 128 float32."""
    try:
        return np.asarray(load_sift_photos().database, np.float32)
    except MissingDataError:
        rng = np.random.default_rng(0)
        centers = rng.random((1000, 128), dtype=np.float32)
        spread = rng.standard_normal((1_000_000, 128), dtype=np.float32)
        spread *= np.float32(0.1)
        spread += centers[rng.integers(1000, size=len(spread))]
        return spread


def spread(X: FloatArray) -> da.Array:
    """The same rows, half of them in the memory of each worker."""
    client = Client.current()
    workers = list(client.scheduler_info()["workers"])
    blocks = [
        da.from_delayed(
            client.scatter(X[i : i + _BLOCK], workers=[workers[i // _BLOCK % len(workers)]]),
            X[i : i + _BLOCK].shape,
            X.dtype,
        )
        for i in range(0, len(X), _BLOCK)
    ]
    return da.concatenate(blocks)


def encode_against_threads(X: FloatArray, remote: da.Array) -> list[Ratio]:
    """The rate of encoding, codes fetched, against this process with two threads."""
    hasher = bf.IMH(64, base=bf.KMeansBase(_M), random_state=0).fit(X[:100_000])
    codes: dict[str, Any] = {}

    def ours() -> None:
        codes["dask"] = distributed.encode(hasher, remote).compute()

    def theirs() -> None:
        codes["local"] = hasher.encode(X).packed

    ours()
    dask, local = side_by_side(ours, theirs, times=5)
    same = np.array_equal(codes["dask"], codes["local"])
    what = "encode 1,000,000 × 128, m=400, 2 workers against 2 threads"
    note = f"{dask:.2f} s, local {local:.2f} s"
    return [
        Ratio(f"{what}: rate", local / dask, 0.75, at_least=True, note=note),
        Ratio(f"{what}: equal bytes", float(same), 1, at_least=True),
    ]


def kmeans_against_faiss(X: FloatArray, remote: da.Array) -> list[Ratio]:
    """Seconds and inertia of 20 iterations on all rows, against faiss on all cores."""
    rows = DaskRows.of(remote, "the benchmark")
    near = X - rows.center
    centers: dict[str, FloatArray] = {}

    def ours() -> None:
        centers["dask"] = distributed.DaskKMeansBase(_M, max_iter=20).choose(rows, rng=0).points

    def theirs() -> None:
        run = faiss.Kmeans(X.shape[1], _M, niter=20, seed=0, max_points_per_centroid=len(X))
        run.train(near)
        centers["faiss"] = np.asarray(run.centroids)

    dask, alone = side_by_side(ours, theirs, times=2)
    reached = [inertia(near, centers[who]) for who in ("dask", "faiss")]
    what = "k-means 1,000,000 × 128, m=400, 20 iterations, 2 workers"
    return [
        Ratio(f"{what}: time of faiss's", dask / alone, 2, note=f"{dask:.1f} s and {alone:.1f} s"),
        Ratio(f"{what}: inertia of faiss's", reached[0] / reached[1], 1.01),
    ]


def inertia(X: FloatArray, centers: FloatArray) -> float:
    """Sum of the squared distances to the nearest center."""
    return float(faiss.knn(X, centers, 1)[0].sum(dtype=np.float64))
