"""Inductive Manifold Hashing: what its parameters do, what it refuses, how good its codes are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from reproduction.prototype import exact_induction
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from bitfold import embedding as e
from bitfold import metrics
from bitfold.base_set import BaseStrategy, KMeansBase, KMedoidsBase, RandomBase
from bitfold.hashers import IMH, Hasher, SupervisedIMH

Array = NDArray[Any]

EMBEDDINGS = {
    "tsne": e.TSNE(),
    "sne": e.SNE(),
    "ee": e.ElasticEmbedding(),
    "le": e.RelaxedLaplacian(),
    "le_b": e.LaplacianEigenmaps(),
    "lle": e.LLE(),
    "isomap": e.Isomap(),
    "dm": e.DiffusionMaps(),
    "pca": e.PCA(),
}
BASES: dict[str, BaseStrategy] = {
    "kmeans": KMeansBase(100, max_iter=10),
    "kmedoids": KMedoidsBase(100, max_iter=10),
    "random": RandomBase(100),
}


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Small problems on busy cores: threads that wait for each other take ten times as long."""
    with threadpool_limits(1):
        yield


class Split(NamedTuple):
    """Digits to learn from and search, and others to search for."""

    X: Array
    y: Array
    queries: Array
    query_labels: Array


@cache
def digits() -> Split:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    queries, database = order[:300], order[300:]
    return Split(X[database], y[database], X[queries], y[queries])


def small(**params: Any) -> IMH:
    """Return a quick IMH with some parameters changed."""
    quick: dict[str, Any] = {
        "n_bits": 8,
        "base": KMeansBase(40, max_iter=3),
        "embedding": e.PCA(),
        "random_state": 0,
    }
    return IMH(**quick | params)


def small_supervised(**params: Any) -> SupervisedIMH:
    """Return a quick SupervisedIMH with some parameters changed."""
    quick: dict[str, Any] = {
        "base": KMeansBase(60, max_iter=3),
        "embedding": e.PCA(),
        "n_components": 16,
        "random_state": 0,
    }
    return SupervisedIMH(**quick | params)


def few(n: int = 200) -> tuple[Array, Array]:
    return digits().X[:n], digits().y[:n]


def held_out_map(hasher: Hasher) -> float:
    X, y, queries, query_labels = digits()
    hasher.fit(X, y)
    return metrics.mean_average_precision(hasher.encode(queries), hasher.encode(X), query_labels, y)


@cache
def l2_map() -> float:
    """Return what ranking by the Euclidean distance of the raw vectors gives."""
    X, y, queries, query_labels = digits()
    relevant = query_labels[:, None] == y
    ranked = metrics.scan_histograms(pairwise_distances(queries, X), relevant)
    return float(metrics.average_precision(ranked).mean())


# How good the codes are


def test_sixteen_bits_beat_an_exact_scan_of_the_vectors() -> None:
    # Measured over four seeds: scan 0.655, codes 0.77 to 0.83.
    assert held_out_map(IMH(16, base=KMeansBase(200), random_state=0)) > l2_map() + 0.08


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_every_embedding_and_base_set_beat_chance_by_far(embedding: str, base: str) -> None:
    # Measured: 0.62 to 0.80, where chance is 0.10.
    assert held_out_map(IMH(16, base=BASES[base], embedding=embedding, random_state=0)) > 0.5


def test_labels_help_on_queries_never_seen() -> None:
    # Measured, mean of two seeds: 0.93 with labels, 0.86 without.
    with_labels, without = [], []
    for seed in range(2):
        base = KMeansBase(400, max_iter=10)
        with_labels.append(
            held_out_map(SupervisedIMH(9, base=base, n_components=16, random_state=seed))
        )
        without.append(held_out_map(IMH(9, base=base, random_state=seed)))
    assert np.mean(with_labels) > np.mean(without) + 0.03


# The base set


def test_the_embedding_does_not_move_the_base_set() -> None:
    X, y = few()
    expected = small().fit(X).base_set_
    for embedding in EMBEDDINGS.values():
        np.testing.assert_array_equal(small(embedding=embedding).fit(X).base_set_, expected)
    for other in ({"rotation": None}, {"k": 2}, {"n_bits": 3}, {"bandwidth": 1.0}):
        np.testing.assert_array_equal(small(**other).fit(X).base_set_, expected)
    labeled = small_supervised().fit(X, y).base_set_
    other_embedding = small_supervised(embedding=e.LLE(), n_components=9).fit(X, y).base_set_
    np.testing.assert_array_equal(other_embedding, labeled)


