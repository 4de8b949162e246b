"""The prototype algorithm: exact induction, covers, estimates, moments and bounds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from reproduction.prototype import (
    cover_points,
    estimate_embedding,
    estimate_moments,
    exact_induction,
    induction_weights,
    sufficient_size,
    tail_bound,
    variance_bound,
)

from bitfold.errors import ParameterError, ParameterTypeError

FloatArray = NDArray[np.float64]

# No deadline, because the machine may be busy.
quick = settings(deadline=None, max_examples=60)

# Few distinct values, so that ties and repeated points are common.
coordinates = st.integers(-8, 8).map(lambda v: v / 4)


def points(max_rows: int = 12, max_columns: int = 3) -> st.SearchStrategy[FloatArray]:
    shapes = st.tuples(st.integers(1, max_rows), st.integers(1, max_columns))
    return hnp.arrays(np.float64, shapes, elements=coordinates)


class Problem(NamedTuple):
    Y: FloatArray
    alpha: FloatArray
    m: int


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Weights are multiples of 1/16, many of them zero, so that masses and ℓ_j are exact."""
    Y = draw(points())
    cuts = draw(st.lists(st.integers(0, 16), min_size=len(Y) - 1, max_size=len(Y) - 1))
    alpha = np.diff([0, *sorted(cuts), 16]) / 16
    return Problem(Y, alpha, draw(st.integers(1, len(Y))))


@pytest.fixture(scope="module")
def problem() -> Problem:
    """Sixty points in the plane with uneven weights, some of them zero, and ten clusters."""
    rng = np.random.default_rng(7)
    weights = rng.exponential(size=60) * (rng.random(60) < 0.7)
    return Problem(rng.normal(size=(60, 2)), weights / weights.sum(), 10)


# Exact induction, Eq. (4)


def induction_by_loop(
    X_query: FloatArray, X: FloatArray, Y: FloatArray, k: int, bandwidth: float
) -> FloatArray:
    rows = []
    for x in X_query:
        distances = [float(((x - point) ** 2).sum()) for point in X]
        nearest = sorted(range(len(X)), key=lambda i: (distances[i], i))[:k]
        w = [math.exp((distances[nearest[0]] - distances[i]) / bandwidth**2) for i in nearest]
        rows.append(sum(wi * Y[i] for wi, i in zip(w, nearest, strict=True)) / sum(w))
    return np.array(rows)


@quick
@given(X=points(), data=st.data())
def test_exact_induction_equals_a_loop(X: FloatArray, data: st.DataObject) -> None:
    n, d = X.shape
    X_query = data.draw(hnp.arrays(np.float64, (3, d), elements=coordinates))
    Y = data.draw(hnp.arrays(np.float64, (n, 2), elements=coordinates))
    k = data.draw(st.integers(1, n))
    bandwidth = data.draw(st.sampled_from([0.3, 1.0, 5.0]))
    got = exact_induction(X_query, X, Y, k, bandwidth)
    np.testing.assert_allclose(
        got, induction_by_loop(X_query, X, Y, k, bandwidth), rtol=1e-12, atol=1e-12
    )


def test_gaussian_is_over_sigma_squared() -> None:
    # Eq. (4) by hand: distances 1 and 2, σ = 2, so exp(-1/4) and exp(-1).
    a, b = math.exp(-0.25), math.exp(-1.0)
    got = exact_induction([[0.0]], [[1.0], [-2.0], [50.0]], [[1.0], [0.0], [9.0]], 2, 2.0)
    assert got[0, 0] == pytest.approx(a / (a + b), rel=1e-14)


def test_ties_go_to_the_lower_index() -> None:
    weights = induction_weights([[0.0]], [[2.0], [1.0], [-1.0], [1.0]], 2, 1.0)
    np.testing.assert_array_equal(weights, [[0.0, 0.5, 0.5, 0.0]])


@pytest.mark.parametrize("bandwidth", [1.0, 1e-3, 1e-200])
def test_far_point_gets_its_nearest(bandwidth: float) -> None:
    got = exact_induction([[1e6]], [[0.0], [5.0], [1.0]], [[1.0], [2.0], [3.0]], 3, bandwidth)
    np.testing.assert_array_equal(got, [[2.0]])


def test_wide_bandwidth_gives_the_mean() -> None:
    got = exact_induction([[0.3]], [[0.0], [5.0], [1.0]], [[1.0], [2.0], [6.0]], 3, 1e200)
    np.testing.assert_allclose(got, [[3.0]], rtol=1e-15)


