"""K-means on the workers: as good as in memory, and the same whoever computes it."""

from __future__ import annotations

import dask
import dask.array as da
import faiss
import numpy as np
import pytest
from numpy.typing import NDArray

import bitfold as bf
from bitfold import distributed
from bitfold._kernels.clusters import add_rows
from bitfold.distributed import DaskKMeansBase
from bitfold.distributed._passes import Picked, Sums, uniforms
from bitfold.distributed._rows import DaskRows
from bitfold.distributed.kmeans import filled, moved
from distributed import Client

FloatArray = NDArray[np.float32]


def rows_of(array: da.Array) -> DaskRows:
    return DaskRows.of(array.rechunk({1: -1}), "the test")


def inertia(X: FloatArray, centers: FloatArray) -> float:
    return float(faiss.knn(X, centers, 1)[0].sum(dtype=np.float64))


@pytest.mark.parametrize("sample", [None, 4000])
def test_the_centers_serve_as_well_as_those_of_faiss(
    sample: int | None, client: Client, X: FloatArray, remote: da.Array
) -> None:
    rows = rows_of(remote)
    steps: list[tuple[int, int]] = []
    chosen = DaskKMeansBase(50, max_iter=10, sample=sample).choose(
        rows, rng=0, on_step=lambda *told: steps.append(told)
    )
    assert chosen.shape == (50, 24)
    assert chosen.dtype == np.float32
    peer = bf.KMeansBase(50, max_iter=10).choose(X - rows.center, rng=0)
    assert inertia(X - rows.center, chosen) <= 1.01 * inertia(X - rows.center, peer)
    assert [done for done, _ in steps] == list(range(1, 28))
    assert {total for _, total in steps} == {27}


def test_the_blocks_matter_only_in_the_last_place(client: Client, X: FloatArray) -> None:
    one, other = (
        DaskKMeansBase(20, max_iter=3).choose(rows_of(da.from_array(X, chunks=(length, 24))), rng=1)
        for length in (777, 2048)
    )
    assert np.allclose(one, other, rtol=1e-5, atol=1e-5)


def test_a_cluster_and_the_threads_of_this_process_agree(client: Client, remote: da.Array) -> None:
    there = DaskKMeansBase(20, max_iter=3).choose(rows_of(remote), rng=1)
    with dask.config.set(scheduler="synchronous"):
        here = DaskKMeansBase(20, max_iter=3).choose(rows_of(remote), rng=1)
    assert np.array_equal(there, here)


def test_few_rows_are_left_to_the_strategy_in_memory(client: Client, X: FloatArray) -> None:
    rows = rows_of(da.from_array(X[:640], chunks=(100, 24)))
    chosen = DaskKMeansBase(10).choose(rows, rng=3)
    assert np.array_equal(chosen, bf.KMeansBase(10).choose(X[:640] - rows.center, rng=3))


def test_rows_in_memory_are_left_to_the_strategy_in_memory(X: FloatArray) -> None:
    chosen = DaskKMeansBase(10).choose(X, rng=3)
    assert np.array_equal(chosen, bf.KMeansBase(10).choose(X, rng=3))


def test_no_more_distinct_rows_than_points_are_the_base_set(client: Client) -> None:
    few = np.random.default_rng(0).standard_normal((12, 5)).astype(np.float32)
    many = few[np.random.default_rng(1).integers(12, size=2000)]
    rows = rows_of(da.from_array(many, chunks=(300, 5)))
    expected = np.unique(many - rows.center, axis=0)
    exact = DaskKMeansBase(12).choose(rows, rng=0)
    assert np.array_equal(np.unique(exact, axis=0), expected)
    with pytest.warns(UserWarning, match="20 base points were asked for, but there are only 12"):
        all_of_them = DaskKMeansBase(20).choose(rows, rng=0)
    assert np.array_equal(np.unique(all_of_them, axis=0), expected)


def test_rows_that_a_sample_misses_are_found(client: Client) -> None:
    rare = np.random.default_rng(0).standard_normal((30, 5)).astype(np.float32)
    many = np.concatenate([np.zeros((20_000, 5), np.float32), rare])
    rows = rows_of(da.from_array(many, chunks=(3000, 5)))
    exact = DaskKMeansBase(31).choose(rows, rng=0)
    assert np.array_equal(np.unique(exact, axis=0), np.unique(many - rows.center, axis=0))


def test_every_center_serves_a_row(client: Client) -> None:
    rng = np.random.default_rng(0)
    many = np.round(rng.standard_normal((3000, 2)), 1).astype(np.float32)  # a lot of repetition
    rows = rows_of(da.from_array(many, chunks=(500, 2)))
    centers = DaskKMeansBase(40, max_iter=2).choose(rows, rng=0)
    _, nearest = faiss.knn(many - rows.center, centers, 1)
    assert len(np.unique(nearest)) == 40


def test_random_numbers_belong_to_rows() -> None:
    whole = uniforms(7, 0, 100)
    assert np.array_equal(whole[37:], uniforms(7, 37, 63))
    assert not np.array_equal(whole, uniforms(8, 0, 100))
    assert 0 <= whole.min() < whole.max() < 1


def test_sums_of_clusters() -> None:
    values = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    totals, counts = np.zeros((3, 2)), np.zeros(3)
    add_rows(values, np.array([1, 0, 1], np.int32), np.array([1.0, 2, 3]), totals, counts)
    assert totals.tolist() == [[6, 8], [16, 20], [0, 0]]
    assert counts.tolist() == [2, 4, 0]


def test_a_center_without_rows_moves_to_the_worst_served() -> None:
    worst = Picked(np.array([-9.0, -9, -4]), np.array([[9], [9], [5]], np.float32))
    found = Sums(np.array([[6.0], [0], [0], [0]]), np.array([2.0, 0, 0, 0]), worst)
    centers = np.array([[0], [1], [2], [3]], np.float32)
    assert moved(centers, found).tolist() == [[3], [9], [5], [3]]
    assert filled(centers, found).tolist() == [[0], [9], [5], [3]]
    assert centers.tolist() == [[0], [1], [2], [3]]


@pytest.mark.parametrize(
    ("strategy", "sentence"),
    [
        (DaskKMeansBase(0), "m of DaskKMeansBase must be at least 1, got 0."),
        (DaskKMeansBase(5, max_iter=0), "max_iter of DaskKMeansBase must be at least 1, got 0."),
        (DaskKMeansBase(5, sample=9), "sample of DaskKMeansBase must be at least 320, got 9."),
    ],
)
def test_parameters_out_of_range_are_refused(strategy: DaskKMeansBase, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        strategy.choose(np.zeros((9, 2)))
    assert str(caught.value) == sentence


def test_a_model_with_it_can_be_saved_and_loaded(
    client: Client, X: FloatArray, remote: da.Array, tmp_path: object
) -> None:
    base = DaskKMeansBase(20, max_iter=2)
    hasher = distributed.fit(bf.IMH(8, base=base, embedding="pca", random_state=0), remote)
    hasher.save(f"{tmp_path}/model")
    again = bf.load(f"{tmp_path}/model")
    assert again.get_params()["base__max_iter"] == 2
    assert again.encode(X) == hasher.encode(X)
