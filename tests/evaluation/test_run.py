"""Fit, encode and measure."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bitfold import datasets, metrics
from bitfold.datasets import Dataset
from bitfold.errors import ParameterError
from bitfold.evaluation import (
    Evaluation,
    evaluate,
    fit_and_encode,
    measure_map,
    search_exact,
    warm_up,
)
from bitfold.evaluation.code_quality import CUTOFFS
from bitfold.hashers import ITQ, KSH, LSH, SupervisedIMH


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return datasets.digits(n_queries=100)


@pytest.fixture(scope="module")
def evaluation(dataset: Dataset) -> Evaluation:
    return evaluate(ITQ(16, random_state=0), dataset)


def test_quality_is_that_of_the_metrics(dataset: Dataset, evaluation: Evaluation) -> None:
    hasher = ITQ(16, random_state=0).fit(dataset.database)
    queries, database = hasher.encode(dataset.queries), hasher.encode(dataset.database)
    histograms = metrics.distance_histograms(queries, database, dataset.relevance)
    quality = evaluation.quality
    assert quality.map == pytest.approx(metrics.average_precision(histograms).mean())
    assert (quality.precision, quality.recall, quality.f1) == metrics.lookup(histograms, 2)
    assert quality.precision_at == pytest.approx(
        [metrics.precision_at(histograms, n).mean() for n in quality.cutoffs]
    )
    assert quality.recall_at == pytest.approx(
        [metrics.recall_at(histograms, n).mean() for n in quality.cutoffs]
    )


def test_cutoffs_fit_the_database(dataset: Dataset, evaluation: Evaluation) -> None:
    n_rows = len(dataset.database)
    assert evaluation.quality.cutoffs == tuple(n for n in CUTOFFS if n <= n_rows)


def test_times_are_measured(evaluation: Evaluation) -> None:
    assert min(evaluation.fit_seconds, evaluation.encode_us, evaluation.query_ms) > 0
    assert evaluation.n_bits == 16


def test_record_is_json_in_percent(evaluation: Evaluation) -> None:
    record = json.loads(json.dumps(evaluation.to_record()))
    assert record["map"] == pytest.approx(100 * evaluation.quality.map)
    assert record["f1"] == evaluation.quality.f1
    assert record["precision_at"][0] == round(100 * evaluation.quality.precision_at[0], 3)
    assert set(record) == {
        "map", "cutoffs", "precision_at", "recall_at", "precision", "recall", "f1",
        "fit_seconds", "encode_us", "test_ms",
    }  # fmt: skip


def test_first_hits_are_measured_against_the_exact_search(dataset: Dataset) -> None:
    exact = search_exact(dataset.database, dataset.queries, dataset.relevance)
    result = evaluate(ITQ(16, random_state=0), dataset, exact=exact)
    assert result.top is not None
    hasher = ITQ(16, random_state=0).fit(dataset.database)
    expected = measure_map(
        hasher, hasher.encode(dataset.database), dataset.queries, dataset.relevance
    )
    assert result.top.map == pytest.approx(expected)
    assert result.top.map != result.quality.map
    assert exact.chance.recall_10 < result.top.recall_10 < 1
    record = json.loads(json.dumps(result.to_record()))
    assert record["recall_10"] == result.top.recall_10
    assert record["search_map"] == result.top.map
    assert record["map"] == pytest.approx(100 * result.quality.map)


def test_training_rows_may_differ_from_the_database(dataset: Dataset) -> None:
    separate = Dataset(dataset.database, dataset.queries, train=dataset.database[:50])
    encoded = fit_and_encode(ITQ(8, random_state=0), separate)
    expected = ITQ(8, random_state=0).fit(dataset.database[:50])
    assert encoded.database == expected.encode(dataset.database)


def test_labels_reach_the_hasher(dataset: Dataset) -> None:
    hasher = KSH(8, n_anchors=60, n_samples=120, random_state=0)
    encoded = fit_and_encode(hasher, dataset)
    assert encoded.hasher is hasher
    assert len(encoded.queries) == len(dataset.queries)


def test_progress_is_reported(dataset: Dataset) -> None:
    stages: list[tuple[Any, ...]] = []
    fit_and_encode(LSH(8, random_state=0), dataset, progress=lambda *call: stages.append(call))
    assert stages


def test_impossible_code_length_is_an_error(dataset: Dataset) -> None:
    with pytest.raises(ParameterError) as caught:
        evaluate(ITQ(65), dataset)
    assert (caught.value.name, caught.value.value) == ("n_bits", 65)


def test_warm_up_leaves_the_hasher_unfitted(dataset: Dataset) -> None:
    hasher = ITQ(16)
    warm_up(hasher, dataset)
    assert not hasattr(hasher, "n_bits_")


def test_warm_up_ignores_data_that_are_too_small(dataset: Dataset) -> None:
    few = Dataset(dataset.database[:3], dataset.queries, dataset.labels[:3], dataset.query_labels)
    warm_up(SupervisedIMH(9), few)