def test_float64_throughout() -> None:
    # At 1e6 float32 has steps of 1/16.
    got = exact_induction([[1e6 + 0.01]], [[1e6], [1e6 + 0.03]], [[0.0], [1.0]], 2, 0.02)
    assert got[0, 0] == pytest.approx(1 / (1 + math.exp(0.75)), rel=1e-5)


def test_integers_are_widened() -> None:
    X = np.array([[0], [3]], np.uint8)
    Y = np.array([[1 / 3], [2 / 3]], np.float32)
    got = exact_induction(np.array([[1]], np.uint8), X, Y, 2, 2.0)
    assert got.dtype == np.float64
    # |1 - 3|² would wrap around in uint8; the gap is 4 - 1, σ² = 4.
    w = math.exp(-0.75)
    assert got[0, 0] == pytest.approx((float(Y[0, 0]) + w * float(Y[1, 0])) / (1 + w), rel=1e-14)


@quick
@given(X=points(), data=st.data())
def test_k_weights_sum_to_one(X: FloatArray, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(X)))
    weights = induction_weights(X, X, k, 4.0)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-14)
    assert ((weights > 0).sum(axis=1) == k).all()


# Entropy numbers and clusters


def find_entropy_number(y: FloatArray, m: int) -> float:
    """Exact in one dimension: the best cut of the sorted points into at most m intervals."""
    y = np.sort(y)
    cuts = itertools.combinations(range(1, len(y)), m - 1)
    return min(max(np.ptp(part) / 2 for part in np.split(y, list(cut))) for cut in cuts)


@quick
@given(Y=points(8, 1), data=st.data())
def test_cover_bounds_the_entropy_number(Y: FloatArray, data: st.DataObject) -> None:
    m = data.draw(st.integers(1, len(Y)))
    exact = find_entropy_number(Y[:, 0], m)
    radius = cover_points(Y, m).radius
    assert radius / 2 <= exact <= radius


@quick
@given(Y=points(8), data=st.data())
def test_radius_is_at_most_twice_the_best(Y: FloatArray, data: st.DataObject) -> None:
    m = data.draw(st.integers(1, len(Y)))
    apart = np.linalg.norm(Y[:, None] - Y, axis=2)
    subsets = itertools.combinations(range(len(Y)), m)
    best = min(apart[list(subset)].min(axis=0).max() for subset in subsets)
    radius = cover_points(Y, m).radius
    assert best <= radius * (1 + 1e-12)
    assert radius <= 2 * best * (1 + 1e-12)


@quick
@given(Y=points(), data=st.data())
def test_clusters_are_valid(Y: FloatArray, data: st.DataObject) -> None:
    m = data.draw(st.integers(1, len(Y)))
    cover = cover_points(Y, m)
    np.testing.assert_array_equal(np.unique(cover.labels), np.arange(m))
    np.testing.assert_array_equal(cover.labels[cover.centers], np.arange(m))
    to_centers = np.linalg.norm(Y[:, None] - Y[cover.centers], axis=2)
    own = to_centers[np.arange(len(Y)), cover.labels]
    assert own.max() == pytest.approx(cover.radius, rel=1e-12)
    np.testing.assert_allclose(own, to_centers.min(axis=1), rtol=1e-12)


@quick
@given(Y=points())
def test_radii_descend_to_zero(Y: FloatArray) -> None:
    radii = cover_points(Y, len(Y)).radii
    assert (np.diff(radii) <= 0).all()
    assert radii[-1] == 0
    for m in range(1, len(Y) + 1):
        np.testing.assert_array_equal(cover_points(Y, m).radii, radii[:m])


def test_first_center_is_in_the_middle() -> None:
    cover = cover_points([[0.0], [4.0], [5.0], [10.0]], 2)
    np.testing.assert_array_equal(cover.centers, [2, 0])
    np.testing.assert_array_equal(cover.radii, [5.0, 5.0])
    np.testing.assert_array_equal(cover.labels, [1, 0, 0, 0])


def test_clustered_points_have_smaller_entropy_numbers() -> None:
    rng = np.random.default_rng(0)
    centers = rng.uniform(size=(8, 2))
    clustered = np.repeat(centers, 50, axis=0) + 0.01 * rng.normal(size=(400, 2))
    uniform = rng.uniform(size=(400, 2))
    # An upper bound of one is below a lower bound of the other.
    assert cover_points(clustered, 8).radius < cover_points(uniform, 8).radius / 2


# The prototype algorithm, Eq. (5)