def test_the_seed_moves_the_base_set() -> None:
    X, _ = few()
    one, other = (small(random_state=seed).fit(X).base_set_ for seed in (0, 1))
    assert (one != other).any()


def test_base_points_are_in_the_coordinates_of_the_data() -> None:
    X, _ = few()
    X = X + 1000
    points = small(base=RandomBase(40)).fit(X).base_points_
    assert points.dtype == np.float64
    np.testing.assert_allclose(pairwise_distances(points, X).min(axis=1), 0, atol=1e-3)


def test_unlabeled_rows_are_no_base_points() -> None:
    X, y = few()
    X, y = X.copy(), y.copy()
    y[::2] = -1
    X[::2] += 500
    hasher = small_supervised().fit(X, y)
    assert hasher.base_points_.max() < 400
    # Only the classes of labeled rows count.
    with pytest.raises(ValueError, match="classes - 1 = 1, got 2"):
        small_supervised(n_bits=2).fit(X, np.where(y < 2, y, -1))


def test_unlabeled_rows_change_nothing_but_bandwidth_and_rotation() -> None:
    X, y = few()
    labeled = np.arange(len(X)) % 2 == 1
    partial = small_supervised(base=RandomBase(60)).fit(X, np.where(labeled, y, -1))
    alone = small_supervised(base=RandomBase(60)).fit(X[labeled], y[labeled])
    np.testing.assert_allclose(partial.base_points_, alone.base_points_, atol=1e-4)
    np.testing.assert_allclose(
        pairwise_distances(partial.base_embedding_),
        pairwise_distances(alone.base_embedding_),
        rtol=1e-3,
        atol=1e-3,
    )
    assert partial.bandwidth_ != alone.bandwidth_


def test_two_base_points_a_class_are_enough() -> None:
    X, y = few()
    assert small_supervised(base=KMeansBase(20)).fit(X, y).n_bits_ == 9


# Induction, rotation, signs


