"""The base set: where its points lie, how they are shared out, and what they never are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import faiss
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from pytest import MonkeyPatch
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from bitfold.base_set import (
    BaseStrategy,
    KMeansBase,
    KMedoidsBase,
    RandomBase,
    automatic_size,
    clusters,
    distinct_rows,
    first_distinct,
    is_labeled,
    kmeans,
    sample_size,
    share_out,
)
from bitfold.base_set import size as sizing
from bitfold.base_set.size import BUDGET, work
from bitfold.io.rows import Rows

FloatArray = NDArray[np.float32]
EVERY = pytest.mark.parametrize("strategy", [RandomBase, KMeansBase, KMedoidsBase])
OF_SAMPLES = pytest.mark.parametrize("strategy", [RandomBase, KMedoidsBase])


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """On a busy machine the threads of a small problem mostly wait for each other."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    yield
    faiss.omp_set_num_threads(before)


def cloud(n: int = 400, d: int = 6, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


def repeated(distinct: FloatArray, n: int, seed: int = 0) -> FloatArray:
    """Every distinct row at least once, a few of them very often."""
    rng = np.random.default_rng(seed)
    often = rng.choice(len(distinct), n, p=rng.dirichlet(np.full(len(distinct), 0.2)))
    return rng.permutation(np.concatenate([distinct, distinct[often]]))


def n_distinct(points: NDArray[Any]) -> int:
    return len(np.unique(points, axis=0))


def n_used(X: NDArray[Any], base: FloatArray) -> int:
    """How many base points are the nearest of some row."""
    return len(np.unique(cdist(X, base).argmin(axis=1)))


def inertia(X: NDArray[Any], base: FloatArray) -> float:
    return float((cdist(X, base).min(axis=1) ** 2).sum())


def are_rows_of(points: FloatArray, X: FloatArray) -> bool:
    return n_distinct(np.concatenate([X, points])) == n_distinct(X)


# What every strategy keeps to


@EVERY
@pytest.mark.parametrize("m", [1, 2, 50, 399])
def test_m_distinct_finite_points(strategy: type[BaseStrategy], m: int) -> None:
    points = strategy(m).choose(cloud(), rng=0)
    assert points.shape == (m, 6)
    assert points.dtype == np.float32
    assert np.isfinite(points).all()
    assert n_distinct(points) == m


@EVERY
def test_a_seed_decides(strategy: type[BaseStrategy]) -> None:
    X = cloud()
    first, again, other = (strategy(20).choose(X, rng=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@EVERY
def test_on_step_tells_the_progress_and_changes_nothing(strategy: type[BaseStrategy]) -> None:
    X, y = cloud(), np.arange(400) % 3
    steps: list[tuple[int, int]] = []
    heard = strategy(20).choose(X, rng=0, on_step=lambda *step: steps.append(step))
    np.testing.assert_array_equal(heard, strategy(20).choose(X, rng=0))
    if strategy is not RandomBase:
        assert steps == [(i, 20) for i in range(1, 21)]
    steps.clear()
    heard_all = strategy(20).choose_per_class(X, y, rng=0, on_step=lambda *step: steps.append(step))
    silent = strategy(20).choose_per_class(X, y, rng=0)
    np.testing.assert_array_equal(heard_all.points, silent.points)
    assert steps == [(1, 3), (2, 3), (3, 3)]


@EVERY
def test_the_input_stays_and_may_be_read_only(strategy: type[BaseStrategy]) -> None:
    X = cloud()
    X.flags.writeable = False
    kept = X.copy()
    strategy(20).choose(X, rng=0)
    strategy(20).choose_per_class(X, np.arange(400) % 3, rng=0)
    np.testing.assert_array_equal(X, kept)


@EVERY
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64])
def test_the_stored_type_does_not_matter(strategy: type[BaseStrategy], dtype: type) -> None:
    X = np.random.default_rng(0).integers(0, 255, (300, 5)).astype(np.float32)
    np.testing.assert_array_equal(
        strategy(20).choose(X.astype(dtype), rng=0), strategy(20).choose(X, rng=0)
    )


@EVERY
def test_rows_may_come_centered(strategy: type[BaseStrategy]) -> None:
    X = cloud() + np.float32(3)
    rows = Rows.centered(X, "T")
    # Points relative to the center: random samples are the same ones.
    points = strategy(20).choose(rows, rng=0)
    assert np.abs(points.mean(axis=0)).max() < 1
    if strategy is RandomBase:
        expected = strategy(20).choose(X, rng=0)
        np.testing.assert_allclose(points + rows.center, expected, atol=1e-5)


@EVERY
@pytest.mark.parametrize("m", [30, 31, 1000])
def test_few_distinct_rows_become_the_base_set(strategy: type[BaseStrategy], m: int) -> None:
    X = repeated(cloud(30), 300)
    if m == 30:
        points = strategy(m).choose(X, rng=0)
    else:
        sentence = f"{m} base points were asked for, but there are only 30 distinct rows"
        with pytest.warns(UserWarning, match=sentence):
            points = strategy(m).choose(X, rng=0)
    np.testing.assert_array_equal(points, np.unique(X, axis=0))


@EVERY
@pytest.mark.parametrize("n_rows", [1, 5])
def test_a_single_distinct_row(strategy: type[BaseStrategy], n_rows: int) -> None:
    X = np.full((n_rows, 2), 7.0)
    np.testing.assert_array_equal(strategy(1).choose(X, rng=0), [[7, 7]])


@EVERY
@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e15, 1e30])
def test_no_scale_is_too_small_or_too_large(strategy: type[BaseStrategy], scale: float) -> None:
    X = (cloud() * scale).astype(np.float32)
    points = strategy(20).choose(X, rng=0)
    assert np.isfinite(points).all()
    assert n_distinct(points) == 20
    assert n_used(X / scale, (points / scale).astype(np.float32)) == 20