@quick
@given(case=problems(), seed=st.integers(0, 2**32))
def test_draws_follow_the_allocation(case: Problem, seed: int) -> None:
    Y, alpha, m = case
    labels = cover_points(Y, m).labels
    indices = estimate_embedding(Y, alpha, labels, n_draws=3, rng=seed).indices
    assert (alpha[indices] > 0).all()
    for j in range(m):
        mass = alpha[labels == j].sum()
        expected = math.floor(m * mass + 1) if mass > 0 else 0
        assert ((labels[indices] == j).sum(axis=1) == expected).all()


@quick
@given(case=problems(), seed=st.integers(0, 2**32))
def test_lemma_2_at_most_2m_unique(case: Problem, seed: int) -> None:
    Y, alpha, m = case
    labels = cover_points(Y, m).labels
    for row in estimate_embedding(Y, alpha, labels, n_draws=3, rng=seed).indices:
        assert len(np.unique(row)) <= len(row) <= 2 * m


def test_lemma_2_is_reached() -> None:
    # Equal masses: m C_j = 1, two draws from each of the m clusters.
    Y = np.arange(6.0)[:, None]
    alpha, labels = np.full(6, 1 / 6), [0, 0, 1, 1, 2, 2]
    indices = estimate_embedding(Y, alpha, labels, n_draws=100, rng=0).indices
    assert indices.shape == (100, 6)
    assert max(len(np.unique(row)) for row in indices) == 6


@quick
@given(case=problems(), seed=st.integers(0, 2**32))
def test_estimate_is_eq_5_of_its_draws(case: Problem, seed: int) -> None:
    Y, alpha, m = case
    labels = cover_points(Y, m).labels
    got = estimate_embedding(Y, alpha, labels, n_draws=2, rng=seed)
    for y, row in zip(got.y, got.indices, strict=True):
        expected = np.zeros(Y.shape[1])
        for j in set(labels[row].tolist()):
            mine = row[labels[row] == j]
            expected += alpha[labels == j].sum() * Y[mine].mean(axis=0)
        np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)


def test_clusters_without_mass_add_nothing() -> None:
    Y, alpha = np.array([[1.0], [2.0], [900.0]]), np.array([0.5, 0.5, 0.0])
    got = estimate_embedding(Y, alpha, [0, 0, 1], n_draws=500, rng=0)
    assert set(got.indices.ravel().tolist()) == {0, 1}
    # Three draws of weight 1/3 from the only cluster with mass: m C_j + 1 = 3.
    assert got.indices.shape == (500, 3)
    assert estimate_moments(Y, alpha, [0, 0, 1]).variance == pytest.approx(0.25 / 3)


def test_same_seed_same_draws(problem: Problem) -> None:
    labels = cover_points(problem.Y, problem.m).labels
    first, again, other = (
        estimate_embedding(problem.Y, problem.alpha, labels, n_draws=5, rng=seed)
        for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first.indices, again.indices)
    assert not np.array_equal(first.indices, other.indices)


# Lemma 3


def test_lemma_3_mean_and_variance_by_simulation(problem: Problem) -> None:
    Y, alpha, m = problem
    cover = cover_points(Y, m)
    exact = estimate_moments(Y, alpha, cover.labels)
    y = estimate_embedding(Y, alpha, cover.labels, n_draws=40_000, rng=1).y
    errors = ((y - exact.mean) ** 2).sum(axis=1)
    standard_error = y.std(axis=0) / math.sqrt(len(y))
    assert (np.abs(y.mean(axis=0) - exact.mean) < 5 * standard_error).all()
    assert abs(errors.mean() - exact.variance) < 5 * errors.std() / math.sqrt(len(y))
    assert 0 < exact.variance <= variance_bound(cover.radius, m)


def test_draws_within_a_cluster_are_proportional_to_alpha(problem: Problem) -> None:
    Y, alpha, m = problem
    labels = cover_points(Y, m).labels
    indices = estimate_embedding(Y, alpha, labels, n_draws=40_000, rng=2).indices
    for j in np.unique(labels[indices]):
        drawn = indices[labels[indices] == j]
        expected = alpha * (labels == j) / alpha[labels == j].sum()
        seen = np.bincount(drawn, minlength=len(Y)) / len(drawn)
        assert (np.abs(seen - expected) <= 5 * np.sqrt(expected / len(drawn))).all()


@quick
@given(case=problems())
def test_moments_equal_an_enumeration(case: Problem) -> None:
    Y, alpha, m = case
    labels = cover_points(Y, m).labels
    variance = 0.0
    for j in range(m):
        mass = alpha[labels == j].sum()
        if mass > 0:
            p, y = alpha[labels == j] / mass, Y[labels == j]
            draws = math.floor(m * mass + 1)
            spread = (p @ y**2 - (p @ y) ** 2).sum()
            variance += mass**2 / draws * spread
    got = estimate_moments(Y, alpha, labels)
    np.testing.assert_allclose(got.mean, alpha @ Y, rtol=1e-12, atol=1e-12)
    assert got.variance == pytest.approx(variance, rel=1e-9, abs=1e-12)


