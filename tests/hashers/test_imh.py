"""Inductive Manifold Hashing: quality of the codes, parameters, errors, and the path of fit."""

from __future__ import annotations

import os
import subprocess
import sys
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
from bitfold.errors import ParameterError
from bitfold.hashers import IMH, Hasher
from bitfold.hashers.imh import fit_imh
from bitfold.hashers.strategies import BASE_STRATEGIES, EMBEDDINGS
from bitfold.io.rows import Rows

Array = NDArray[Any]

BASES: dict[str, BaseStrategy] = {
    "kmeans": KMeansBase(100, max_iter=10),
    "kmedoids": KMedoidsBase(100, max_iter=10),
    "random": RandomBase(100),
}


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Use one thread: on busy cores, the threads of a small problem wait for each other."""
    with threadpool_limits(1):
        yield


class Split(NamedTuple):
    """Digits to learn from and search, and other digits as queries."""

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


# Quality


def test_sixteen_bits_are_better_than_the_vectors() -> None:
    # Measured over ten seeds: scan 0.655, codes 0.67 to 0.81, 0.74 in the mean.
    found = [held_out_map(IMH(16, base=KMeansBase(200), random_state=seed)) for seed in range(4)]
    assert np.mean(found) > l2_map() + 0.04


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_every_embedding_works_with_every_base_set(embedding: str, base: str) -> None:
    # Measured: 0.62 to 0.80, where chance is 0.10.
    assert held_out_map(IMH(16, base=BASES[base], embedding=embedding, random_state=0)) > 0.5


# The base set


def test_the_base_set_does_not_depend_on_other_parameters() -> None:
    X, _ = few()
    expected = small().fit(X).base_set_
    for embedding in EMBEDDINGS:
        np.testing.assert_array_equal(small(embedding=embedding).fit(X).base_set_, expected)
    for other in ({"rotation": None}, {"n_neighbors": 2}, {"n_bits": 3}, {"bandwidth": 1.0}):
        np.testing.assert_array_equal(small(**other).fit(X).base_set_, expected)


def test_the_base_set_depends_on_the_seed() -> None:
    X, _ = few()
    one, other = (small(random_state=seed).fit(X).base_set_ for seed in (0, 1))
    assert (one != other).any()


def test_base_points_are_in_the_coordinates_of_the_data() -> None:
    X, _ = few()
    X = X + 1000
    points = small(base=RandomBase(40)).fit(X).base_points_
    assert points.dtype == np.float64
    np.testing.assert_allclose(pairwise_distances(points, X).min(axis=1), 0, atol=1e-3)


def test_the_reason_of_the_size_is_a_sentence() -> None:
    X, _ = few()
    assert small().fit(X).base_size_reason_ == "40 base points (as requested)."
    automatic = small(base=None).fit(digits().X)
    expected = "400 base points (the minimum; chosen from 1,497 rows)."
    assert automatic.base_size_reason_ == expected


# Induction, rotation, signs


def test_induction_is_exact_if_all_rows_are_base_points() -> None:
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
def test_n_neighbors_and_bandwidth_determine_the_weights(k: int, bandwidth: float) -> None:
    X, _ = few()
    hasher = small(n_neighbors=k, bandwidth=bandwidth, rotation=None).fit(X)
    assert (hasher.n_neighbors_, hasher.bandwidth_) == (k, bandwidth)
    exact = exact_induction(X, hasher.base_points_, hasher.base_embedding_, k, bandwidth)
    np.testing.assert_allclose(hasher.embed(X), exact, rtol=1e-3, atol=1e-2)


def test_without_rotation_bits_are_signs_of_the_embedding() -> None:
    X, _ = few()
    hasher = small(rotation=None).fit(X)
    scale = np.abs(hasher.base_embedding_).mean()
    np.testing.assert_allclose(hasher.base_embedding_.mean(axis=0), 0, atol=1e-5 * scale)
    np.testing.assert_array_equal(hasher.bit_embedding_, hasher.base_embedding_)
    exact = exact_induction(X, hasher.base_points_, hasher.base_embedding_, 5, hasher.bandwidth_)
    clear = np.abs(exact) > 1e-3 * scale
    np.testing.assert_array_equal(hasher.transform(X)[clear], (exact > 0)[clear])


def test_the_rotation_is_rigid_and_centers_the_data() -> None:
    X, _ = few()
    hasher = small().fit(X)
    plain, rotated = hasher.base_embedding_, hasher.bit_embedding_
    np.testing.assert_allclose(
        pairwise_distances(rotated), pairwise_distances(plain), rtol=1e-3, atol=1e-3
    )
    assert (rotated != plain).any()
    scale = np.abs(hasher.embed(X)).mean()
    np.testing.assert_allclose(hasher.embed(X).mean(axis=0), 0, atol=1e-4 * scale)


def test_too_many_neighbors_are_all_base_points() -> None:
    X, _ = few()
    with pytest.warns(UserWarning, match="n_neighbors=50 is more than the 40 base points"):
        hasher = small(n_neighbors=50).fit(X)
    assert hasher.n_neighbors_ == 40
    assert hasher.encode(X) == small(n_neighbors=40).fit(X).encode(X)


# Strategies by name


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_an_embedding_by_name_is_its_default_object(name: str) -> None:
    X, _ = few()
    by_name, by_object = small(embedding=name), small(embedding=EMBEDDINGS[name]())
    assert by_name.fit(X).encode(X) == by_object.fit(X).encode(X)
    assert by_name.embedding == name


@pytest.mark.parametrize("name", BASE_STRATEGIES)
def test_a_base_by_name_has_the_default_size(name: str) -> None:
    X, _ = few(450)
    by_name, by_object = small(base=name).fit(X), small(base=BASE_STRATEGIES[name](400)).fit(X)
    np.testing.assert_array_equal(by_name.base_set_, by_object.base_set_)


def test_the_defaults_are_kmeans_and_tsne() -> None:
    X = digits().X[:450]
    explicit = IMH(4, base=KMeansBase(400), embedding=e.TSNE(), random_state=0).fit(X)
    assert IMH(4, random_state=0).fit(X).encode(X) == explicit.encode(X)


def test_a_changed_strategy_does_not_change_the_codes() -> None:
    X, _ = few()
    embedding = e.TSNE(max_iter=50)
    hasher = small(embedding=embedding).fit(X)
    codes = hasher.encode(X)
    embedding.max_iter = 0
    assert hasher.encode(X) == codes


def test_grid_search_sets_parameters_of_the_strategies() -> None:
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


# Fitting


def test_progress_reports_the_stages_in_order() -> None:
    X, _ = few()
    reports: list[tuple[str, int, int]] = []
    small(embedding=e.TSNE()).fit(X, progress=lambda *step: reports.append(step))
    assert list(dict.fromkeys(stage for stage, _, _ in reports)) == [
        "mean",
        "base set",
        "embedding",
        "rotation",
    ]
    assert ("base set", 3, 3) in reports
    assert reports[-1] == ("rotation", 1, 1)


def test_fit_sets_the_state_of_the_pure_function() -> None:
    X, _ = few()
    hasher = small().fit(X)
    rows = Rows.centered(X, "IMH")
    base = KMeansBase(40, max_iter=3)
    state = fit_imh(rows, 8, base=base, embedding=e.PCA(), random_state=0)
    for name, value in state._asdict().items():
        np.testing.assert_array_equal(getattr(hasher, name), value)


def test_a_failed_fit_changes_nothing() -> None:
    X, _ = few()
    hasher = small().fit(X)
    before = dict(vars(hasher))
    hasher.embedding = e.TSNE(perplexity=0.5)
    with pytest.raises(ParameterError):
        hasher.fit(X[:, :30])
    assert vars(hasher) == before | {"embedding": hasher.embedding}
    fresh = small(n_bits=63, embedding="lle")
    with pytest.raises(ParameterError):
        fresh.fit(X)
    assert not [name for name in vars(fresh) if name.endswith("_")]


PATH_OF_FIT = r"""
import sys
from pathlib import Path

