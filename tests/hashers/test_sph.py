"""Spherical hashing: forces as in the paper, balanced and independent bits, and the distance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from bitfold.codes import Codes
from bitfold.errors import ParameterError
from bitfold.hashers import SpH, sph
from bitfold.hashers.sph import (
    count_overlaps,
    draw_pivots,
    halve_points,
    is_balanced,
    limit_norms,
    move_pivots,
)

DIGITS = load_digits().data
CLOUD = np.random.default_rng(0).standard_normal((3001, 24))


def small(seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((501, 6)).astype("f4"), rng.standard_normal((9, 6)).astype("f4")


# The objective


@pytest.mark.parametrize("X", [DIGITS, CLOUD], ids=["digits", "cloud"])
@pytest.mark.parametrize("n_bits", [8, 40])
def test_bits_are_balanced_and_independent(X: NDArray[Any], n_bits: int) -> None:
    hasher = SpH(n_bits, random_state=0).fit(X)
    bits = hasher.transform(X).astype(np.float64)
    np.testing.assert_allclose(bits.mean(axis=0), 0.5, atol=1 / len(X))
    shared = (bits.T @ bits)[np.triu_indices(n_bits, 1)] / (len(X) / 4)
    assert np.abs(shared - 1).mean() < 0.101
    assert shared.std() < 0.151
    assert 1 < hasher.n_iter_ < 100


def test_initial_spheres_are_worse() -> None:
    start = SpH(16, max_iter=1, random_state=0).fit(DIGITS)
    bits = start.transform(DIGITS).astype(np.float64)
    shared = (bits.T @ bits)[np.triu_indices(16, 1)] / (len(DIGITS) / 4)
    assert np.abs(shared - 1).mean() > 0.2
    assert start.n_iter_ == 1


def test_a_sample_is_enough() -> None:
    bits = SpH(16, n_samples=800, random_state=0).fit(CLOUD).transform(CLOUD).astype(np.float64)
    np.testing.assert_allclose(bits.mean(axis=0), 0.5, atol=0.06)
    shared = (bits.T @ bits)[np.triu_indices(16, 1)] / (len(CLOUD) / 4)
    assert np.abs(shared - 1).mean() < 0.13


def test_iterations_end_when_the_tolerances_are_met() -> None:
    first = SpH(8, random_state=0).fit(DIGITS)
    again = SpH(8, max_iter=first.n_iter_, random_state=0).fit(DIGITS)
    before = SpH(8, max_iter=first.n_iter_ - 1, random_state=0).fit(DIGITS)
    np.testing.assert_array_equal(again.pivots_, first.pivots_)
    assert (before.pivots_ != first.pivots_).any()
    bits = before.transform(DIGITS).astype(np.float32)
    assert not is_balanced(bits.T @ bits, len(DIGITS))


# The steps


def test_spheres_contain_half_of_the_points() -> None:
    points, pivots = small()
    sq_radii, inside = halve_points(pivots, points)
    distances = ((points - pivots[:, None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(sq_radii, np.median(distances, axis=1), rtol=1e-5)
    np.testing.assert_array_equal(inside.sum(axis=1), 250)
    clear = np.abs(distances - sq_radii[:, None]) > 1e-4
    np.testing.assert_array_equal(inside[clear], (distances < sq_radii[:, None])[clear])


def test_many_points_are_measured_block_by_block() -> None:
    points = np.random.default_rng(0).standard_normal((9001, 3)).astype("f4")
    pivots = points[:70]
    together, inside = halve_points(pivots, points)
    for bit in (0, 69):
        alone, one_inside = halve_points(pivots[bit : bit + 1], points)
        np.testing.assert_array_equal(alone[0], together[bit])
        np.testing.assert_array_equal(one_inside[0], inside[bit])


def test_overlaps_are_counted() -> None:
    inside = np.random.default_rng(0).random((5, 200)) < 0.4
    expected = [[int((a & b).sum()) for b in inside] for a in inside]
    np.testing.assert_array_equal(count_overlaps(inside), expected)


def test_forces_follow_the_paper() -> None:
    points, pivots = small()
    n, n_bits = len(points), len(pivots)
    shared = count_overlaps(halve_points(pivots, points)[1])
    expected = pivots.astype(np.float64)
    for i in range(n_bits):
        for j in range(n_bits):
            if i != j:
                strength = (shared[i, j] - n / 4) / (n / 4)
                expected[i] += 0.5 * strength * (pivots[i] - pivots[j]) / n_bits
    np.testing.assert_allclose(move_pivots(pivots, shared, n), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("deviations", "expected"), [([0.09, -0.09], True), ([0.12, 0.12], False), ([0.1, 0.1], True)]
)
def test_tolerance_of_the_mean_is_a_tenth(deviations: list[float], expected: bool) -> None:
    assert is_balanced(_make_overlaps(deviations), 4000) is expected


def test_tolerance_of_the_standard_deviation() -> None:
    # One of ten pairs is far from the target; the mean is within its tolerance both times.
    for far, expected in ((0.48, True), (0.52, False)):
        assert is_balanced(_make_overlaps([far] + 9 * [0.0]), 4000) is expected


def _make_overlaps(deviations: list[float]) -> NDArray[np.float32]:
    """Return overlaps of five spheres that deviate from the target of 1000 by these fractions."""
    n_bits = 5
    shared = np.zeros((n_bits, n_bits), np.float32)
    shared[np.triu_indices(n_bits, 1)] = np.resize(1000 * (1 + np.array(deviations)), 10)
    return shared + shared.T


def test_initial_pivots_are_means_of_ten_points() -> None:
    pivots = draw_pivots(CLOUD.astype("f4"), 50, np.random.default_rng(0))
    assert len(np.unique(pivots, axis=0)) == 50
    # The variance of the mean of ten points is a tenth of that of one point.
    assert pivots.var() == pytest.approx(CLOUD.var() / 10, rel=0.2)


def test_norms_of_pivots_are_limited() -> None:
    pivots = np.array([[3.0, 4.0], [30.0, 40.0], [0.0, 0.0]], np.float32)
    np.testing.assert_allclose(limit_norms(pivots, 10), [[3, 4], [6, 8], [0, 0]])
    np.testing.assert_array_equal(limit_norms(pivots, 0), np.zeros((3, 2)))


def test_unbalanced_spheres_do_not_drift_away(monkeypatch: pytest.MonkeyPatch) -> None:
    # Thirty points are too few for 64 independent halves, so the pivots never rest.
    few = DIGITS[:30]

    def farthest() -> float:
        hasher = SpH(64, random_state=0).fit(few)
        assert hasher.n_iter_ == 100
        np.testing.assert_array_equal(hasher.transform(few).mean(axis=0), 0.5)
        lengths = np.linalg.norm(hasher.pivots_, axis=1)
        return float(lengths.max() / np.sqrt(few.var(axis=0).sum()))

    assert farthest() > 4
    monkeypatch.setattr(sph, "_MAX_PIVOT_NORM", 4.0)
    assert farthest() == pytest.approx(4, rel=1e-3)


def test_one_sphere_is_balanced_at_once() -> None:
    hasher = SpH(1, random_state=0).fit(DIGITS)
    assert hasher.n_iter_ == 1
    assert hasher.transform(DIGITS).mean() == pytest.approx(0.5, abs=0.001)


def test_bit_is_1_inside_of_the_sphere() -> None:
    hasher = SpH(16, random_state=0).fit(DIGITS)
    centers = hasher.pivots_.astype(np.float64) + hasher.center_
    sq = ((DIGITS[:, None] - centers) ** 2).sum(axis=2)
    np.testing.assert_allclose(hasher.embed(DIGITS), hasher.sq_radii_ - sq, atol=1e-2)
    # A pivot is inside of its own sphere.
    assert hasher.transform(centers).diagonal().all()


# The distance


def spherical(a: NDArray[Any], b: NDArray[Any]) -> float:
    both, either = int((a & b).sum()), int((a ^ b).sum())
    return either / both if both else either * len(a)


@pytest.mark.parametrize("n_bits", [1, 7, 64, 130])
def test_distance_is_different_bits_over_common_ones(n_bits: int) -> None:
    rng = np.random.default_rng(n_bits)
    a, b = rng.integers(2, size=(11, n_bits)), rng.integers(2, size=(5000, n_bits))
    a[0], b[0], b[-1] = 0, 0, 1
    found = SpH.distance(Codes.from_bits(a), Codes.from_bits(b))
    assert found.dtype == np.float32
    assert found.shape == (11, 5000)
    expected = [[spherical(one, other) for other in b[:40]] for one in a]
    np.testing.assert_allclose(found[:, :40], expected, rtol=1e-6)
    assert found[3, -1] == pytest.approx(spherical(a[3], b[-1]))


def test_codes_without_a_common_sphere_are_farthest() -> None:
    bits = np.array([[1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [0, 1, 0, 0, 0, 0], [0] * 6])
    codes = Codes.from_bits(bits)
    found = SpH.distance(codes, codes)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(found.diagonal(), 0)
    np.testing.assert_allclose(found[0], [0, 5, 12, 6])


def test_distance_between_different_lengths_raises() -> None:
    a, b = Codes.from_bits(np.zeros((2, 8))), Codes.from_bits(np.zeros((2, 9)))
    with pytest.raises(ParameterError, match="8 bits, got 9"):
        SpH.distance(a, b)


@pytest.mark.parametrize(("name", "value"), [("n_samples", 1), ("max_iter", 0)])
def test_invalid_parameters_raise(name: str, value: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        SpH(**{name: value}).fit(DIGITS)
    assert (caught.value.name, caught.value.owner) == (name, "SpH")
