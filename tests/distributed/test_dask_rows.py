"""Rows on a cluster have the values of rows in memory."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from numpy.typing import NDArray

from bitfold.distributed._dask_rows import DaskRows, RemoteMatrix
from bitfold.io.rows import Rows
from distributed import Client

FloatArray = NDArray[np.float32]


@pytest.fixture
def rows(client: Client, remote: da.Array) -> DaskRows:
    return DaskRows.from_array(remote.rechunk({1: -1}), "the test")


@pytest.fixture(scope="module")
def here(X: FloatArray) -> Rows:
    return Rows.centered(X, "the test")


def test_mean_matches_memory(rows: DaskRows, here: Rows) -> None:
    assert np.array_equal(rows.center, here.center)
    assert len(rows) == 6000
    assert rows.n_features == 24


@pytest.mark.parametrize("first", [0, 77])
@pytest.mark.parametrize("stride", [1, 3, 40])
@pytest.mark.parametrize("step", [100, 1000, 9999])
def test_map_uses_the_blocks_of_memory(
    step: int, stride: int, first: int, rows: DaskRows, here: Rows
) -> None:
    starts = range(first, 6000, step * stride)
    expected = [here.block(start, min(start + step, 6000)).sum(axis=0) for start in starts]
    found = list(
        rows.map(
            lambda values, start: (start, values.sum(axis=0)), step, stride=stride, first=first
        )
    )
    assert [start for start, _ in found] == [start for _, (start, _) in found] == list(starts)
    assert np.array_equal([total for _, (_, total) in found], expected)


def test_blocks_and_rows_match_memory(rows: DaskRows, here: Rows) -> None:
    for start, stop in [(0, 10), (1090, 1110), (0, 6000), (4490, 4510), (5999, 6000)]:
        assert np.array_equal(rows.block(start, stop), here.block(start, stop))
    chosen = np.random.default_rng(0).integers(6000, size=500)  # unordered, with repetition
    assert np.array_equal(rows.take(chosen), here.take(chosen))
    one, other = (data.sample(700, np.random.default_rng(1)) for data in (rows, here))
    assert np.array_equal(one, other)


def test_empty_selections(remote: da.Array) -> None:
    matrix = RemoteMatrix(remote.rechunk({1: -1}))
    assert matrix[5:5].shape == (0, 24)
    assert matrix[6000:7000].shape == (0, 24)
    assert matrix[np.empty(0, int)].shape == (0, 24)
