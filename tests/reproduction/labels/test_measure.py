"""What is measured of codes from labels, on scikit-learn's digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reproduction.labels.cases import ALL, CONTENDERS, FEW, SEVEN, UNSUPERVISED, make_case
from reproduction.labels.measure import (
    EVERY,
    QUALITY,
    SEEN,
    UNSEEN,
    make_hasher,
    measure_labels,
    select_training,
    split_queries,
)

from bitfold.datasets import Dataset, digits
from bitfold.hashers import FSDH

METHOD = "FSDH(64)"


@pytest.fixture(scope="module")
def data() -> Dataset:
    return digits(80)


def test_hasher_has_the_seed_of_the_case() -> None:
    assert make_hasher(make_case("digits", METHOD, ALL, 3)).get_params()["random_state"] == 3


def test_training_data_with_all_labels(data: Dataset) -> None:
    train = select_training(make_case("digits", METHOD, ALL), data)
    assert train.rows is data.train
    np.testing.assert_array_equal(train.labels, data.labels)


def test_few_rows_are_labeled(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reproduction.labels.measure.N_LABELS", 100)
    train = select_training(make_case("digits", METHOD, FEW, 1), data)
    labeled = train.labels != -1
    assert (len(train.rows), labeled.sum()) == (len(data.train), 100)
    np.testing.assert_array_equal(train.labels[labeled], np.asarray(data.labels)[labeled])


def test_three_classes_are_left_out(data: Dataset) -> None:
    case = make_case("digits", METHOD, SEVEN, 1)
    train = select_training(case, data)
    assert set(train.labels.tolist()) == {0, 1, 2, 6, 7, 8, 9}
    assert len(train.rows) == len(train.labels)
    groups = split_queries(case, np.asarray(data.query_labels))
    assert set(np.asarray(data.query_labels)[groups[UNSEEN]]) == {3, 4, 5}
    assert (groups[SEEN] ^ groups[UNSEEN]).all()


def test_result_has_both_rankings(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    small = CONTENDERS[METHOD]._replace(make=lambda: FSDH(64, n_anchors=200))
    monkeypatch.setitem(CONTENDERS, METHOD, small)
    result = measure_labels(make_case("digits", METHOD, ALL), data)
    assert list(result["groups"]) == [EVERY]
    for values in result["groups"][EVERY].values():
        assert set(values) == set(QUALITY)
        assert values["map"] > 90
    assert result["n_queries"] == 40
    left_out = measure_labels(make_case("digits", METHOD, SEVEN), data)
    seen, unseen = (left_out["groups"][name]["asymmetric"]["map"] for name in (SEEN, UNSEEN))
    # Codes of classes that were not in training are worse.
    assert seen > 85 > unseen + 10


def test_method_without_labels_gets_none(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[object] = []

    class Spy(FSDH):
        def fit(self, X: Any, y: Any = None, **options: Any) -> Spy:
            given.append(y)
            super().fit(X, data.labels)
            return self

    spy = CONTENDERS[UNSUPERVISED]._replace(make=lambda: Spy(16, n_anchors=50))
    monkeypatch.setitem(CONTENDERS, UNSUPERVISED, spy)
    measure_labels(make_case("digits", UNSUPERVISED, ALL), data)
    assert given == [None]
