"""Dask with two worker processes of one thread each, against the same work in this process.

It runs only when it is named, because it starts a cluster and its data are large.
"""

from __future__ import annotations

from typing import Any

import dask.array as da
import faiss
import numpy as np
from numpy.typing import NDArray

import bitfold as bf
from benchmarks.data import load_sift_vectors, make_hasher
from benchmarks.measuring import Ratio, start_dask_workers, time_both
from bitfold import distributed
from distributed import Client

FloatArray = NDArray[np.float32]

BLOCK_ROWS = 50_000
N_BASE_POINTS = 400


def run() -> list[Ratio]:
    """Return all ratios; SIFT-1M-photos is used if it is available, else clustered noise."""
    X = load_vectors()
    with start_dask_workers(2):
        remote = scatter_rows(X)
        return [*compare_encode(X, remote), *compare_kmeans(X, remote)]


def load_vectors() -> FloatArray:
    """Return 1,000,000 × 128 float32 values."""
    vectors = load_sift_vectors()
    if vectors is not None:
        return np.asarray(vectors, np.float32)
    rng = np.random.default_rng(0)
    centers = rng.random((1000, 128), dtype=np.float32)
    noise = np.float32(0.1) * rng.standard_normal((1_000_000, 128), dtype=np.float32)
    return noise + centers[rng.integers(1000, size=len(noise))]


def scatter_rows(X: FloatArray) -> da.Array:
    """Return the rows as a Dask array, half of it in the memory of each worker."""
    client = Client.current()
    workers = list(client.scheduler_info()["workers"])
    blocks = [
        da.from_delayed(
            client.scatter(X[i : i + BLOCK_ROWS], workers=[workers[i // BLOCK_ROWS % 2]]),
            X[i : i + BLOCK_ROWS].shape,
            X.dtype,
        )
        for i in range(0, len(X), BLOCK_ROWS)
    ]
    return da.concatenate(blocks)


def compare_encode(X: FloatArray, remote: da.Array) -> list[Ratio]:
    """Compare encoding, including fetching the codes, with two threads of this process."""
    hasher = make_hasher(N_BASE_POINTS).fit(X[:100_000])
    codes: dict[str, Any] = {}

    def encode_with_dask() -> None:
        codes["dask"] = distributed.encode(hasher, remote).compute()

    def encode_locally() -> None:
        codes["local"] = hasher.encode(X).packed

    encode_with_dask()
    dask, local = time_both(encode_with_dask, encode_locally, n_runs=5)
    is_equal = np.array_equal(codes["dask"], codes["local"])
    name = "encode 1,000,000 × 128, m=400, 2 workers against 2 threads"
    note = f"{dask:.2f} s, local {local:.2f} s"
    return [
        Ratio(f"{name}: rate", local / dask, 0.75, at_least=True, note=note),
        Ratio(f"{name}: equal bytes", float(is_equal), 1, at_least=True),
    ]


def compare_kmeans(X: FloatArray, remote: da.Array) -> list[Ratio]:
    """Compare time and inertia of 20 iterations on all rows with faiss on all cores.

    The rest of the fit, with PCA and without a rotation, takes little time.
    """
    base = distributed.DaskKMeansBase(N_BASE_POINTS, max_iter=20)
    hasher = bf.IMH(8, base=base, embedding="pca", rotation=None, random_state=0)
    centered = X - X.mean(axis=0, dtype=np.float64).astype(np.float32)
    kmeans = faiss.Kmeans(
        X.shape[1], N_BASE_POINTS, niter=20, seed=0, max_points_per_centroid=len(X)
    )
    dask, local = time_both(
        lambda: distributed.fit(hasher, remote), lambda: kmeans.train(centered), n_runs=2
    )
    ours = measure_inertia(centered, hasher.base_set_)
    theirs = measure_inertia(centered, np.asarray(kmeans.centroids))
    name = "K-means 1,000,000 × 128, m=400, 20 iterations, 2 workers"
    note = f"{dask:.1f} s and {local:.1f} s"
    return [
        Ratio(f"{name}: time of faiss", dask / local, 2, note=note),
        Ratio(f"{name}: inertia of faiss", ours / theirs, 1.01),
    ]


def measure_inertia(X: FloatArray, centers: FloatArray) -> float:
    """Return the sum of the squared distances to the nearest center."""
    return float(faiss.knn(X, centers, 1)[0].sum(dtype=np.float64))