def test_with_all_points_as_base_set_induction_is_exact() -> None:
    X, _ = few(150)
    queries = digits().queries[:50] + np.random.default_rng(0).normal(0, 0.1, (50, 64))
    hasher = small(base=RandomBase(150), rotation=None).fit(X)
    np.testing.assert_allclose(hasher.base_points_, np.unique(X, axis=0), atol=1e-5)
    exact = exact_induction(
        queries, hasher.base_points_, hasher.base_embedding_, hasher.n_neighbors_, hasher.bandwidth_
    )
    np.testing.assert_allclose(hasher.embed(queries), exact, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("k", [1, 3, 40])
@pytest.mark.parametrize("bandwidth", [0.5, 20.0, 1e4])
def test_k_and_bandwidth_are_those_of_the_weights(k: int, bandwidth: float) -> None:
    X, _ = few()
    hasher = small(k=k, bandwidth=bandwidth, rotation=None).fit(X)
    assert (hasher.n_neighbors_, hasher.bandwidth_) == (k, bandwidth)
    exact = exact_induction(X, hasher.base_points_, hasher.base_embedding_, k, bandwidth)
    np.testing.assert_allclose(hasher.embed(X), exact, rtol=1e-3, atol=1e-2)


def test_without_rotation_bits_are_signs_of_the_centered_embedding() -> None:
    X, _ = few()
    hasher = small(rotation=None).fit(X)
    scale = np.abs(hasher.base_embedding_).mean()
    np.testing.assert_allclose(hasher.base_embedding_.mean(axis=0), 0, atol=1e-5 * scale)
    np.testing.assert_array_equal(hasher.bit_embedding_, hasher.base_embedding_)
    exact = exact_induction(X, hasher.base_points_, hasher.base_embedding_, 5, hasher.bandwidth_)
    clear = np.abs(exact) > 1e-3 * scale
    np.testing.assert_array_equal(hasher.transform(X)[clear], (exact > 0)[clear])


@pytest.mark.parametrize("hasher", [small(), small_supervised()], ids=lambda h: type(h).__name__)
def test_the_rotation_is_rigid_and_centers_the_data(hasher: Any) -> None:
    X, y = few()
    hasher.fit(X, y)
    plain, rotated = hasher.base_embedding_, hasher.bit_embedding_
    np.testing.assert_allclose(
        pairwise_distances(rotated), pairwise_distances(plain), rtol=1e-3, atol=1e-3
    )
    assert (rotated != plain).any()
    scale = np.abs(hasher.embed(X)).mean()
    np.testing.assert_allclose(hasher.embed(X).mean(axis=0), 0, atol=1e-4 * scale)


def test_more_neighbors_than_base_points_are_all_of_them() -> None:
    X, _ = few()
    asked = "k=50 nearest base points were asked for, but the base set has only 40;"
    with pytest.warns(UserWarning, match=asked):
        hasher = small(k=50).fit(X)
    assert hasher.n_neighbors_ == 40
    assert hasher.encode(X) == small(k=40).fit(X).encode(X)


# Strategies by name


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_an_embedding_by_name_is_its_default_object(name: str) -> None:
    X, _ = few()
    by_name, by_object = small(embedding=name), small(embedding=EMBEDDINGS[name])
    assert by_name.fit(X).encode(X) == by_object.fit(X).encode(X)
    assert by_name.embedding == name


@pytest.mark.parametrize(
    ("name", "kind"), [("kmeans", KMeansBase), ("kmedoids", KMedoidsBase), ("random", RandomBase)]
)
def test_a_base_by_name_has_the_default_size(name: str, kind: type[BaseStrategy]) -> None:
    X, y = few(450)
    by_name, by_object = small(base=name).fit(X), small(base=kind(400)).fit(X)
    np.testing.assert_array_equal(by_name.base_set_, by_object.base_set_)
    with pytest.warns(UserWarning, match="base points were asked for"):
        assert len(small_supervised(base=name).fit(X, y).base_set_) == len(np.unique(X, axis=0))


def test_the_defaults_are_k_means_and_t_sne() -> None:
    X, y = digits().X[:450], digits().y[:450]
    explicit = IMH(4, base=KMeansBase(400), embedding=e.TSNE(), random_state=0).fit(X)
    assert IMH(4, random_state=0).fit(X).encode(X) == explicit.encode(X)
    X, y = X[:120], y[:120]
    with pytest.warns(UserWarning, match="base points were asked for"):
        default = SupervisedIMH(random_state=0).fit(X, y)
        given = SupervisedIMH(base=KMeansBase(1000), embedding=e.TSNE(), random_state=0).fit(X, y)
    assert default.encode(X) == given.encode(X)


def test_a_strategy_is_not_shared_with_the_hasher() -> None:
    X, _ = few()
    embedding = e.TSNE(max_iter=50)
    hasher = small(embedding=embedding).fit(X)
    codes = hasher.encode(X)
    embedding.max_iter = 0
    assert hasher.encode(X) == codes


def test_grid_search_reaches_into_the_strategies() -> None:
    X, y = few()
    grid = {"embedding__perplexity": [2, 8], "base__n_base_points": [20, 60]}
    search = GridSearchCV(
        small(embedding=e.TSNE(max_iter=50)), grid, scoring=metrics.map_scorer, cv=2
    ).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(scores)) == 4
    assert scores.min() > 0.2
    best = search.best_estimator_
    assert {name: best.get_params()[name] for name in grid} == search.best_params_
    assert len(best.base_set_) == search.best_params_["base__n_base_points"]


# Progress


def test_progress_tells_the_stages_in_order() -> None:
    X, y = few()
    for hasher in (small(embedding=e.TSNE()), small_supervised(embedding=e.TSNE())):
        told: list[tuple[str, int, int]] = []
        hasher.fit(X, y, progress=lambda *step: told.append(step))  # noqa: B023
        assert list(dict.fromkeys(stage for stage, _, _ in told)) == [
            "base set",
            "embedding",
            "rotation",
        ]
        assert ("base set", told[0][2], told[0][2]) in told
        assert told[-1] == ("rotation", 1, 1)


# Little data


def test_two_rows_have_two_codes() -> None:
    X, _ = few(2)
    with pytest.warns(UserWarning) as told:
        codes = small(n_bits=1).fit(X).transform(X)
    assert sorted(codes.ravel()) == [0, 1]
    assert [str(warning.message) for warning in told] == [
        "40 base points were asked for, but there are only 2 distinct rows; "
        "all of them form the base set.",
        "k=5 nearest base points were asked for, but the base set has only 2; "
        "all of them carry every point.",
    ]


