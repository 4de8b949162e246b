"""Nearest base points: exact, with inverted lists, block by block, and counted in pairs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from bitfold import neighbors
from bitfold.errors import ParameterError
from bitfold.induction import induce
from bitfold.io.rows import Rows
from bitfold.neighbors import (
    MAX_EXHAUSTIVE_POINTS,
    NearestBasePoints,
    NeighborBlocks,
    Neighbors,
    count_cooccurrences,
    index_base_points,
)

FloatArray = NDArray[np.float32]


def cloud(n: int, d: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


# Exact search


@pytest.mark.parametrize("m", [1, 2, 31, 32, 33, 64, 65, 200])
@pytest.mark.parametrize("k", [1, 5, 31, 32, 500])
def test_neighbors_are_the_nearest(m: int, k: int) -> None:
    B, X = cloud(m, 7), cloud(30, 7, 1)
    found = NearestBasePoints(B, k).find(X)
    k = min(k, m)
    distances = cdist(X, B, "sqeuclidean")
    assert found.indices.shape == found.sq_distances.shape == (30, k)
    np.testing.assert_array_equal(found.indices, np.argsort(distances, axis=1)[:, :k])
    np.testing.assert_allclose(found.sq_distances, np.sort(distances, axis=1)[:, :k], rtol=1e-5)


@pytest.mark.parametrize("k", [1, 5, 31, 40])
@pytest.mark.parametrize("copies", [2, 20, 200])
def test_ties_go_by_index(copies: int, k: int) -> None:
    # Every base point many times over: more exact ties than a row may have candidates.
    B = np.concatenate([cloud(4, 6)] * copies)
    X = cloud(20, 6, 1)
    found = NearestBasePoints(B, k).find(X)
    nearest = np.argsort(cdist(X, B[:4]), axis=1)
    expected = np.concatenate(
        [nearest[:, [rank]] + 4 * np.arange(copies) for rank in range(4)], axis=1
    )
    np.testing.assert_array_equal(found.indices, expected[:, : min(k, 4 * copies)])


def test_equal_base_points() -> None:
    base = NearestBasePoints(np.ones((100, 3), np.float32), 5)
    found = base.find(cloud(4, 3))
    np.testing.assert_array_equal(found.indices, np.tile(np.arange(5), (4, 1)))
    got = induce(base.find(cloud(4, 3)), np.eye(100, dtype=np.float32), 1.0)
    np.testing.assert_allclose(got[:, :5], 0.2, rtol=1e-6)


def far_rows(scale: float, d: int, m: int = 200, n: int = 50) -> tuple[FloatArray, FloatArray]:
    """Rows ``scale`` times as far as the base set is wide, and to the side where it is flat."""
    rng = np.random.default_rng(0)
    away = rng.standard_normal(d)
    away /= np.linalg.norm(away)
    B = rng.standard_normal((m, d))
    B -= (1 - 1e-3) * np.outer(B @ away, away)
    X = scale * np.outer(rng.uniform(1, 2, n), away)
    return B.astype(np.float32), X.astype(np.float32)


@pytest.mark.parametrize("d", [16, 300])
@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4, 1e6, 1e12, 1e30])
def test_fewer_neighbors_are_the_first_of_more(scale: float, d: int) -> None:
    # 40 neighbors are found by measuring all, 5 by proposing and measuring a few.
    B, X = far_rows(scale, d)
    few, many = NearestBasePoints(B, 5).find(X), NearestBasePoints(B, 40).find(X)
    np.testing.assert_array_equal(few.indices, many.indices[:, :5])
    np.testing.assert_array_equal(few.sq_distances, many.sq_distances[:, :5])


@pytest.mark.parametrize("scale", [1e-30, 1e-22, 1e-20, 1e-18, 1e10, 1e16, 1e20, 1e36])
def test_any_scale_of_the_data(scale: float) -> None:
    B, X = (cloud(100, 8) * np.float32(scale)), (cloud(30, 8, 1) * np.float32(scale))
    few, many = NearestBasePoints(B, 5).find(X), NearestBasePoints(B, 40).find(X)
    np.testing.assert_array_equal(few.indices, many.indices[:, :5])
    assert np.isfinite(few.sq_distances).all()
    if scale > 1e-19:
        expected = np.argsort(cdist(cloud(30, 8, 1), cloud(100, 8)), axis=1)[:, :5]
        np.testing.assert_array_equal(few.indices, expected)


def test_a_far_base_point_does_not_affect_others() -> None:
    B, Y, X = cloud(100, 8), cloud(100, 4, 1), cloud(30, 8, 2)
    B[17] = 1e30
    without = np.delete(np.arange(100), 17)
    np.testing.assert_array_equal(
        NearestBasePoints(B, 5).find(X).indices,
        without[NearestBasePoints(B[without], 5).find(X).indices],
    )
    assert np.isfinite(induce(NearestBasePoints(B, 5).find(X), Y, 1.0)).all()
    found = NearestBasePoints(B, 1).find(np.full((1, 8), 9e29, np.float32))
    assert found.indices.tolist() == [[17]]


# Inverted lists


@pytest.fixture(scope="module")
def many() -> FloatArray:
    """Points on a curved sheet in 150 dimensions."""
    rng = np.random.default_rng(3)
    waves = 0.4 * rng.standard_normal((6, 150))
    return np.sin(rng.uniform(-2, 2, (MAX_EXHAUSTIVE_POINTS + 500, 6)) @ waves).astype(np.float32)


def test_inaccurate_lists_are_not_used(many: FloatArray) -> None:
    noise = cloud(len(many), 150)
    assert NearestBasePoints(noise, 5)._lists is None
    assert NearestBasePoints(noise, 5).floats_per_row == len(noise)
    assert NearestBasePoints(many, 5)._lists is not None


@pytest.mark.parametrize("width", [150, 40, 6])
def test_lists_find_nearly_all_neighbors(many: FloatArray, width: int) -> None:
    B, X = many[:, :width].copy(), many[::3, :width] + 0.05 * cloud(1, width)
    found = NearestBasePoints(B, 5).find(X)
    distances = cdist(X, B, "sqeuclidean")
    nearest = np.argsort(distances, axis=1)[:, :5]
    agree = (found.indices[:, :, None] == nearest[:, None]).any(axis=1).mean()
    assert agree >= 0.995
    np.testing.assert_allclose(
        found.sq_distances, np.take_along_axis(distances, found.indices, 1), rtol=1e-4, atol=1e-5
    )
    assert (np.diff(found.sq_distances, axis=1) >= 0).all()


def test_neighbors_do_not_depend_on_the_batch(many: FloatArray) -> None:
    base, X = NearestBasePoints(many, 5), many[:200] + 0.1
    whole = base.find(X)
    again = NearestBasePoints(many.copy(), 5)
    for first, size in ((0, 1), (17, 3), (100, 64)):
        part = again.find(np.ascontiguousarray(X[first : first + size]))
        np.testing.assert_array_equal(part.indices, whole.indices[first : first + size])
        np.testing.assert_array_equal(part.sq_distances, whole.sq_distances[first : first + size])


def test_far_rows_are_measured_with_lists(many: FloatArray) -> None:
    X = np.concatenate([many[:2] * np.float32(1e18), many[:2] * np.float32(1e30), many[:2] * 0])
    found = NearestBasePoints(many, 5).find(np.ascontiguousarray(X, np.float32))
    assert np.isfinite(found.sq_distances).all()
    distances = cdist(X.astype(np.float64), many.astype(np.float64), "sqeuclidean")
    np.testing.assert_array_equal(found.indices[2:4, 0], distances[2:4].argmin(axis=1))
    assert (found.indices >= 0).all()


def test_many_equal_base_points() -> None:
    B = np.zeros((MAX_EXHAUSTIVE_POINTS + 10, 150), np.float32)
    B[0, 0] = 1
    found = NearestBasePoints(B, 5).find(cloud(4, 150))
    assert (found.indices >= 0).all()
    assert all(len(set(row)) == 5 for row in found.indices.tolist())


# Base sets that are checked


def test_an_index_has_at_most_all_base_points() -> None:
    assert index_base_points(cloud(5, 2), 3, "T").k == 3
    with pytest.warns(UserWarning, match="n_neighbors=9 is more than the 5 base points"):
        assert index_base_points(cloud(5, 2), 9, "T").k == 5


def test_an_index_needs_two_points() -> None:
    with pytest.raises(ParameterError, match="base of T must be at least 2 distinct points, got 1"):
        index_base_points(cloud(1, 2), 1, "T")


# Block by block


def test_blocks_cover_all_rows_in_order() -> None:
    X = cloud(10_000, 3)
    rows, nearest = Rows.centered(X, "T"), NearestBasePoints(cloud(20, 3, 1), 4)
    blocks = NeighborBlocks(rows, nearest)
    assert (len(blocks), blocks.k) == (10_000, 4)
    found = list(blocks)
    assert len(found) > 1
    indices = np.concatenate([block.indices for block in found])
    np.testing.assert_array_equal(indices, nearest.find(rows.block(0, 10_000)).indices)


def test_a_sample_of_blocks_is_spread_over_the_rows() -> None:
    X = np.arange(60_000.0)[:, None]
    rows = Rows.centered(X, "T")
    nearest = NearestBasePoints(rows.block(0, 60_000)[::6000].copy(), 1)
    found = np.concatenate([b.indices for b in NeighborBlocks(rows, nearest).sample(15_000)])
    assert 10_000 <= len(found) <= 30_000
    assert {0, 5, 9} <= set(found[:, 0].tolist())
    everything = np.concatenate([b.indices for b in NeighborBlocks(rows, nearest).sample(10**6)])
    assert len(everything) == 60_000


# Pairs


def test_cooccurrences_are_relative_to_the_rows_of_both() -> None:
    indices = np.array([[0, 1, 2], [0, 1, 2], [1, 2, 0], [2, 1, 0]], np.int32)
    got = count_cooccurrences([Neighbors(indices, np.zeros(indices.shape))], 3).toarray()
    sizes = np.array([2, 1, 1]) + 1
    counts = np.array([[0, 3, 3], [3, 0, 2], [3, 2, 0]])
    np.testing.assert_allclose(got, counts / np.sqrt(np.outer(sizes, sizes)))


def test_cooccurrences_do_not_depend_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    nearest = NearestBasePoints(cloud(30, 3), 5)
    whole = nearest.find(cloud(900, 3, 1))
    parts = [
        Neighbors(whole.indices[i : i + 50], whole.sq_distances[i : i + 50])
        for i in range(0, 900, 50)
    ]
    expected = count_cooccurrences([whole], 30).toarray()
    monkeypatch.setattr(neighbors, "_MAX_PENDING_PAIRS", 300)
    np.testing.assert_array_equal(count_cooccurrences(parts, 30).toarray(), expected)