@EVERY
@pytest.mark.parametrize("value", [1e6, 1e18, 1e30])
def test_one_outlier_leaves_the_rest_apart(strategy: type[BaseStrategy], value: float) -> None:
    X = cloud()
    X[17] = value
    points = strategy(20).choose(X, rng=0)
    assert np.isfinite(points).all()
    assert n_distinct(points) >= 2


# Where the points lie


@OF_SAMPLES
@pytest.mark.parametrize("offset", [0, 100, 1e4])
def test_points_are_rows_of_the_data(strategy: type[BaseStrategy], offset: float) -> None:
    # Enough of them for faiss to measure distances by matrix products.
    X = (cloud(2500, 64) + offset).astype(np.float32)
    points = strategy(40).choose(X, rng=0)
    assert n_distinct(points) == 40
    assert are_rows_of(points, X)


@OF_SAMPLES
def test_points_are_distinct_rows_among_many_duplicates(strategy: type[BaseStrategy]) -> None:
    X = repeated(cloud(60), 1000)
    for m in (30, 59):
        points = strategy(m).choose(X, rng=0)
        assert n_distinct(points) == m
        assert are_rows_of(points, X)


def test_random_points_are_drawn_evenly() -> None:
    X = np.arange(10.0)[:, None]
    drawn = np.concatenate([RandomBase(3).choose(X, rng=seed)[:, 0] for seed in range(1000)])
    counts = np.bincount(drawn.astype(int), minlength=10)
    assert (np.abs(counts - 300) < 5 * np.sqrt(300 * 0.7)).all()


@pytest.mark.parametrize("offset", [0, 1e4])
def test_kmeans_is_as_good_as_scikit_learns(offset: float) -> None:
    X, _ = make_blobs(2500, 64, centers=30, cluster_std=5.0, random_state=0)
    X = (X + offset).astype(np.float32)
    bases = [KMeansBase(60).choose(X, rng=seed) for seed in range(3)]
    assert all(n_used(X, base) == 60 for base in bases)
    ours = np.mean([inertia(X, base) for base in bases])
    theirs = np.mean(
        [
            KMeans(60, init="random", n_init=1, max_iter=20, random_state=seed).fit(X).inertia_
            for seed in range(3)
        ]
    )
    assert ours < 1.05 * theirs


def test_kmeans_centers_are_means_of_their_clusters() -> None:
    X = cloud(200, 2)
    centers = KMeansBase(5, max_iter=60).choose(X, rng=0)
    nearest = cdist(X, centers).argmin(axis=1)
    means = np.array([X[nearest == j].mean(axis=0) for j in range(5)])
    np.testing.assert_allclose(centers, means, atol=1e-5)