import numpy as np
from numba.core.dispatcher import Dispatcher
from sklearn.datasets import load_digits

import bitfold
from bitfold.hashers import IMH
from bitfold.base_set import KMeansBase

root, files = str(Path(bitfold.__file__).parent), set()
array = load_digits().data.astype(sys.argv[1])
hasher = IMH(16, base=KMeansBase(50))

def record(frame, event, argument):
    if event == "call" and frame.f_code.co_filename.startswith(root):
        files.add(frame.f_code.co_filename)

sys.setprofile(record)
hasher.fit(array)
sys.setprofile(None)
for name, module in list(sys.modules.items()):
    if name.startswith("bitfold._kernels."):
        kernels = [value for value in vars(module).values() if isinstance(value, Dispatcher)]
        # A kernel that was called has been compiled, or loaded from the cache.
        if any(kernel.signatures and kernel.py_func.__module__ == name for kernel in kernels):
            files.add(module.__file__)
print(*sorted(Path(name).relative_to(root).as_posix() for name in files), sep="\n")
"""


MAX_FILES = 15
"""Number of files that one has to read to understand ``IMH.fit``."""


def list_path_of_fit(dtype: str) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-c", PATH_OF_FIT, dtype],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return run.stdout.split()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_files_lie_on_the_path_of_fit(dtype: str) -> None:
    files = list_path_of_fit(dtype)
    if len(files) > MAX_FILES:
        # Compiling a kernel compiles those that it calls; loaded from the cache, it is alone.
        files = list_path_of_fit(dtype)
    assert "hashers/imh.py" in files
    assert "_kernels/base_points.py" in files
    assert len(files) <= MAX_FILES, files


# Few rows


def test_two_rows_have_two_codes() -> None:
    X, _ = few(2)
    with pytest.warns(UserWarning) as caught:
        codes = small(n_bits=1).fit(X).transform(X)
    assert sorted(codes.ravel()) == [0, 1]
    messages = [str(warning.message) for warning in caught]
    assert "only 2 distinct rows" in messages[0]
    assert "n_neighbors=5 is more than the 2 base points" in messages[1]


def test_few_distinct_rows_are_the_base_set() -> None:
    X, _ = few(30)
    with pytest.warns(UserWarning, match="there are only 30 distinct rows"):
        hasher = small().fit(np.concatenate([X, X]))
    np.testing.assert_allclose(hasher.base_points_, np.unique(X, axis=0), atol=1e-5)


def test_as_many_rows_as_base_points_do_not_warn() -> None:
    X, _ = few(40)
    assert len(small().fit(X).base_set_) == 40


# Errors

INVALID: list[tuple[str, Any, type[Exception], str]] = [
    ("n_neighbors", 0, ValueError, "at least 1"),
    ("n_neighbors", 2.0, TypeError, "an integer"),
    ("n_neighbors", None, TypeError, "an integer"),
    ("bandwidth", 0, ValueError, "above 0"),
    ("bandwidth", -1.5, ValueError, "above 0"),
    ("bandwidth", np.nan, ValueError, "finite"),
    ("bandwidth", np.inf, ValueError, "finite"),
    ("bandwidth", "wide", ValueError, "a number"),
    ("bandwidth", True, TypeError, "a number"),
    ("bandwidth", 1e-300, ValueError, "between 1e-150 and 1e150"),
    ("bandwidth", 1e300, ValueError, "between 1e-150 and 1e150"),
    ("rotation", "pca", ValueError, "None, 'itq'"),
    ("rotation", True, ValueError, "None, 'itq'"),
    ("rotation", np.ones(2), ValueError, "None, 'itq'"),
    ("embedding", "umap", ValueError, "'tsne', 'sne', 'ee', 'le', 'le_b'"),
    ("embedding", 3, ValueError, "an object of Embedding"),
    ("embedding", KMeansBase(9), ValueError, "an object of Embedding"),
    ("base", "grid", ValueError, "'kmeans', 'kmedoids', 'random'"),
    ("base", 40, ValueError, "an object of BaseStrategy"),
    ("base", KMeansBase, ValueError, "an object of BaseStrategy"),
    ("n_bits", 0, ValueError, "at least 1"),
    ("n_bits", 3.0, TypeError, "an integer"),
]


@pytest.mark.parametrize(("name", "value", "kind", "requirement"), INVALID)
def test_invalid_parameters(name: str, value: Any, kind: type[Exception], requirement: str) -> None:
    with pytest.raises(kind, match=requirement) as caught:
        small(**{name: value}).fit(few()[0])
    assert isinstance(caught.value, ParameterError)
    assert (caught.value.name, caught.value.owner) == (name, "IMH")


@pytest.mark.parametrize(
    ("params", "name", "owner"),
    [
        ({"base": KMeansBase(40.0)}, "n_base_points", "KMeansBase"),  # type: ignore[arg-type]
        ({"base": KMeansBase(40, 0)}, "max_iter", "KMeansBase"),
        ({"base": RandomBase(0)}, "n_base_points", "RandomBase"),
        ({"base": RandomBase(1), "n_neighbors": 1}, "base", "IMH"),
        ({"embedding": e.TSNE(0.5)}, "perplexity", "TSNE"),
    ],
)
def test_invalid_strategies(params: dict[str, Any], name: str, owner: str) -> None:
    with pytest.raises(ParameterError) as caught:
        small(**params).fit(few()[0])
    assert (caught.value.name, caught.value.owner) == (name, owner)


def test_equal_rows_are_an_error() -> None:
    with (
        pytest.warns(UserWarning, match="1 distinct"),
        pytest.raises(ParameterError, match="got 1"),
    ):
        small(n_neighbors=1).fit(np.ones((30, 64)))


@pytest.mark.parametrize(
    ("embedding", "n_bits", "limit"),
    [
        ("le", 40, "base points - 1 = 39"),
        ("le_b", 40, "base points - 1 = 39"),
        ("lle", 64, "base points - 1 = 39"),
        ("isomap", 40, "base points - 1 = 39"),
        ("isomap", 39, "at most the "),
        ("dm", 40, "base points - 1 = 39"),
        ("pca", 40, "base points - 1 = 39"),
    ],
)
def test_n_bits_is_limited_by_the_embedding(embedding: str, n_bits: int, limit: str) -> None:
    with pytest.raises(ParameterError, match=limit) as caught:
        small(embedding=embedding, n_bits=n_bits).fit(few()[0])
    assert (caught.value.name, caught.value.value) == ("n_bits", n_bits)


def test_n_bits_of_pca_is_limited_by_the_features() -> None:
    with pytest.raises(ParameterError, match="n_features=6"):
        small().fit(few()[0][:, 20:26])


@pytest.mark.parametrize("embedding", ["tsne", "sne", "ee"])
def test_n_bits_of_stochastic_embeddings_is_not_limited(embedding: str) -> None:
    X, _ = few()
    assert small(embedding=embedding, n_bits=64).fit(X).encode(X).n_bits == 64


def test_numpy_integers_are_accepted() -> None:
    X, _ = few()
    hasher = small(n_bits=np.int64(8), n_neighbors=np.int32(5), random_state=np.uint8(0)).fit(X)
    assert hasher.encode(X) == small().fit(X).encode(X)
