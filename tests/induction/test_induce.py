"""Induction: exact if all points are base points, far points, bandwidths."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from reproduction.prototype import exact_induction
from scipy.spatial.distance import cdist

from bitfold.induction import induce, learn_bandwidth
from bitfold.io.rows import Rows
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


# Any data


class Problem(NamedTuple):
    """Stored rows, and a base set relative to their center."""

    rows: Rows
    base: NearestBasePoints
    embedding: FloatArray


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Return rows near a base set; numpy draws them, hypothesis chooses what is unusual."""
    d = draw(st.one_of(st.integers(1, 40), st.integers(1, 2000)))
    m = draw(st.one_of(st.integers(1, 70), st.integers(1, 500)))
    k = draw(st.one_of(st.integers(1, min(m, 10)), st.integers(1, m)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.standard_normal((draw(st.integers(1, 60)), d)) * draw(st.sampled_from([1, 30]))
    dtype: Any = draw(st.sampled_from([np.uint8, np.float32, np.float64]))
    X = np.clip(X + 128, 0, 255) if dtype is np.uint8 else X + draw(st.sampled_from([0, 1e4]))
    stored = X.astype(dtype)
    rows = Rows.centered(stored, "T")
    B = rows.block(0, len(X))[rng.integers(len(X), size=m)]
    if draw(st.booleans()):  # else all base points are rows, and many of them equal
        B = B + rng.standard_normal(B.shape).astype(np.float32)
    if draw(st.booleans()) and dtype is not np.uint8:
        stored[rng.integers(len(X))] *= draw(st.sampled_from([1e3, 1e10, 1e18, 1e30]))
    return Problem(
        rows,
        NearestBasePoints(B, k),
        rng.standard_normal((m, draw(st.integers(1, 70)))).astype(np.float32),
    )


@settings(max_examples=150)
@given(problems(), st.data())
def test_one_row_at_a_time_equals_all_at_once(problem: Problem, data: st.DataObject) -> None:
    rows, base, embedding = problem
    n = len(rows)
    bandwidth = data.draw(st.sampled_from([0.1, 1.0, 100.0]))
    cuts = data.draw(st.lists(st.integers(0, n), max_size=4).map(sorted))

    def induced(bounds: list[int]) -> NDArray[np.uint32]:
        parts = [
            induce(base.find(rows.block(start, stop)), embedding, bandwidth)
            for start, stop in itertools.pairwise(bounds)
        ]
        return np.concatenate(parts).view(np.uint32)

    whole = induced([0, n])
    assert np.isfinite(whole.view(np.float32)).all()
    np.testing.assert_array_equal(induced(list(range(n + 1))), whole)
    np.testing.assert_array_equal(induced([0, *cuts, n]), whole)


@given(problems())
def test_neighbors_are_nearest_within_rounding(problem: Problem) -> None:
    X = problem.rows.block(0, len(problem.rows))
    B, k = problem.base.points, problem.base.k
    found = problem.base.find(X)
    distances = cdist(X.astype(np.float64), B.astype(np.float64), "sqeuclidean")
    expected = np.sort(distances, axis=1)[:, :k]
    got = np.take_along_axis(distances, found.indices.astype(np.int64), axis=1)
    # The rounding of float32 sums of d terms.
    loose = {"rtol": 2e-7 * (X.shape[1] + 10), "atol": 1e-30}
    np.testing.assert_allclose(got, expected, **loose)
    np.testing.assert_allclose(found.sq_distances, expected, **loose)
    assert (np.diff(found.sq_distances, axis=1) >= 0).all()
    assert all(len(set(row)) == k for row in found.indices.tolist())


@given(st.integers(1, 12), st.integers(1, 150), st.integers(1, 150), st.integers(0, 2**32))
def test_whole_numbers_tie_exactly_and_go_by_index(d: int, m: int, k: int, seed: int) -> None:
    # With small whole numbers float32 does not round, and there is only one answer.
    rng = np.random.default_rng(seed)
    B, X = (rng.integers(-2, 3, (rows, d)).astype(np.float32) for rows in (m, 20))
    found = NearestBasePoints(B, k).find(X)
    distances = ((X[:, None] - B) ** 2).sum(axis=2)
    expected = np.argsort(distances, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(found.indices, expected)
    np.testing.assert_array_equal(
        found.sq_distances, np.take_along_axis(distances, expected, axis=1)
    )
