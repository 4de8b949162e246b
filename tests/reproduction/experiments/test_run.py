"""Running cases, and what is measured in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from reproduction.data.loader import DataLoader
from reproduction.experiments.methods import SCAN
from reproduction.experiments.run import run_cases
from reproduction.records import Case, RunRecords
from reproduction.shared_types import ProgressCallback, Record

from bitfold import datasets, metrics
from bitfold.errors import ParameterError


@contextmanager
def show(case: Case) -> Iterator[ProgressCallback]:
    yield lambda stage, done, total: None


def run(*cases: Case) -> list[Record]:
    return run_cases(cases, RunRecords(), DataLoader(), show)


def test_retrieval_has_quality_and_times() -> None:
    (record,) = run(Case("digits", "ITQ", 16, n_queries=300))
    result = record["result"]
    assert 30 < result["map"] < 100
    assert {"f1", "precision_at", "recall_at", "encode_us", "test_ms"} <= result.keys()
    assert result["fit_seconds"] > 0


def test_scan_equals_exact_ranking() -> None:
    (record,) = run(Case("digits", SCAN, 0, n_queries=300, measure="scan"))
    data = datasets.digits(300)
    distances = ((data.queries[:, None] - data.database[None]) ** 2).sum(axis=2)
    histograms = metrics.scan_histograms(distances, data.query_labels[:, None] == data.labels)
    expected = 100 * metrics.average_precision(histograms).mean()
    assert record["result"]["map"] == pytest.approx(expected, abs=0.01)


def test_classification_of_codes_and_of_vectors() -> None:
    codes, vectors = run(
        Case("digits", "ITQ", 32, n_queries=300, measure="classification"),
        Case("digits", SCAN, 0, n_queries=300, measure="classification"),
    )
    assert 80 < codes["result"]["accuracy"] < vectors["result"]["accuracy"]


def test_impossible_length_is_recorded() -> None:
    (record,) = run(Case("digits", "ITQ", 128, n_queries=300))
    assert "n_bits" in record["result"]["error"]


def test_other_errors_are_raised() -> None:
    with pytest.raises(ParameterError, match="n_queries"):
        run(Case("digits", "ITQ", 16, n_queries=5000))