@quick
@given(case=problems())
def test_lemma_3_bound(case: Problem) -> None:
    Y, alpha, m = case
    cover = cover_points(Y, m)
    bound = variance_bound(cover.radius, m)
    assert estimate_moments(Y, alpha, cover.labels).variance <= bound * (1 + 1e-12) + 1e-15


def test_lemma_3_mean_is_the_exact_induction() -> None:
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(50, 4)), rng.normal(size=(50, 3))
    alpha = induction_weights(X[:1] + 0.1, X, 20, 2.0)
    mean = estimate_moments(Y, alpha[0], cover_points(Y, 6).labels).mean
    np.testing.assert_allclose(mean, exact_induction(X[:1] + 0.1, X, Y, 20, 2.0)[0], rtol=1e-12)


def test_lemma_3_holds_unlike_its_printed_proof() -> None:
    # Two points at distance 2 in each of two clusters: Var(y_u) = ε² = 1; C = 0.4, 0.6; ℓ = 1, 2.
    Y, alpha = np.array([[-1.0], [1.0], [9.0], [11.0]]), np.array([0.2, 0.2, 0.3, 0.3])
    variance = estimate_moments(Y, alpha, [0, 0, 1, 1]).variance
    assert variance == pytest.approx(0.4**2 / 1 + 0.6**2 / 2)
    assert variance > (0.4**2 + 0.6**2) / 2
    assert variance <= variance_bound(1.0, 2)


# Theorem 4 and Corollary 5


@pytest.mark.parametrize("m", [2, 10, 25])
def test_theorem_1_tail_by_simulation(problem: Problem, m: int) -> None:
    Y, alpha, _ = problem
    cover = cover_points(Y, m)
    y = estimate_embedding(Y, alpha, cover.labels, n_draws=20_000, rng=m).y
    errors = np.linalg.norm(y - estimate_moments(Y, alpha, cover.labels).mean, axis=1)
    scale = math.sqrt(variance_bound(cover.radius, m))
    for t in np.array([1.05, 1.5, 2.0, 3.0]) * scale:
        assert (errors >= t).mean() <= tail_bound(cover.radius, 2 * m, t) < 1