def test_more_iterations_never_hurt() -> None:
    X = cloud(2000, 8)
    costs = [inertia(X, KMeansBase(30, max_iter).choose(X, rng=0)) for max_iter in (1, 2, 5, 20)]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < 0.99 * costs[0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("offset", [0, 100])
@pytest.mark.parametrize("m", [20, 55, 59])
def test_kmeans_leaves_no_cluster_empty_among_duplicates(m: int, offset: float, seed: int) -> None:
    X = repeated(cloud(60, seed=seed) + np.float32(offset), 1000, seed)
    centers = KMeansBase(m).choose(X, rng=seed)
    assert n_used(X, centers) == m


@pytest.mark.parametrize("n", [3, 50, 51, 100])
def test_kmeans_leaves_no_cluster_empty_when_points_are_few(n: int) -> None:
    X = cloud(n)
    for m in {1, 2, n // 2, n - 2, n - 1} - {0}:
        assert n_used(X, KMeansBase(m).choose(X, rng=0)) == m


def test_constant_columns_change_nothing() -> None:
    X = np.concatenate([cloud(), np.full((400, 3), 1e4, np.float32)], axis=1)
    centers = KMeansBase(50).choose(X, rng=0)
    assert n_used(X, centers) == 50
    np.testing.assert_array_equal(centers[:, 6:], 1e4)
    assert inertia(X, centers) == pytest.approx(
        inertia(cloud(), KMeansBase(50).choose(cloud(), rng=0)), rel=0.1
    )


def test_medoids_have_the_least_total_distance_of_their_clusters() -> None:
    X = cloud(300, 3)
    medoids = KMedoidsBase(6, max_iter=100).choose(X, rng=0)
    nearest = cdist(X, medoids).argmin(axis=1)
    for j, medoid in enumerate(medoids):
        members = X[nearest == j]
        total = cdist(members, members).sum(axis=1)
        assert cdist(medoid[None], members).sum() == pytest.approx(total.min(), rel=1e-4)


def test_medoids_serve_no_worse_than_those_of_the_clusters_they_start_from() -> None:
    # Where many points lie near the middle, they are the nearest to many a cluster's mean.
    X = cloud(1000, 60) * np.random.default_rng(0).exponential(size=(1000, 1)).astype(np.float32)
    cluster = cdist(X, KMeansBase(50).choose(X, rng=0)).argmin(axis=1)
    parts = [X[cluster == j] for j in range(50)]
    start = np.array([part[cdist(part, part).sum(axis=1).argmin()] for part in parts])
    found = KMedoidsBase(50).choose(X, rng=0)
    assert cdist(X, found).min(axis=1).sum() <= 1.001 * cdist(X, start).min(axis=1).sum()


def test_medoids_of_large_clusters_by_witnesses() -> None:
    # Over 512 members: a sample of them bears witness, and errs only a little.
    X = cloud(3000, 2)
    medoid = KMedoidsBase(1).choose(X, rng=0)
    total = cdist(X, X).sum(axis=1)
    assert cdist(medoid, X).sum() < 1.03 * total.min()


# Class by class


def test_each_class_is_chosen_from_its_own_rows() -> None:
    X, y = make_blobs(300, 4, centers=3, random_state=0)
    X = X.astype(np.float32)
    y[::7] = -1
    for strategy in (RandomBase, KMedoidsBase):
        points, labels = strategy(30).choose_per_class(X, y, rng=0)
        assert len(points) == len(labels) == 30
        for label in range(3):
            assert are_rows_of(points[labels == label], X[y == label])
    points, labels = KMeansBase(30).choose_per_class(X, y, rng=0)
    assert np.unique(labels).tolist() == [0, 1, 2]
    for label in range(3):
        own = cdist(points[labels == label], X[y == label]).min(axis=1)
        others = cdist(points[labels == label], X[y != label]).min(axis=1)
        assert own.mean() < others.mean()


def test_shares_follow_the_class_sizes() -> None:
    y = np.repeat([0, 1, 2], [300, 90, 10])
    _, labels = KMeansBase(40).choose_per_class(cloud(), y, rng=0)
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
    points, labels = RandomBase(20).choose_per_class(cloud(300), y, rng=0)
    assert sorted(set(labels.tolist())) == names
    for name in names:
        own = np.array([label == name for label in np.asarray(y).tolist()])
        assert are_rows_of(points[labels == name], cloud(300)[own])


@EVERY
def test_tiny_classes_give_what_they_have(strategy: type[BaseStrategy]) -> None:
    y = np.repeat([0, 1, 2, 3], [396, 1, 2, 1])
    with pytest.warns(UserWarning, match="base points were asked for"):
        points, labels = strategy(3000).choose_per_class(cloud(), y, rng=0)
    assert np.bincount(labels).tolist() == [396, 1, 2, 1]
    assert n_distinct(points) == 400
    points, labels = strategy(40).choose_per_class(cloud(), y, rng=0)
    assert np.bincount(labels).tolist() == [36, 1, 2, 1]


def test_large_classes_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizing, "SAMPLE_BYTES", 1)
    X, y = cloud(1000, 2), np.arange(1000) % 2
    points, labels = RandomBase(4).choose_per_class(X, y, rng=0)
    assert np.bincount(labels).tolist() == [2, 2]
    for label in (0, 1):
        assert are_rows_of(points[labels == label], X[y == label])


# The parts


@given(st.integers(0, 300), st.lists(st.integers(1, 1000), min_size=1, max_size=30))
def test_shares_sum_to_m_and_leave_no_class_out(extra: int, sizes: list[int]) -> None:
    m = 2 * len(sizes) + extra
    shares = share_out(m, np.array(sizes))
    assert sum(shares) == m
    assert all(isinstance(share, int) for share in shares)
    assert all(share >= min(2, size) for share, size in zip(shares, sizes, strict=True))
    floor = sum(min(2, size) for size in sizes)
    for share, size in zip(shares, sizes, strict=True):
        exact = min(2, size) + (m - floor) * size / sum(sizes)
        assert abs(share - exact) < 1 + 1e-9


def test_equal_classes_share_alike_the_first_getting_more() -> None:
    assert share_out(10, np.array([5, 5, 5])) == [4, 3, 3]
    assert share_out(6, np.array([1000, 10, 10])) == [2, 2, 2]


def test_sample_size_is_256_rows_a_point_within_memory() -> None:
    assert sample_size(10**9, 16, 400) == 256 * 400
    assert sample_size(5000, 16, 400) == 5000
    # 320 MiB hold 40,960 rows of 2,048 features; never fewer than 64 rows a point, though.
    assert sample_size(10**9, 2048, 400) == 40_960
    assert sample_size(10**9, 2048, 1000) == 64_000
    assert sample_size(10**9, 10**9, 1) == 64


def test_a_sample_stands_for_large_data() -> None:
    X = np.arange(100_000.0)[:, None]
    chosen = RandomBase(10).choose(X, rng=0)
    assert are_rows_of(chosen, X.astype(np.float32))
    centers = np.sort(KMeansBase(10).choose(X, rng=0)[:, 0])
    assert np.diff(centers).max() < 25_000


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.uint8, object])
def test_minus_one_is_unlabeled(dtype: type) -> None:
    y: NDArray[Any] = np.array([0, 1, 255 if dtype is np.uint8 else -1, 2]).astype(dtype)
    assert is_labeled(y).tolist() == [True, True, dtype is np.uint8, True]
    assert is_labeled(np.array(["-1", "a", ""])).tolist() == [False, True, False]


