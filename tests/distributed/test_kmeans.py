"""k-means on the workers: as good as in memory, and independent of the workers."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import faiss
import numpy as np
import pytest
from numpy.typing import NDArray

import bitfold as bf
from bitfold import distributed
from bitfold.distributed import DaskKMeansBase
from bitfold.distributed._dask_rows import DaskRows
from bitfold.distributed._kmeans_passes import ClusterSums, KeyedRows
from bitfold.distributed.kmeans import move_centers, move_empty_centers
from bitfold.errors import ParameterError
from distributed import Client

FloatArray = NDArray[np.float32]


def make_rows(array: da.Array) -> DaskRows:
    return DaskRows.from_array(array.rechunk({1: -1}), "the test")


def choose_points(strategy: bf.KMeansBase, X: Any, **options: Any) -> FloatArray:
    return strategy.choose(X, **options).points


def inertia(X: FloatArray, centers: FloatArray) -> float:
    return float(faiss.knn(X, centers, 1)[0].sum(dtype=np.float64))


@pytest.mark.parametrize("sample", [None, 4000])
def test_centers_are_as_good_as_in_memory(
    sample: int | None, client: Client, X: FloatArray, remote: da.Array
) -> None:
    rows = make_rows(remote)
    steps: list[tuple[int, int]] = []
    chosen = choose_points(
        DaskKMeansBase(50, max_iter=10, sample=sample),
        rows,
        rng=0,
        on_step=lambda *step: steps.append(step),
    )
    assert chosen.shape == (50, 24)
    assert chosen.dtype == np.float32
    peer = choose_points(bf.KMeansBase(50, max_iter=10), X - rows.center, rng=0)
    assert inertia(X - rows.center, chosen) <= 1.01 * inertia(X - rows.center, peer)
    assert [done for done, _ in steps] == list(range(1, 28))
    assert {total for _, total in steps} == {27}


def test_blocks_only_affect_rounding(client: Client, X: FloatArray) -> None:
    one, other = (
        choose_points(
            DaskKMeansBase(20, max_iter=3), make_rows(da.from_array(X, chunks=(length, 24))), rng=1
        )
        for length in (777, 2048)
    )
    assert np.allclose(one, other, rtol=1e-5, atol=1e-5)


def test_cluster_and_threads_agree(client: Client, remote: da.Array) -> None:
    there = choose_points(DaskKMeansBase(20, max_iter=3), make_rows(remote), rng=1)
    with dask.config.set(scheduler="synchronous"):
        here = choose_points(DaskKMeansBase(20, max_iter=3), make_rows(remote), rng=1)
    assert np.array_equal(there, here)


def test_few_rows_are_clustered_in_memory(client: Client, X: FloatArray) -> None:
    rows = make_rows(da.from_array(X[:640], chunks=(100, 24)))
    chosen = choose_points(DaskKMeansBase(10), rows, rng=3)
    assert np.array_equal(chosen, choose_points(bf.KMeansBase(10), X[:640] - rows.center, rng=3))


def test_rows_in_memory_are_clustered_in_memory(X: FloatArray) -> None:
    chosen = choose_points(DaskKMeansBase(10), X, rng=3)
    assert np.array_equal(chosen, choose_points(bf.KMeansBase(10), X, rng=3))


def test_few_distinct_rows_are_the_base_set(client: Client) -> None:
    few = np.random.default_rng(0).standard_normal((12, 5)).astype(np.float32)
    many = few[np.random.default_rng(1).integers(12, size=2000)]
    rows = make_rows(da.from_array(many, chunks=(300, 5)))
    expected = np.unique(many - rows.center, axis=0)
    exact = choose_points(DaskKMeansBase(12), rows, rng=0)
    assert np.array_equal(np.unique(exact, axis=0), expected)
    with pytest.warns(UserWarning, match=r"20 base points .* only 12"):
        all_of_them = choose_points(DaskKMeansBase(20), rows, rng=0)
    assert np.array_equal(np.unique(all_of_them, axis=0), expected)


def test_rare_rows_are_found(client: Client) -> None:
    rare = np.random.default_rng(0).standard_normal((30, 5)).astype(np.float32)
    many = np.concatenate([np.zeros((20_000, 5), np.float32), rare])
    rows = make_rows(da.from_array(many, chunks=(3000, 5)))
    exact = choose_points(DaskKMeansBase(31), rows, rng=0)
    assert np.array_equal(np.unique(exact, axis=0), np.unique(many - rows.center, axis=0))


def test_every_center_has_rows(client: Client) -> None:
    rng = np.random.default_rng(0)
    many = np.round(rng.standard_normal((3000, 2)), 1).astype(np.float32)  # a lot of repetition
    rows = make_rows(da.from_array(many, chunks=(500, 2)))
    centers = choose_points(DaskKMeansBase(40, max_iter=2), rows, rng=0)
    _, nearest = faiss.knn(many - rows.center, centers, 1)
    assert len(np.unique(nearest)) == 40


def test_center_without_rows_moves_to_the_farthest_row() -> None:
    farthest = KeyedRows(np.array([-9.0, -9, -4]), np.array([[9], [9], [5]], np.float32))
    sums = ClusterSums(np.array([[6.0], [0], [0], [0]]), np.array([2.0, 0, 0, 0]), farthest)
    centers = np.array([[0], [1], [2], [3]], np.float32)
    assert move_centers(centers, sums).tolist() == [[3], [9], [5], [3]]
    assert move_empty_centers(centers, sums).tolist() == [[0], [9], [5], [3]]
    assert centers.tolist() == [[0], [1], [2], [3]]


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (DaskKMeansBase(0), "n_base_points of DaskKMeansBase .* got 0"),
        (DaskKMeansBase(5, max_iter=0), "max_iter of DaskKMeansBase .* got 0"),
        (DaskKMeansBase(5, sample=9), "sample of DaskKMeansBase .* 320, got 9"),
    ],
)
def test_invalid_parameters_raise(strategy: DaskKMeansBase, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        strategy.choose(np.zeros((9, 2)))


def test_model_round_trip(
    client: Client, X: FloatArray, remote: da.Array, tmp_path: object
) -> None:
    base = DaskKMeansBase(20, max_iter=2)
    hasher = distributed.fit(bf.IMH(8, base=base, embedding="pca", random_state=0), remote)
    hasher.save(f"{tmp_path}/model")
    again = bf.load(f"{tmp_path}/model")
    assert again.get_params()["base__max_iter"] == 2
    assert again.encode(X) == hasher.encode(X)