def test_fewer_rows_than_base_points_are_their_own_base_set() -> None:
    X, _ = few(30)
    twice = np.concatenate([X, X])
    asked = "40 base points were asked for, but there are only 30 distinct rows; all of them form"
    with pytest.warns(UserWarning, match=asked):
        hasher = small().fit(twice)
    np.testing.assert_allclose(hasher.base_points_, np.unique(X, axis=0), atol=1e-5)


def test_as_many_rows_as_base_points_need_no_warning() -> None:
    X, _ = few(40)
    assert len(small().fit(X).base_set_) == 40


# What is refused, and how

ONLY_NAMES = "'tsne', 'sne', 'ee', 'le', 'le_b', 'lle', 'isomap', 'dm', 'pca'"
WRONG: list[tuple[str, Any, type[Exception], str]] = [
    ("k", 0, ValueError, "k of {} must be at least 1, got 0."),
    ("k", 2.0, TypeError, "k of {} must be an integer, got 2.0."),
    ("k", None, TypeError, "k of {} must be an integer, got None."),
    ("bandwidth", 0, ValueError, "bandwidth of {} must be a finite number above 0, got 0."),
    ("bandwidth", -1.5, ValueError, "bandwidth of {} must be a finite number above 0, got -1.5."),
    ("bandwidth", np.nan, ValueError, "bandwidth of {} must be a finite number above 0, got nan."),
    ("bandwidth", np.inf, ValueError, "bandwidth of {} must be a finite number above 0, got inf."),
    ("bandwidth", "wide", TypeError, "bandwidth of {} must be a number, got 'wide'."),
    ("bandwidth", True, TypeError, "bandwidth of {} must be a number, got True."),
    (
        "bandwidth",
        1e-300,
        ValueError,
        "bandwidth of {} must be between 1e-150 and 1e150, got 1e-300.",
    ),
    (
        "bandwidth",
        1e300,
        ValueError,
        "bandwidth of {} must be between 1e-150 and 1e150, got 1e+300.",
    ),
    ("rotation", "pca", ValueError, "rotation of {} must be one of None, 'itq', got 'pca'."),
    ("rotation", True, ValueError, "rotation of {} must be one of None, 'itq', got True."),
    (
        "rotation",
        np.ones(2),
        ValueError,
        "rotation of {} must be one of None, 'itq', got array([1., 1.]).",
    ),
    (
        "embedding",
        "umap",
        ValueError,
        f"embedding of {{}} must be one of {ONLY_NAMES}, or an object of Embedding, got 'umap'.",
    ),
    (
        "embedding",
        3,
        ValueError,
        f"embedding of {{}} must be one of {ONLY_NAMES}, or an object of Embedding, got 3.",
    ),
    (
        "embedding",
        KMeansBase(9),
        ValueError,
        f"embedding of {{}} must be one of {ONLY_NAMES}, or an object of Embedding, "
        "got KMeansBase(n_base_points=9).",
    ),
    (
        "base",
        "grid",
        ValueError,
        "base of {} must be one of 'kmeans', 'kmedians', 'random', or an object of BaseStrategy, "
        "got 'grid'.",
    ),
    (
        "base",
        40,
        ValueError,
        "base of {} must be one of 'kmeans', 'kmedians', 'random', or an object of BaseStrategy, "
        "got 40.",
    ),
    (
        "base",
        KMeansBase,
        ValueError,
        "base of {} must be one of 'kmeans', 'kmedians', 'random', or an object of BaseStrategy, "
        f"got {KMeansBase!r}.",
    ),
    ("base", KMeansBase(40.0), TypeError, "m of KMeansBase must be an integer, got 40.0."),  # type: ignore[arg-type]
    ("base", KMeansBase(40, 0), ValueError, "max_iter of KMeansBase must be at least 1, got 0."),
    ("embedding", e.TSNE(0.5), ValueError, "perplexity of TSNE must be at least 1, got 0.5."),
]


@pytest.mark.parametrize(("name", "value", "kind", "says"), WRONG)
@pytest.mark.parametrize("make", [small, small_supervised])
def test_a_wrong_parameter_is_named(
    make: Any, name: str, value: Any, kind: type[Exception], says: str
) -> None:
    hasher = make(**{name: value})
    sentence = says.format(type(hasher).__name__)
    with pytest.raises(kind, match=f"^{re.escape(sentence)}$"):
        hasher.fit(*few())