@given(st.integers(1, 40), st.integers(1, 70), st.integers(0, 2**32))
def test_distinct_rows_are_numpys_unless_too_many(n: int, d: int, seed: int) -> None:
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


def test_kmeans_does_not_touch_its_points() -> None:
    X = cloud() + np.float32(1e4)
    kept = X.copy()
    kmeans(X, 10, 3, np.random.default_rng(0))
    np.testing.assert_array_equal(X, kept)


def test_strategies_are_scikit_learn_objects() -> None:
    strategy = KMeansBase(7, max_iter=3)
    assert clone(strategy).get_params() == {"m": 7, "max_iter": 3}
    assert repr(strategy) == "KMeansBase(n_base_points=7, max_iter=3)"
    assert RandomBase().m == KMeansBase().m == KMedoidsBase().m == "auto"


def nan_in_row(X: FloatArray, row: int) -> FloatArray:
    X[row, 0] = np.nan
    return X


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda X: RandomBase(0).choose(X), "m of RandomBase must be at least 1, got 0."),
        (
            lambda X: KMeansBase(5, max_iter=0).choose(X),
            "max_iter of KMeansBase must be at least 1, got 0.",
        ),
        (
            lambda X: KMedoidsBase(5, max_iter=0).choose(X),
            "max_iter of KMedoidsBase must be at least 1, got 0.",
        ),
        (
            lambda X: KMeansBase(5).choose(X[0]),
            "X of KMeansBase must be 2-dimensional (rows, features), got shape (6,). "
            "Reshape your data with X.reshape(1, -1) if it is one row.",
        ),
        (
            lambda X: KMeansBase(5).choose(nan_in_row(X, 217)),
            "X of KMeansBase must be finite, got NaN in row 217.",
        ),
        (
            lambda X: RandomBase(5).choose_per_class(X, np.arange(400) % 3),
            "m of RandomBase must be at least 6, got 5.",
        ),
        (
            lambda X: RandomBase(5).choose_per_class(X, [0, 1]),
            "y of RandomBase must be one label for each of the 400 rows of X, got shape (2,).",
        ),
        (
            lambda X: RandomBase(5).choose_per_class(X, np.full(400, -1)),
            "y of RandomBase must be labels of at least 1 class, got only -1.",
        ),
    ],
)
def test_error_sentences(call: Callable[[FloatArray], Any], sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        call(cloud())
    assert str(caught.value) == sentence


def test_m_is_an_integer() -> None:
    m: Any = 5.0
    with pytest.raises(TypeError, match=r"^m of KMeansBase must be an integer, got 5\.0\.$"):
        KMeansBase(m).choose(cloud())


# As many as the data call for


@pytest.mark.parametrize(
    ("n", "n_features", "m"),
    [(2, 5, 2), (300, 5, 300), (400, 5, 400), (8000, 64, 400), (20_000, 784, 2000)],
)
def test_small_data_have_400_base_points_and_others_one_for_ten_rows(
    n: int, n_features: int, m: int
) -> None:
    assert automatic_size(n, n_features).m == m


@pytest.mark.parametrize("n_features", [64, 128, 784])
def test_the_work_of_more_base_points_is_bounded(n_features: int) -> None:
    sizes = [automatic_size(n, n_features) for n in (30_000, 300_000, 3_000_000, 1_000_000_000)]
    assert sizes[-1].m == sizes[-2].m < 10_000
    for n, size in zip((30_000, 300_000, 3_000_000), sizes, strict=False):
        assert 400 <= size.m <= n // 10
        assert work(n, n_features, size.m) <= BUDGET * work(n, n_features, 400)
        assert f"{n:,} rows" in size.why


def test_a_number_that_was_asked_for_stays() -> None:
    assert KMeansBase(7).size(10**6, 10) == (7, "as asked for")
    with pytest.raises(ValueError, match="m of KMeansBase must be an integer or \"auto\", got 'a'"):
        KMeansBase("a").choose(np.eye(5))


def test_automatic_sizes_do_not_warn_of_duplicates() -> None:
    X = np.repeat(np.eye(3, dtype=np.float32), 5, axis=0)
    assert len(KMeansBase().choose(X, rng=0)) == 3


def test_many_centers_in_many_dimensions_are_found_along_few(monkeypatch: MonkeyPatch) -> None:
    """Near as good as in all dimensions, and no cluster is empty."""
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((6000, 20)) @ rng.standard_normal((20, 150))).astype(np.float32)
    X += 0.1 * rng.standard_normal(X.shape).astype(np.float32)
    monkeypatch.setattr(clusters, "PROJECT_FROM", 100)
    projected = kmeans(X, 200, 10, np.random.default_rng(0))
    monkeypatch.setattr(clusters, "PROJECT_FROM", 1000)
    plain = kmeans(X, 200, 10, np.random.default_rng(0))
    assert not np.array_equal(projected, plain)

    def distortion(centers: FloatArray) -> float:
        return float((cdist(X, centers).min(axis=1) ** 2).sum())

    assert distortion(projected) < 1.03 * distortion(plain)
    assert len(np.unique(cdist(X, projected).argmin(axis=1))) == 200
