"""What all base set strategies have in common, base sets per class, and automatic sizes."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import make_blobs
from tests.base_set.conftest import are_rows_of, cloud, n_distinct, n_used, repeated

from bitfold.base_set import (
    BaseStrategy,
    KMeansBase,
    KMedoidsBase,
    RandomBase,
    base,
)
from bitfold.base_set.base import (
    distinct_rows,
    first_distinct,
    sample_size,
    split_by_class_size,
)
from bitfold.errors import DataError, ParameterError, ParameterTypeError
from bitfold.io.rows import Rows

EVERY = pytest.mark.parametrize("strategy", [RandomBase, KMeansBase, KMedoidsBase])
OF_ROWS = pytest.mark.parametrize("strategy", [RandomBase, KMedoidsBase])

# All strategies


@EVERY
@pytest.mark.parametrize("m", [1, 2, 50, 399])
def test_m_distinct_finite_points(strategy: type[BaseStrategy], m: int) -> None:
    points = strategy(m).choose(cloud(), rng=0).points
    assert points.shape == (m, 6)
    assert points.dtype == np.float32
    assert np.isfinite(points).all()
    assert n_distinct(points) == m


@EVERY
def test_the_seed_determines_the_points(strategy: type[BaseStrategy]) -> None:
    X = cloud()
    first, again, other = (strategy(20).choose(X, rng=seed).points for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@EVERY
def test_on_step_reports_the_progress(strategy: type[BaseStrategy]) -> None:
    X, y = cloud(), np.arange(400) % 3
    steps: list[tuple[int, int]] = []
    heard = strategy(20).choose(X, rng=0, on_step=lambda *step: steps.append(step)).points
    np.testing.assert_array_equal(heard, strategy(20).choose(X, rng=0).points)
    if strategy is not RandomBase:
        assert steps == [(i, 20) for i in range(1, 21)]
    steps.clear()
    heard_all = strategy(20).choose_per_class(X, y, rng=0, on_step=lambda *step: steps.append(step))
    silent = strategy(20).choose_per_class(X, y, rng=0)
    np.testing.assert_array_equal(heard_all.points, silent.points)
    assert steps == [(1, 3), (2, 3), (3, 3)]


@EVERY
def test_read_only_input_is_not_changed(strategy: type[BaseStrategy]) -> None:
    X = cloud()
    X.flags["W"] = False
    kept = X.copy()
    strategy(20).choose(X, rng=0)
    strategy(20).choose_per_class(X, np.arange(400) % 3, rng=0)
    np.testing.assert_array_equal(X, kept)


@EVERY
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64])
def test_the_stored_type_does_not_matter(strategy: type[BaseStrategy], dtype: type) -> None:
    X = np.random.default_rng(0).integers(0, 255, (300, 5)).astype(np.float32)
    np.testing.assert_array_equal(
        strategy(20).choose(X.astype(dtype), rng=0).points, strategy(20).choose(X, rng=0).points
    )


@EVERY
def test_centered_rows_are_accepted(strategy: type[BaseStrategy]) -> None:
    X = cloud() + np.float32(3)
    rows = Rows.centered(X, "T")
    # Points relative to the center: random samples are the same ones.
    points = strategy(20).choose(rows, rng=0).points
    assert np.abs(points.mean(axis=0)).max() < 1
    if strategy is RandomBase:
        expected = strategy(20).choose(X, rng=0).points
        np.testing.assert_allclose(points + rows.center, expected, atol=1e-5)


@EVERY
@pytest.mark.parametrize("m", [30, 31, 1000])
def test_few_distinct_rows_become_the_base_set(strategy: type[BaseStrategy], m: int) -> None:
    X = repeated(cloud(30), 300)
    if m == 30:
        points = strategy(m).choose(X, rng=0).points
    else:
        sentence = f"{m} base points were requested, but there are only 30 distinct rows"
        with pytest.warns(UserWarning, match=sentence):
            points = strategy(m).choose(X, rng=0).points
    np.testing.assert_array_equal(points, np.unique(X, axis=0))


@EVERY
@pytest.mark.parametrize("n_rows", [1, 5])
def test_a_single_distinct_row(strategy: type[BaseStrategy], n_rows: int) -> None:
    X = np.full((n_rows, 2), 7.0)
    np.testing.assert_array_equal(strategy(1).choose(X, rng=0).points, [[7, 7]])


@EVERY
@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e15, 1e30])
def test_any_scale_works(strategy: type[BaseStrategy], scale: float) -> None:
    X = (cloud() * scale).astype(np.float32)
    points = strategy(20).choose(X, rng=0).points
    assert np.isfinite(points).all()
    assert n_distinct(points) == 20
    assert n_used(X / scale, (points / scale).astype(np.float32)) == 20


@EVERY
@pytest.mark.parametrize("value", [1e6, 1e18, 1e30])
def test_an_outlier_does_not_merge_the_rest(strategy: type[BaseStrategy], value: float) -> None:
    X = cloud()
    X[17] = value
    points = strategy(20).choose(X, rng=0).points
    assert np.isfinite(points).all()
    assert n_distinct(points) >= 2


@OF_ROWS
@pytest.mark.parametrize("offset", [0, 100, 1e4])
def test_points_are_rows_of_the_data(strategy: type[BaseStrategy], offset: float) -> None:
    # Enough of them for faiss to measure distances by matrix products.
    X = (cloud(2500, 64) + offset).astype(np.float32)
    points = strategy(40).choose(X, rng=0).points
    assert n_distinct(points) == 40
    assert are_rows_of(points, X)


@OF_ROWS
def test_points_are_distinct_despite_duplicates(strategy: type[BaseStrategy]) -> None:
    X = repeated(cloud(60), 1000)
    for m in (30, 59):
        points = strategy(m).choose(X, rng=0).points
        assert n_distinct(points) == m
        assert are_rows_of(points, X)


def test_large_data_are_sampled() -> None:
    X = np.arange(100_000.0)[:, None]
    chosen = RandomBase(10).choose(X, rng=0).points
    assert are_rows_of(chosen, X.astype(np.float32))
    centers = np.sort(KMeansBase(10).choose(X, rng=0).points[:, 0])
    assert np.diff(centers).max() < 25_000


def test_strategies_are_scikit_learn_estimators() -> None:
    strategy = KMeansBase(7, max_iter=3)
    assert clone(strategy).get_params() == {"n_base_points": 7, "max_iter": 3}
    assert repr(strategy) == "KMeansBase(max_iter=3, n_base_points=7)"
    assert RandomBase().n_base_points == KMeansBase().n_base_points == "auto"


def test_automatic_sizes_do_not_warn_about_duplicates() -> None:
    X = np.repeat(np.eye(3, dtype=np.float32), 5, axis=0)
    assert len(KMeansBase().choose(X, rng=0).points) == 3


def test_the_reason_is_a_sentence() -> None:
    X = cloud(500)
    assert KMeansBase(7).choose(X, rng=0).reason == "7 base points (as requested)."
    expected = "400 base points (the minimum; chosen from 500 rows)."
    assert RandomBase().choose(X, rng=0).reason == expected
    assert RandomBase().choose(X[:300], rng=0).reason == "300 base points (all 300 rows)."
    y = np.arange(500) % 2
    assert KMeansBase(8).choose_per_class(X, y, rng=0).reason == "8 base points (as requested)."


# Per class


def test_each_class_is_chosen_from_its_own_rows() -> None:
    X, y = make_blobs(300, 4, centers=3, random_state=0)
    X = X.astype(np.float32)
    y[::7] = -1
    for strategy in (RandomBase, KMedoidsBase):
        points, labels, _ = strategy(30).choose_per_class(X, y, rng=0)
        assert len(points) == len(labels) == 30
        for label in range(3):
            assert are_rows_of(points[labels == label], X[y == label])
    points, labels, _ = KMeansBase(30).choose_per_class(X, y, rng=0)
    assert np.unique(labels).tolist() == [0, 1, 2]
    for label in range(3):
        own = cdist(points[labels == label], X[y == label]).min(axis=1)
        others = cdist(points[labels == label], X[y != label]).min(axis=1)
        assert own.mean() < others.mean()


def test_shares_follow_the_class_sizes() -> None:
    y = np.repeat([0, 1, 2], [300, 90, 10])
    _, labels, _ = KMeansBase(40).choose_per_class(cloud(), y, rng=0)
    # Two each, and 34 in proportion: 25.5, 7.65, 0.85.
    assert np.bincount(labels).tolist() == [27, 10, 3]


@pytest.mark.parametrize(
    ("y", "names"),
    [
        (["bee", "ant", "bee"] * 100, ["ant", "bee"]),
        ([2.0, -1.0, 5.0] * 100, [2.0, 5.0]),
        ([True, False, True] * 100, [False, True]),
        (np.array(["x", -1, "y"] * 100, object), ["x", "y"]),
    ],
)
def test_labels_of_any_kind(y: Any, names: list[Any]) -> None:
    points, labels, _ = RandomBase(20).choose_per_class(cloud(300), y, rng=0)
    assert sorted(set(labels.tolist())) == names
    for name in names:
        own = np.array([label == name for label in np.asarray(y).tolist()])
        assert are_rows_of(points[labels == name], cloud(300)[own])


@EVERY
def test_tiny_classes_contribute_all_rows(strategy: type[BaseStrategy]) -> None:
    y = np.repeat([0, 1, 2, 3], [396, 1, 2, 1])
    with pytest.warns(UserWarning, match="base points were requested"):
        points, labels, _ = strategy(3000).choose_per_class(cloud(), y, rng=0)
    assert np.bincount(labels).tolist() == [396, 1, 2, 1]
    assert n_distinct(points) == 400
    points, labels, _ = strategy(40).choose_per_class(cloud(), y, rng=0)
    assert np.bincount(labels).tolist() == [36, 1, 2, 1]


def test_large_classes_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MAX_SAMPLE_BYTES", 1)
    X, y = cloud(1000, 2), np.arange(1000) % 2
    points, labels, _ = RandomBase(4).choose_per_class(X, y, rng=0)
    assert np.bincount(labels).tolist() == [2, 2]
    for label in (0, 1):
        assert are_rows_of(points[labels == label], X[y == label])


@given(st.integers(0, 300), st.lists(st.integers(1, 1000), min_size=1, max_size=30))
def test_shares_sum_to_m_and_include_every_class(extra: int, sizes: list[int]) -> None:
    m = 2 * len(sizes) + extra
    shares = split_by_class_size(m, np.array(sizes))
    assert sum(shares) == m
    assert all(isinstance(share, int) for share in shares)
    assert all(share >= min(2, size) for share, size in zip(shares, sizes, strict=True))
    floor = sum(min(2, size) for size in sizes)
    for share, size in zip(shares, sizes, strict=True):
        exact = min(2, size) + (m - floor) * size / sum(sizes)
        assert abs(share - exact) < 1 + 1e-9


def test_equal_classes_have_equal_shares() -> None:
    assert split_by_class_size(10, np.array([5, 5, 5])) == [4, 3, 3]
    assert split_by_class_size(6, np.array([1000, 10, 10])) == [2, 2, 2]


# Sizes


def test_sample_size_is_32_rows_per_point_within_memory() -> None:
    assert sample_size(10**9, 16, 4000) == 32 * 4000
    assert sample_size(10**9, 16, 400) == 65_536
    assert sample_size(5000, 16, 400) == 5000
    # 320 MiB hold 40,960 rows of 2,048 features; never fewer than 16 rows per point.
    assert sample_size(10**9, 2048, 400) == 40_960
    assert sample_size(10**9, 2048, 4000) == 64_000
    assert sample_size(10**9, 10**9, 1) == 16


def test_a_requested_number_is_kept() -> None:
    assert KMeansBase(7).size(cloud()) == (7, "as requested")


# Distinct rows


@given(st.integers(1, 40), st.integers(1, 70), st.integers(0, 2**32))
def test_distinct_rows_equal_those_of_numpy(n: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    few = rng.standard_normal((rng.integers(1, n + 1), d)).astype(np.float32)
    points = few[rng.integers(len(few), size=200)]
    expected = np.unique(points, axis=0)
    for at_most in (1, len(expected) - 1, len(expected), 200):
        got = distinct_rows(points, at_most)
        if len(expected) <= at_most:
            np.testing.assert_array_equal(got, expected)
        else:
            assert got is None


@given(st.integers(1, 60), st.integers(0, 2**32))
def test_first_distinct_equals_a_loop(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (n, 2)).astype(np.float32)
    order = rng.permutation(n)
    seen: dict[tuple[float, ...], int] = {}
    for i in order:
        seen.setdefault(tuple(points[i].tolist()), int(i))
    for count in (1, 2, len(seen), len(seen) + 1):
        got = first_distinct(points, order, count)
        assert got.tolist() == list(seen.values())[:count]


# Errors


@pytest.mark.parametrize(
    ("strategy", "parameter", "value"),
    [
        (RandomBase(0), "n_base_points", "0"),
        (KMeansBase(5, max_iter=0), "max_iter", "0"),
        (KMedoidsBase(5, max_iter=0), "max_iter", "0"),
        (KMeansBase("a"), "n_base_points", "'a'"),
    ],
)
def test_invalid_parameters(strategy: BaseStrategy, parameter: str, value: str) -> None:
    with pytest.raises(ParameterError) as caught:
        strategy.choose(cloud())
    assert (caught.value.name, caught.value.owner) == (parameter, type(strategy).__name__)
    assert str(caught.value.value) == value


def test_n_base_points_is_an_integer() -> None:
    m: Any = 5.0
    with pytest.raises(ParameterTypeError, match=r"n_base_points of KMeansBase.*5\.0"):
        KMeansBase(m).choose(cloud())


def test_invalid_data() -> None:
    X = cloud()
    with pytest.raises(DataError, match=r"2-dimensional.*\(6,\)"):
        KMeansBase(5).choose(X[0])
    X[217, 0] = np.nan
    with pytest.raises(DataError, match="NaN in row 217"):
        KMeansBase(5).choose(X)


def test_invalid_labels() -> None:
    X, strategy = cloud(), RandomBase(5)
    with pytest.raises(ParameterError, match="n_base_points of RandomBase must be at least 6"):
        strategy.choose_per_class(X, np.arange(400) % 3)
    with pytest.raises(ValueError, match=r"400 rows.*\(2,\)"):
        strategy.choose_per_class(X, [0, 1])
    with pytest.raises(ValueError, match="at least 1 class"):
        strategy.choose_per_class(X, np.full(400, -1))