@pytest.mark.parametrize("m", [-3, 0, 1])
def test_a_base_set_has_at_least_two_points(m: int) -> None:
    says = (
        "base of IMH must be at least 2 distinct points, got 1."
        if m == 1
        else f"m of RandomBase must be at least 1, got {m}."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        small(base=RandomBase(m), k=1).fit(*few())


def test_equal_rows_cannot_be_told_apart() -> None:
    rows = np.ones((30, 64))
    says = re.escape("base of IMH must be at least 2 distinct points, got 1.")
    with pytest.warns(UserWarning, match="1 distinct"), pytest.raises(ValueError, match=says):
        small(k=1).fit(rows)
    says = re.escape(
        "base of SupervisedIMH must be more than one point a class, for 3 classes, "
        "got 3 distinct points."
    )
    with pytest.warns(UserWarning, match="1 distinct"), pytest.raises(ValueError, match=says):
        small_supervised(k=1).fit(rows, np.arange(30) % 3)


@pytest.mark.parametrize(
    ("embedding", "n_bits", "says"),
    [
        ("le", 40, "n_bits of RelaxedLaplacian must be at most m - 1 = 39, got 40."),
        ("le_b", 40, "n_bits of LaplacianEigenmaps must be at most m - 1 = 39, got 40."),
        ("lle", 64, "n_bits of LLE must be at most m - 1 = 39, got 64."),
        ("isomap", 40, "n_bits of Isomap must be at most m - 1 = 39, got 40."),
        ("isomap", 39, "n_bits of Isomap must be at most the "),
        ("dm", 40, "n_bits of DiffusionMaps must be at most m - 1 = 39, got 40."),
        ("pca", 40, "n_bits of PCA must be at most m - 1 = 39, got 40."),
    ],
)
def test_dimensions_that_do_not_exist_are_named(embedding: str, n_bits: int, says: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(says)}"):
        small(embedding=embedding, n_bits=n_bits).fit(*few())


def test_pca_has_no_more_dimensions_than_the_data() -> None:
    X, _ = few()
    with pytest.raises(ValueError, match=r"^n_bits of PCA must be at most n_features=6, got 8\.$"):
        small().fit(X[:, 20:26])


@pytest.mark.parametrize("embedding", ["tsne", "sne", "ee"])
def test_descents_have_as_many_dimensions_as_one_likes(embedding: str) -> None:
    X, _ = few()
    assert small(embedding=embedding, n_bits=64).fit(X).encode(X).n_bits == 64


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"n_bits": 10}, "n_bits of SupervisedIMH must be at most classes - 1 = 9, got 10."),
        (
            {"n_bits": 5, "n_components": 4},
            "n_bits of SupervisedIMH must be at most n_components = 4, got 5.",
        ),
        ({"n_components": 0}, "n_components of SupervisedIMH must be at least 1, got 0."),
        ({"base": KMeansBase(19)}, "m of KMeansBase must be at least 20, got 19."),
    ],
)
def test_supervision_has_its_limits(params: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        small_supervised(**params).fit(*few())


def test_without_a_length_codes_are_as_long_as_they_can_be() -> None:
    X, y = few()
    assert small_supervised().fit(X, y).n_bits_ == 9
    assert small_supervised(n_components=4).fit(X, y).n_bits_ == 4
    assert small_supervised(n_bits=3).fit(X, y).n_bits_ == 3
    assert small_supervised().fit(X, y % 2).n_bits_ == 1


def test_a_code_length_or_seed_may_be_a_number_of_numpy() -> None:
    X, _ = few()
    hasher = small(n_bits=np.int64(8), k=np.int32(5), random_state=np.uint8(0)).fit(X)
    assert hasher.encode(X) == small().fit(X).encode(X)


def test_more_classes_than_the_embedding_has_dimensions_by_default() -> None:
    many = np.random.default_rng(0).standard_normal((900, 8)).astype(np.float32)
    labels = np.repeat(np.arange(300), 3)
    settings: dict[str, Any] = {"base": KMeansBase(600), "embedding": "le_b", "random_state": 0}
    assert SupervisedIMH(**settings).fit(many, labels).n_bits_ == 256
    assert SupervisedIMH(280, **settings).fit(many, labels).n_bits_ == 280
