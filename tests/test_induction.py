"""Induction: the exact form where the base set is all points, ties, far points, bandwidths."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from reproduction.prototype import exact_induction
from scipy.spatial.distance import cdist

from bitfold.induction import BaseSet, Neighbors, learn_bandwidth
from bitfold.induction.induce import MANY

FloatArray = NDArray[np.float32]


def cloud(n: int, d: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


# Against Eq. (4)


@pytest.mark.parametrize("k", [1, 3, 20, 31, 32, 100])
@pytest.mark.parametrize("bandwidth", [0.1, 1.0, 10.0])
def test_with_all_points_as_base_set_it_is_exact(k: int, bandwidth: float) -> None:
    B, Y, X = cloud(100, 5), cloud(100, 8, 1), cloud(40, 5, 2)
    got = BaseSet(B, k).induce(X, Y, bandwidth)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, exact_induction(X, B, Y, k, bandwidth), atol=1e-4)


def test_a_base_point_of_a_small_bandwidth_is_its_own_embedding() -> None:
    B, Y = cloud(100, 5), cloud(100, 8, 1)
    np.testing.assert_array_equal(BaseSet(B, 5).induce(B, Y, 1e-3), Y)
    np.testing.assert_array_equal(BaseSet(B, 1).induce(B, Y, 1.0), Y)


def test_a_large_bandwidth_is_the_plain_mean() -> None:
    B, Y, X = cloud(100, 5), cloud(100, 8, 1), cloud(40, 5, 2)
    base = BaseSet(B, 4)
    expected = Y[base.neighbors(X).indices].mean(axis=1)
    np.testing.assert_allclose(base.induce(X, Y, 1e6), expected, atol=1e-6)


@pytest.mark.parametrize("bandwidth", [1e-300, 1e-170, 1e-40, 1e170, 1e300])
def test_no_bandwidth_is_too_small_or_too_large(bandwidth: float) -> None:
    B, Y, X = cloud(50, 5), cloud(50, 8, 1), cloud(20, 5, 2)
    base = BaseSet(B, 4)
    found = base.neighbors(X).indices
    expected = Y[found[:, 0]] if bandwidth < 1 else Y[found].mean(axis=1)
    np.testing.assert_allclose(base.induce(X, Y, bandwidth), expected, atol=1e-6)


def test_the_mean_stays_within_its_base_points() -> None:
    B, Y, X = cloud(60, 3), cloud(60, 2, 1), cloud(200, 3, 2) * 3
    base = BaseSet(B, 5)
    got, around = base.induce(X, Y, 0.7), Y[base.neighbors(X).indices]
    assert (got >= around.min(axis=1) - 1e-6).all()
    assert (got <= around.max(axis=1) + 1e-6).all()


# The nearest base points


@pytest.mark.parametrize("m", [1, 2, 31, 32, 33, 64, 65, 200])
@pytest.mark.parametrize("k", [1, 5, 31, 32, 500])
def test_neighbors_are_the_nearest(m: int, k: int) -> None:
    B, X = cloud(m, 7), cloud(30, 7, 1)
    found = BaseSet(B, k).neighbors(X)
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
    found = BaseSet(B, k).neighbors(X)
    nearest = np.argsort(cdist(X, B[:4]), axis=1)
    expected = np.concatenate(
        [nearest[:, [rank]] + 4 * np.arange(copies) for rank in range(4)], axis=1
    )
    np.testing.assert_array_equal(found.indices, expected[:, : min(k, 4 * copies)])


def test_all_base_points_alike() -> None:
    base = BaseSet(np.ones((100, 3), np.float32), 5)
    found = base.neighbors(cloud(4, 3))
    np.testing.assert_array_equal(found.indices, np.tile(np.arange(5), (4, 1)))
    got = base.induce(cloud(4, 3), np.eye(100, dtype=np.float32), 1.0)
    np.testing.assert_allclose(got[:, :5], 0.2, rtol=1e-6)


def beside(scale: float, d: int, m: int = 200, n: int = 50) -> tuple[FloatArray, FloatArray]:
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
    B, X = beside(scale, d)
    few, many = BaseSet(B, 5).neighbors(X), BaseSet(B, 40).neighbors(X)
    np.testing.assert_array_equal(few.indices, many.indices[:, :5])
    np.testing.assert_array_equal(few.sq_distances, many.sq_distances[:, :5])


@pytest.mark.parametrize("scale", [1e-30, 1e-22, 1e-20, 1e-18, 1e10, 1e16, 1e20, 1e36])
def test_any_scale_of_the_data(scale: float) -> None:
    B, X = (cloud(100, 8) * np.float32(scale)), (cloud(30, 8, 1) * np.float32(scale))
    few, many = BaseSet(B, 5).neighbors(X), BaseSet(B, 40).neighbors(X)
    np.testing.assert_array_equal(few.indices, many.indices[:, :5])
    assert np.isfinite(few.sq_distances).all()
    if scale > 1e-19:
        expected = np.argsort(cdist(cloud(30, 8, 1), cloud(100, 8)), axis=1)[:, :5]
        np.testing.assert_array_equal(few.indices, expected)


@pytest.mark.parametrize("value", [1e10, 1e18, 1e25, 1e30, 8e37])
def test_a_far_point_has_a_finite_place(value: float) -> None:
    B, Y = cloud(100, 8), cloud(100, 4, 1)
    X = np.concatenate([cloud(3, 8, 2), np.full((1, 8), value, np.float32)])
    X[3, ::2] *= -1
    for k in (5, 40):
        base = BaseSet(B, k)
        got = base.induce(X, Y, 1.0)
        assert np.isfinite(got).all()
        assert np.isfinite(base.neighbors(X).sq_distances).all()
        # Its presence moves nobody.
        np.testing.assert_array_equal(got[:3], base.induce(X[:3], Y, 1.0))


def test_a_far_base_point_disturbs_nobody() -> None:
    B, Y, X = cloud(100, 8), cloud(100, 4, 1), cloud(30, 8, 2)
    B[17] = 1e30
    without = np.delete(np.arange(100), 17)
    np.testing.assert_array_equal(
        BaseSet(B, 5).neighbors(X).indices,
        without[BaseSet(B[without], 5).neighbors(X).indices],
    )
    assert np.isfinite(BaseSet(B, 5).induce(X, Y, 1.0)).all()
    found = BaseSet(B, 1).neighbors(np.full((1, 8), 9e29, np.float32))
    assert found.indices.tolist() == [[17]]


def test_no_rows_give_no_rows() -> None:
    base = BaseSet(cloud(10, 3), 4)
    assert base.induce(np.empty((0, 3), np.float32), cloud(10, 2), 1.0).shape == (0, 2)


def test_read_only_arrays_will_do() -> None:
    B, Y, X = cloud(100, 5), cloud(100, 8, 1), cloud(40, 5, 2)
    expected = BaseSet(B, 5).induce(X, Y, 1.0)
    for array in (B, Y, X):
        array.flags["W"] = False
    np.testing.assert_array_equal(BaseSet(B, 5).induce(X, Y, 1.0), expected)


# The bandwidth


def test_bandwidth_is_the_mean_excess_of_squared_distances() -> None:
    d = np.array([[1.0, 2.0, 6.0], [0.0, 4.0, 8.0]])
    got = learn_bandwidth(Neighbors(np.zeros(d.shape, np.int32), d))
    assert got == pytest.approx(math.sqrt((0 + 1 + 5 + 0 + 4 + 8) / 6))


def test_noise_in_directions_of_its_own_changes_no_bandwidth() -> None:
    B, X = cloud(50, 4), cloud(500, 4, 1)
    noise = cloud(500, 100, 2)
    wide = np.concatenate([B, np.zeros((50, 100), np.float32)], axis=1)
    plain = learn_bandwidth(BaseSet(B, 5).neighbors(X))
    noisy = learn_bandwidth(BaseSet(wide, 5).neighbors(np.concatenate([X, noise], axis=1)))
    assert noisy == pytest.approx(plain, rel=1e-4)


@pytest.mark.parametrize("k", [1, 3])
def test_without_differences_any_bandwidth_will_do(k: int) -> None:
    base = BaseSet(np.ones((10, 2), np.float32), k)
    assert learn_bandwidth(base.neighbors(cloud(5, 2))) == 1.0


def test_many_base_points_have_weights_that_reach_farther() -> None:
    d = np.array([[0.0, 1.0, 3.0]])
    found = Neighbors(np.zeros(d.shape, np.int32), d)
    assert learn_bandwidth(found, 8000) == pytest.approx(2 * learn_bandwidth(found, 1000))
    assert learn_bandwidth(found, 10) == learn_bandwidth(found)


# Very many base points


@pytest.fixture(scope="module")
def many() -> FloatArray:
    """Points on a curved sheet in 150 dimensions."""
    rng = np.random.default_rng(3)
    waves = 0.4 * rng.standard_normal((6, 150))
    return np.sin(rng.uniform(-2, 2, (MANY + 500, 6)) @ waves).astype(np.float32)


def test_lists_that_would_miss_too_many_are_not_used(many: FloatArray) -> None:
    noise = cloud(len(many), 150)
    assert BaseSet(noise, 5)._lists is None
    assert BaseSet(noise, 5).width == len(noise)
    assert BaseSet(many, 5)._lists is not None


@pytest.mark.parametrize("width", [150, 40, 6])
def test_of_many_base_points_nearly_all_the_nearest_are_found(many: FloatArray, width: int) -> None:
    B, X = many[:, :width].copy(), many[::3, :width] + 0.05 * cloud(1, width)
    found = BaseSet(B, 5).neighbors(X)
    distances = cdist(X, B, "sqeuclidean")
    nearest = np.argsort(distances, axis=1)[:, :5]
    agree = (found.indices[:, :, None] == nearest[:, None]).any(axis=1).mean()
    assert agree >= 0.995
    np.testing.assert_allclose(
        found.sq_distances, np.take_along_axis(distances, found.indices, 1), rtol=1e-4, atol=1e-5
    )
    assert (np.diff(found.sq_distances, axis=1) >= 0).all()


def test_a_row_finds_the_same_in_any_company(many: FloatArray) -> None:
    base, X = BaseSet(many, 5), many[:200] + 0.1
    whole = base.neighbors(X)
    again = BaseSet(many.copy(), 5)
    for first, size in ((0, 1), (17, 3), (100, 64)):
        part = again.neighbors(np.ascontiguousarray(X[first : first + size]))
        np.testing.assert_array_equal(part.indices, whole.indices[first : first + size])
        np.testing.assert_array_equal(part.sq_distances, whole.sq_distances[first : first + size])


def test_rows_far_away_from_many_base_points_are_measured_too(many: FloatArray) -> None:
    X = np.concatenate([many[:2] * np.float32(1e18), many[:2] * np.float32(1e30), many[:2] * 0])
    found = BaseSet(many, 5).neighbors(np.ascontiguousarray(X, np.float32))
    assert np.isfinite(found.sq_distances).all()
    distances = cdist(X.astype(np.float64), many.astype(np.float64), "sqeuclidean")
    np.testing.assert_array_equal(found.indices[2:4, 0], distances[2:4].argmin(axis=1))
    assert (found.indices >= 0).all()


def test_many_equal_base_points_are_no_trouble() -> None:
    B = np.zeros((MANY + 10, 150), np.float32)
    B[0, 0] = 1
    found = BaseSet(B, 5).neighbors(cloud(4, 150))
    assert (found.indices >= 0).all()
    assert all(len(set(row)) == 5 for row in found.indices.tolist())
