"""Spherical hashing: the forces of the paper, balanced and independent bits, and its distance."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from bitfold.codes import Codes
from bitfold.hashers import SpH, sph
from bitfold.hashers.sph import balanced, halving, overlaps, pushed, random_pivots, within_reach

DIGITS = load_digits().data
CLOUD = np.random.default_rng(0).standard_normal((3001, 24))


def small(seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((501, 6)).astype("f4"), rng.standard_normal((9, 6)).astype("f4")


# What is aimed at


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


def test_random_spheres_are_worse() -> None:
    start = SpH(16, max_iter=1, random_state=0).fit(DIGITS)
    bits = start.transform(DIGITS).astype(np.float64)
    shared = (bits.T @ bits)[np.triu_indices(16, 1)] / (len(DIGITS) / 4)
    assert np.abs(shared - 1).mean() > 0.2
    assert start.n_iter_ == 1


def test_a_sample_suffices_for_the_rest() -> None:
    bits = SpH(16, n_samples=800, random_state=0).fit(CLOUD).transform(CLOUD).astype(np.float64)
    np.testing.assert_allclose(bits.mean(axis=0), 0.5, atol=0.06)
    shared = (bits.T @ bits)[np.triu_indices(16, 1)] / (len(CLOUD) / 4)
    assert np.abs(shared - 1).mean() < 0.13


def test_more_rounds_do_not_move_what_is_good_enough() -> None:
    first = SpH(8, random_state=0).fit(DIGITS)
    again = SpH(8, max_iter=first.n_iter_, random_state=0).fit(DIGITS)
    before = SpH(8, max_iter=first.n_iter_ - 1, random_state=0).fit(DIGITS)
    np.testing.assert_array_equal(again.pivots_, first.pivots_)
    assert (before.pivots_ != first.pivots_).any()
    bits = before.transform(DIGITS).astype(np.float32)
    assert not balanced(bits.T @ bits, len(DIGITS))


# Step by step


def test_half_of_the_points_are_within() -> None:
    points, pivots = small()
    sq_radii, inside = halving(pivots, points)
    distances = ((points - pivots[:, None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(sq_radii, np.median(distances, axis=1), rtol=1e-5)
    np.testing.assert_array_equal(inside.sum(axis=1), 250)
    clear = np.abs(distances - sq_radii[:, None]) > 1e-4
    np.testing.assert_array_equal(inside[clear], (distances < sq_radii[:, None])[clear])


def test_many_points_are_measured_block_by_block() -> None:
    points = np.random.default_rng(0).standard_normal((9001, 3)).astype("f4")
    pivots = points[:70]
    together, inside = halving(pivots, points)
    for bit in (0, 69):
        alone, one_inside = halving(pivots[bit : bit + 1], points)
        np.testing.assert_array_equal(alone[0], together[bit])
        np.testing.assert_array_equal(one_inside[0], inside[bit])


def test_overlaps_are_counted() -> None:
    inside = np.random.default_rng(0).random((5, 200)) < 0.4
    expected = [[int((a & b).sum()) for b in inside] for a in inside]
    np.testing.assert_array_equal(overlaps(inside), expected)


def test_forces_are_those_of_the_paper() -> None:
    points, pivots = small()
    n, n_bits = len(points), len(pivots)
    shared = overlaps(halving(pivots, points)[1])
    expected = pivots.astype(np.float64)
    for i in range(n_bits):
        for j in range(n_bits):
            if i != j:
                strength = (shared[i, j] - n / 4) / (n / 4)
                expected[i] += 0.5 * strength * (pivots[i] - pivots[j]) / n_bits
    np.testing.assert_allclose(pushed(pivots, shared, n), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("off", "good"), [([0.09, -0.09], True), ([0.12, 0.12], False), ([0.1, 0.1], True)]
)
def test_the_mean_of_overlaps_is_tolerated_to_a_tenth(off: list[float], good: bool) -> None:
    assert balanced(_overlapping(off), 4000) is good


def test_the_spread_of_overlaps_is_tolerated_to_three_twentieths() -> None:
    # Of ten pairs one is far off: the mean is fine both times.
    for far, good in ((0.48, True), (0.52, False)):
        assert balanced(_overlapping([far] + 9 * [0.0]), 4000) is good


def _overlapping(off: list[float]) -> NDArray[np.float32]:
    """Overlaps of as many spheres as it takes, off the aim of 1000 by these, again and again."""
    n_bits = 5
    shared = np.zeros((n_bits, n_bits), np.float32)
    shared[np.triu_indices(n_bits, 1)] = np.resize(1000 * (1 + np.array(off)), 10)
    return shared + shared.T


def test_pivots_start_near_the_middle_and_apart() -> None:
    pivots = random_pivots(CLOUD.astype("f4"), 50, np.random.default_rng(0))
    assert len(np.unique(pivots, axis=0)) == 50
    # The mean of ten points varies a tenth as much as one.
    assert pivots.var() == pytest.approx(CLOUD.var() / 10, rel=0.2)


def test_pivots_stay_within_reach() -> None:
    pivots = np.array([[3.0, 4.0], [30.0, 40.0], [0.0, 0.0]], np.float32)
    np.testing.assert_allclose(within_reach(pivots, 10), [[3, 4], [6, 8], [0, 0]])
    np.testing.assert_array_equal(within_reach(pivots, 0), np.zeros((3, 2)))


def test_spheres_that_never_fit_do_not_drift_away(monkeypatch: pytest.MonkeyPatch) -> None:
    # Thirty points are too few for 64 independent halves, and the pushing goes on.
    few = DIGITS[:30]

    def farthest() -> float:
        hasher = SpH(64, random_state=0).fit(few)
        assert hasher.n_iter_ == 100
        np.testing.assert_array_equal(hasher.transform(few).mean(axis=0), 0.5)
        lengths = np.linalg.norm(hasher.pivots_, axis=1)
        return float(lengths.max() / np.sqrt(few.var(axis=0).sum()))

    assert farthest() > 4
    monkeypatch.setattr(sph, "_REACH", 4.0)
    assert farthest() == pytest.approx(4, rel=1e-3)


def test_one_sphere_has_nothing_to_share() -> None:
    hasher = SpH(1, random_state=0).fit(DIGITS)
    assert hasher.n_iter_ == 1
    assert hasher.transform(DIGITS).mean() == pytest.approx(0.5, abs=0.001)


def test_a_bit_is_whether_a_point_is_within_the_sphere() -> None:
    hasher = SpH(16, random_state=0).fit(DIGITS)
    centers = hasher.pivots_.astype(np.float64) + hasher.center_
    sq = ((DIGITS[:, None] - centers) ** 2).sum(axis=2)
    np.testing.assert_allclose(hasher.embed(DIGITS), hasher.sq_radii_ - sq, atol=1e-2)
    # A pivot is within its own sphere.
    assert hasher.transform(centers).diagonal().all()


# The distance


def spherical(a: NDArray[Any], b: NDArray[Any]) -> float:
    both, either = int((a & b).sum()), int((a ^ b).sum())
    return either / both if both else either * len(a)


@pytest.mark.parametrize("n_bits", [1, 7, 64, 130])
def test_distance_is_bits_that_differ_over_bits_in_common(n_bits: int) -> None:
    rng = np.random.default_rng(n_bits)
    a, b = rng.integers(2, size=(11, n_bits)), rng.integers(2, size=(5000, n_bits))
    a[0], b[0], b[-1] = 0, 0, 1
    found = SpH.distance(Codes.from_bits(a), Codes.from_bits(b))
    assert found.dtype == np.float32
    assert found.shape == (11, 5000)
    expected = [[spherical(one, other) for other in b[:40]] for one in a]
    np.testing.assert_allclose(found[:, :40], expected, rtol=1e-6)
    assert found[3, -1] == pytest.approx(spherical(a[3], b[-1]))


def test_codes_without_a_common_sphere_are_the_farthest() -> None:
    bits = np.array([[1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [0, 1, 0, 0, 0, 0], [0] * 6])
    codes = Codes.from_bits(bits)
    found = SpH.distance(codes, codes)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(found.diagonal(), 0)
    np.testing.assert_allclose(found[0], [0, 5, 12, 6])


def test_codes_of_two_lengths_have_no_distance() -> None:
    says = re.escape("b of distance must be codes of 8 bits, got 9.")
    a, b = Codes.from_bits(np.zeros((2, 8))), Codes.from_bits(np.zeros((2, 9)))
    with pytest.raises(ValueError, match=f"^{says}$"):
        SpH.distance(a, b)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"n_samples": 1}, "n_samples of SpH must be at least 2, got 1."),
        ({"max_iter": 0}, "max_iter of SpH must be at least 1, got 0."),
    ],
)
def test_a_wrong_parameter_is_named(params: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        SpH(**params).fit(DIGITS)