@pytest.mark.parametrize("delta", [0.3, 0.05])
def test_corollary_by_simulation(problem: Problem, delta: float) -> None:
    Y, alpha, _ = problem
    t, n_prime = 0.6, 2
    while (needed := sufficient_size(cover_points(Y, n_prime // 2).radius, delta, t)) > n_prime:
        n_prime += 2
    assert needed <= n_prime <= len(Y)
    labels = cover_points(Y, n_prime // 2).labels
    y = estimate_embedding(Y, alpha, labels, n_draws=20_000, rng=0).y
    assert (np.linalg.norm(y - alpha @ Y, axis=1) < t).mean() >= 1 - delta


def test_bounds_by_hand() -> None:
    assert variance_bound(3.0, 4) == 9 / 4
    assert tail_bound(3.0, 8, 1.5) == 1.0
    assert tail_bound(0.0, 2, 1.0) == 0.0
    assert sufficient_size(1.0, 0.5, 1.0) == 4
    assert sufficient_size(1.0, 0.5, 0.99) == 6
    assert sufficient_size(0.0, 0.5, 1.0) == 2
    single = np.float32(0.5)
    assert sufficient_size(single, single, single) == 4  # type: ignore[arg-type]


@quick
@given(
    epsilon=st.floats(0, 1e30),
    delta=st.floats(1e-9, 1, exclude_max=True),
    t=st.floats(1e-300, 1e30),
)
def test_corollary_is_the_smallest_even_number(epsilon: float, delta: float, t: float) -> None:
    n_prime = sufficient_size(epsilon, delta, t)
    wanted = 2 * Fraction(epsilon) ** 2 / (Fraction(delta) * Fraction(t) ** 2)
    assert n_prime % 2 == 0
    assert n_prime >= 2
    assert n_prime >= wanted
    assert n_prime == 2 or n_prime - 2 < wanted


@quick
@given(epsilon=st.floats(1e-3, 1e3), m=st.integers(1, 1000), t=st.floats(1e-3, 1e3))
def test_tail_bound_is_chebyshev(epsilon: float, m: int, t: float) -> None:
    assert tail_bound(epsilon, 2 * m, t) == pytest.approx(
        variance_bound(epsilon, m) / t**2, rel=1e-12
    )


# Errors

X3 = [[0.0, 1.0], [2.0, 3.0], [4.0, 6.0]]
WEIGHTS = [0.25, 0.25, 0.5]
Call = Callable[[], Any]


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        (lambda: induction_weights(X3, X3, 0, 1.0), "k", 0),
        (lambda: induction_weights(X3, X3, 4, 1.0), "k", 4),
        (lambda: induction_weights(X3, X3, 1, 0.0), "bandwidth", 0.0),
        (lambda: induction_weights([[1.0]], X3, 1, 1.0), "X_query", 1),
        (lambda: induction_weights([[1.0, math.nan]], X3, 1, 1.0), "X_query", "NaN or infinity"),
        (lambda: exact_induction(X3, X3, [[1.0]], 1, 1.0), "Y", 1),
        (lambda: exact_induction(X3, [[0.0, math.inf]], [[1.0]], 1, 1.0), "X", "NaN or infinity"),
        (lambda: cover_points(X3, 0), "m", 0),
        (lambda: cover_points(X3, 4), "m", 4),
        (lambda: cover_points([[1.0], [math.nan]], 1), "Y", "NaN or infinity"),
        (lambda: cover_points([1.0, 2.0], 1), "Y", "shape (2,)"),
        (lambda: estimate_embedding(X3, [WEIGHTS], [0, 0, 1]), "alpha", "shape (1, 3)"),
        (lambda: estimate_embedding(X3, [0.5, 0.5], [0, 0, 1]), "alpha", 2),
        (lambda: estimate_embedding(X3, [0.5, 0.5, 0.5], [0, 0, 1]), "alpha", "sum 1.5"),
        (lambda: estimate_embedding(X3, [1.5, -0.5, 0.0], [0, 0, 1]), "alpha", "sum 1.0"),
        (lambda: estimate_moments(X3, [math.nan, 0.5, 0.5], [0, 0, 1]), "alpha", "sum nan"),
        (lambda: estimate_embedding(X3, WEIGHTS, [0, 1]), "labels", "shape (2,) of int64"),
        (lambda: estimate_embedding(X3, WEIGHTS, [0.0, 0, 1]), "labels", "shape (3,) of float64"),
        (lambda: estimate_moments(X3, WEIGHTS, [0, 0, 2]), "labels", [0, 2]),
        (lambda: estimate_moments(X3, WEIGHTS, [-1, 0, 1]), "labels", [-1, 0, 1]),
        (lambda: estimate_embedding(X3, WEIGHTS, [0, 0, 1], n_draws=0), "n_draws", 0),
        (lambda: variance_bound(-1.0, 2), "epsilon", -1.0),
        (lambda: sufficient_size(math.inf, 0.5, 1.0), "epsilon", math.inf),
        (lambda: variance_bound(1.0, 0), "m", 0),
        (lambda: tail_bound(1.0, 1, 1.0), "n_prime", 1),
        (lambda: tail_bound(1.0, 3, 1.0), "n_prime", 3),
        (lambda: tail_bound(1.0, 2, 0.0), "t", 0.0),
        (lambda: sufficient_size(1.0, 1.0, 1.0), "delta", 1.0),
        (lambda: sufficient_size(1.0, 0.0, 1.0), "delta", 0.0),
        (lambda: sufficient_size(1.0, 0.5, math.nan), "t", math.nan),
    ],
)
def test_invalid_arguments(call: Call, name: str, value: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.name == name
    np.testing.assert_equal(caught.value.value, value)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: cover_points(X3, 2.0), "m"),  # type: ignore[arg-type]
        (lambda: variance_bound("1", 2), "epsilon"),  # type: ignore[arg-type]
        (lambda: variance_bound(False, 2), "epsilon"),
    ],
)
def test_arguments_of_the_wrong_type(call: Call, name: str) -> None:
    with pytest.raises(ParameterTypeError) as caught:
        call()
    assert caught.value.name == name


def test_inputs_may_be_read_only(problem: Problem) -> None:
    Y, alpha, labels = problem.Y.copy(), problem.alpha.copy(), cover_points(problem.Y, 5).labels
    for array in (Y, alpha, labels):
        array.flags["W"] = False
    estimate_embedding(Y, alpha, labels, rng=0)
    estimate_moments(Y, alpha, labels)
    exact_induction(Y, Y, Y, 3, 1.0)
    cover_points(Y, 3)
