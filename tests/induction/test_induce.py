"""Induction: exact if all points are base points, far points, bandwidths."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from reproduction.prototype import exact_induction

from bitfold.induction import induce, learn_bandwidth
from bitfold.neighbors import (
    NearestBasePoints,
    Neighbors,
)

FloatArray = NDArray[np.float32]


def cloud(n: int, d: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


@pytest.mark.parametrize("k", [1, 3, 20, 31, 32, 100])
@pytest.mark.parametrize("bandwidth", [0.1, 1.0, 10.0])
def test_induction_equals_eq_4_on_the_base_set(k: int, bandwidth: float) -> None:
    B, Y, X = cloud(100, 5), cloud(100, 8, 1), cloud(40, 5, 2)
    got = induce(NearestBasePoints(B, k).find(X), Y, bandwidth)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, exact_induction(X, B, Y, k, bandwidth), atol=1e-4)


def test_a_base_point_keeps_its_embedding() -> None:
    B, Y = cloud(100, 5), cloud(100, 8, 1)
    np.testing.assert_array_equal(induce(NearestBasePoints(B, 5).find(B), Y, 1e-3), Y)
    np.testing.assert_array_equal(induce(NearestBasePoints(B, 1).find(B), Y, 1.0), Y)


def test_a_large_bandwidth_is_the_plain_mean() -> None:
    B, Y, X = cloud(100, 5), cloud(100, 8, 1), cloud(40, 5, 2)
    base = NearestBasePoints(B, 4)
    expected = Y[base.find(X).indices].mean(axis=1)
    np.testing.assert_allclose(induce(base.find(X), Y, 1e6), expected, atol=1e-6)


@pytest.mark.parametrize("bandwidth", [1e-300, 1e-170, 1e-40, 1e170, 1e300])
def test_any_bandwidth_works(bandwidth: float) -> None:
    B, Y, X = cloud(50, 5), cloud(50, 8, 1), cloud(20, 5, 2)
    base = NearestBasePoints(B, 4)
    found = base.find(X).indices
    expected = Y[found[:, 0]] if bandwidth < 1 else Y[found].mean(axis=1)
    np.testing.assert_allclose(induce(base.find(X), Y, bandwidth), expected, atol=1e-6)


def test_the_mean_lies_between_its_base_points() -> None:
    B, Y, X = cloud(60, 3), cloud(60, 2, 1), cloud(200, 3, 2) * 3
    base = NearestBasePoints(B, 5)
    got, around = induce(base.find(X), Y, 0.7), Y[base.find(X).indices]
    assert (got >= around.min(axis=1) - 1e-6).all()
    assert (got <= around.max(axis=1) + 1e-6).all()


@pytest.mark.parametrize("value", [1e10, 1e18, 1e25, 1e30, 8e37])
def test_a_far_point_has_a_finite_embedding(value: float) -> None:
    B, Y = cloud(100, 8), cloud(100, 4, 1)
    X = np.concatenate([cloud(3, 8, 2), np.full((1, 8), value, np.float32)])
    X[3, ::2] *= -1
    for k in (5, 40):
        base = NearestBasePoints(B, k)
        got = induce(base.find(X), Y, 1.0)
        assert np.isfinite(got).all()
        assert np.isfinite(base.find(X).sq_distances).all()
        # It does not affect other rows.
        np.testing.assert_array_equal(got[:3], induce(base.find(X[:3]), Y, 1.0))


def test_no_rows_give_no_rows() -> None:
    base = NearestBasePoints(cloud(10, 3), 4)
    assert induce(base.find(np.empty((0, 3), np.float32)), cloud(10, 2), 1.0).shape == (0, 2)


def test_read_only_arrays_are_accepted() -> None:
    B, Y, X = cloud(100, 5), cloud(100, 8, 1), cloud(40, 5, 2)
    expected = induce(NearestBasePoints(B, 5).find(X), Y, 1.0)
    for array in (B, Y, X):
        array.flags["W"] = False
    np.testing.assert_array_equal(induce(NearestBasePoints(B, 5).find(X), Y, 1.0), expected)


def test_bandwidth_is_the_mean_difference_of_squared_distances() -> None:
    d = np.array([[1.0, 2.0, 6.0], [0.0, 4.0, 8.0]])
    got = learn_bandwidth(Neighbors(np.zeros(d.shape, np.int32), d))
    assert got == pytest.approx(math.sqrt((0 + 1 + 5 + 0 + 4 + 8) / 6))


def test_noise_in_other_directions_does_not_change_the_bandwidth() -> None:
    B, X = cloud(50, 4), cloud(500, 4, 1)
    noise = cloud(500, 100, 2)
    wide = np.concatenate([B, np.zeros((50, 100), np.float32)], axis=1)
    plain = learn_bandwidth(NearestBasePoints(B, 5).find(X))
    noisy = learn_bandwidth(NearestBasePoints(wide, 5).find(np.concatenate([X, noise], axis=1)))
    assert noisy == pytest.approx(plain, rel=1e-4)


@pytest.mark.parametrize("k", [1, 3])
def test_without_differences_the_bandwidth_is_one(k: int) -> None:
    base = NearestBasePoints(np.ones((10, 2), np.float32), k)
    assert learn_bandwidth(base.find(cloud(5, 2))) == 1.0


def test_the_bandwidth_grows_with_many_base_points() -> None:
    d = np.array([[0.0, 1.0, 3.0]])
    found = Neighbors(np.zeros(d.shape, np.int32), d)
    assert learn_bandwidth(found, 8000) == pytest.approx(2 * learn_bandwidth(found, 1000))
    assert learn_bandwidth(found, 10) == learn_bandwidth(found)
