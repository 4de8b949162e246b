"""Base sets that several runs of an experiment share."""

from __future__ import annotations

import numpy as np
import pytest
from reproduction.records import Case
from reproduction.retrieval import code
from reproduction.shared import SharedBase, seconds_saved

from bitfold import datasets
from bitfold.base_set import KMeansBase, KMedoidsBase, RandomBase
from bitfold.hashers import IMH
from reproduction import shared

X = datasets.digits().database[:600]


@pytest.fixture(autouse=True)
def _nothing_chosen() -> None:
    shared._chosen.clear()


@pytest.mark.parametrize(
    ("way", "plain"), [("kmeans", KMeansBase), ("kmedoids", KMedoidsBase), ("random", RandomBase)]
)
def test_codes_are_those_of_a_set_chosen_anew(way: str, plain: type[KMeansBase]) -> None:
    own = IMH(16, base=plain(50), random_state=0).fit(X)
    for _ in range(2):
        # The second time it is taken over, and t-SNE still begins where it did.
        ours = IMH(16, base=SharedBase(50, way), random_state=0).fit(X)
        np.testing.assert_array_equal(ours.base_embedding_, own.base_embedding_)
    assert len(shared._chosen) == 1


def test_other_rows_seeds_sizes_and_ways_are_other_sets() -> None:
    SharedBase(50).choose(X, rng=0)
    SharedBase(50).choose(X[::-1].copy(), rng=0)
    SharedBase(50).choose(X, rng=1)
    SharedBase(51).choose(X, rng=0)
    SharedBase(50, "random").choose(X, rng=0)
    assert len(shared._chosen) == 5


def test_the_oldest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "MOST", 2)
    for seed in (0, 1, 0, 2):
        SharedBase(50, "random").choose(X, rng=seed)
    before = seconds_saved()
    SharedBase(50, "random").choose(X, rng=0)
    assert seconds_saved() > before
    before = seconds_saved()
    SharedBase(50, "random").choose(X, rng=1)
    assert seconds_saved() == before


def test_the_time_of_choosing_counts_every_time() -> None:
    data = datasets.digits()
    options = (("base", "kmeans"), ("k", 5), ("m", 100))
    case = Case("digits", "IMH-PCA", 16, options=options)
    first = code(case, data, None)
    taken = {key: known._replace(seconds=1000.0) for key, known in shared._chosen.items()}
    shared._chosen.update(taken)
    again = code(case, data, None)
    assert again.database == first.database
    assert again.fit > 1000 > first.fit
