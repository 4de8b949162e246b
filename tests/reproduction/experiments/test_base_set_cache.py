"""Base sets that several cases share."""

from __future__ import annotations

import numpy as np
import pytest
from reproduction.experiments.base_set_cache import CACHE, make_base_strategy
from reproduction.experiments.retrieval import measure_retrieval
from reproduction.records import Case

from bitfold import datasets
from bitfold.base_set import KMeansBase, KMedoidsBase
from bitfold.hashers import IMH
from reproduction.experiments import base_set_cache

X = datasets.digits().database[:600]


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    CACHE.base_sets.clear()


def choose(name: str = "kmeans", n: int = 50, rows: slice = slice(600), seed: int = 0) -> None:
    strategy = make_base_strategy(name, n, f"digits {rows}")
    strategy.choose(X[rows], rng=np.random.default_rng(seed))


@pytest.mark.parametrize(("name", "plain"), [("kmeans", KMeansBase), ("kmedoids", KMedoidsBase)])
def test_models_are_those_without_a_cache(name: str, plain: type[KMeansBase]) -> None:
    expected = IMH(16, base=plain(50), random_state=0).fit(X)
    for _ in range(2):
        # The second base set is cached, and t-SNE still starts from the same random numbers.
        hasher = IMH(16, base=make_base_strategy(name, 50, "digits"), random_state=0).fit(X)
        np.testing.assert_array_equal(hasher.base_embedding_, expected.base_embedding_)
    assert len(CACHE.base_sets) == 1


def test_key_contains_data_seed_size_and_strategy() -> None:
    choose()
    choose(rows=slice(500))
    choose(seed=1)
    choose(n=51)
    choose("kmedoids")
    assert len(CACHE.base_sets) == 5


def test_nothing_is_cached_without_a_name() -> None:
    make_base_strategy("kmeans", 50, "").choose(X, rng=np.random.default_rng(0))
    choose("random")
    assert len(CACHE.base_sets) == 0


def test_least_recently_used_base_set_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_set_cache, "MAX_BASE_SETS", 2)
    for seed in (0, 1, 0, 2):
        choose(seed=seed)
    before = CACHE.saved_seconds
    choose(seed=0)
    assert CACHE.saved_seconds > before
    before = CACHE.saved_seconds
    choose(seed=1)
    assert CACHE.saved_seconds == before


def test_time_of_a_cached_base_set_counts() -> None:
    data = datasets.digits()
    options = (("base", "kmeans"), ("n_base_points", 100), ("n_neighbors", 5))
    case = Case("digits", "IMH-PCA", 16, options=options)
    first = measure_retrieval(case, data)
    slow = {key: found._replace(seconds=1000.0) for key, found in CACHE.base_sets.items()}
    CACHE.base_sets.update(slow)
    again = measure_retrieval(case, data)
    assert again["map"] == first["map"]
    assert again["fit_seconds"] > 1000 > first["fit_seconds"]
