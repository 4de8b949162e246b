"""What is measured of one coarse hasher, on scikit-learn's digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from reproduction.kind_and_order.cases import EXACT, MEASURE, WEIGHTS, Setting, make_case
from reproduction.kind_and_order.measure import (
    QUALITY,
    make_hasher,
    measure_rankings,
    measure_setting,
    replace_fine_part,
)
from reproduction.records import Case
from reproduction.which_code.quality import judge_queries

from bitfold import DualHasher
from bitfold.datasets import Dataset, digits


@pytest.fixture(scope="module")
def data() -> Dataset:
    loaded = digits(40)
    # 128 features, so that ITQ has enough for the fine bits of every length.
    wide = [np.hstack([X, X**2]) for X in (loaded.database, loaded.queries)]
    return replace(loaded, database=wide[0], queries=wide[1], train=wide[0])


@pytest.fixture(scope="module")
def hasher(data: Dataset) -> DualHasher:
    return make_hasher(Setting(8), make_case("digits", Setting(8))).fit(data.train)


def test_other_fine_part_gives_the_hasher_of_that_length(data: Dataset, hasher: DualHasher) -> None:
    expected = DualHasher(64, n_coarse_bits=8, random_state=0).fit(data.train)
    shorter = replace_fine_part(hasher, data.train, 64)
    assert shorter.encode(data.queries) == expected.encode(data.queries)
    np.testing.assert_allclose(
        shorter.embed(data.queries), expected.embed(data.queries), rtol=1e-4, atol=1e-4
    )
    assert (hasher.n_bits_, hasher.encode(data.queries).n_bits) == (128, 128)


def test_result_has_an_entry_per_length_and_ranking(data: Dataset) -> None:
    result = measure_setting(make_case("digits", Setting(16)), data)
    entries = [(entry["n_bits"], entry["ranking"]) for entry in result["rankings"]]
    assert entries == [(n, name) for n in (128, 64) for name in ("Hamming", "asymmetric")]
    assert result["n_base_points"] == 400
    assert result["reason"].startswith("400 base points")
    assert (result["n_queries"], result["n_features"]) == (20, 128)
    for entry in result["rankings"]:
        assert entry.keys() - {"n_bits", "ranking", "coarse_weight"} == set(QUALITY)
        assert entry["precision_10"] > 90
        assert 20 < entry["recall_10"] < entry["rescored_40"] <= 100


def test_number_of_base_points_is_that_of_the_setting() -> None:
    hasher = make_hasher(Setting(32, 70), Case("digits", "DualHasher", 128, seed=3))
    assert hasher.coarse is not None
    assert hasher.coarse.get_params()["base"].n_base_points == 70
    assert (hasher.n_bits, hasher.n_coarse_bits, hasher.random_state) == (128, 32, 3)


def test_weights_change_rankings_but_not_the_hasher(data: Dataset, hasher: DualHasher) -> None:
    queries, before = judge_queries(data, slice(0, 20)), hasher.coarse_weight
    entries = list(measure_rankings(hasher, data, queries, WEIGHTS))
    assert [entry.get("coarse_weight") for entry in entries] == [None, *WEIGHTS]
    assert len({entry["map"] for entry in entries}) > 3
    assert hasher.coarse_weight == before


def test_first_half_of_the_queries_is_measured(data: Dataset) -> None:
    case = Case("digits", EXACT, 0, measure=MEASURE)
    labels = np.array(data.query_labels)
    labels[20:] = -1  # relevant to nothing
    result = measure_setting(case, replace(data, query_labels=labels))
    assert result == measure_setting(case, data)
    labels[:20] = -1
    wrong = measure_setting(case, replace(data, query_labels=labels))
    assert wrong["rankings"][0]["precision_10"] == 0


def test_only_recall_is_measured_without_labels(data: Dataset, hasher: DualHasher) -> None:
    unlabeled = replace(data, labels=None, query_labels=None)
    result = measure_setting(Case("digits", EXACT, 0, measure=MEASURE), unlabeled)
    assert set(result["rankings"][0]) == {"ranking", "recall_10", "rescored_40"}
