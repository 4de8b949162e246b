"""Precision and recall within a radius."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from tests.metrics.cases import (
    DATABASE,
    LABELS,
    QUERIES,
    QUERY_LABELS,
    Case,
    cases,
)

from bitfold.codes import Codes
from bitfold.errors import ParameterError
from bitfold.metrics import (
    DistanceHistograms,
    distance_histograms,
    lookup,
    precision_recall_curve,
)


@pytest.fixture
def histograms() -> DistanceHistograms:
    return distance_histograms(QUERIES, DATABASE, QUERY_LABELS, LABELS)


def test_lookup_by_hand(histograms: DistanceHistograms) -> None:
    exact = lookup(histograms, 0)
    assert exact.precision == pytest.approx((1 + 0 + 0) / 3)
    assert exact.recall == pytest.approx((1 / 2 + 0 + 0) / 3)
    assert exact.f1 == pytest.approx(2 * (1 / 3) * (1 / 6) / (1 / 3 + 1 / 6))
    near = lookup(histograms, 1)
    assert near.precision == pytest.approx((2 / 3 + 1 / 3 + 0) / 3)
    assert near.recall == pytest.approx((1 + 1 / 2 + 0) / 3)


def test_default_radius_is_2(histograms: DistanceHistograms) -> None:
    assert lookup(histograms) == lookup(histograms, 2)


def test_large_radius_finds_all(histograms: DistanceHistograms) -> None:
    assert lookup(histograms, 2) == lookup(histograms, 3) == lookup(histograms, 10**6)
    assert lookup(histograms, 3).recall == pytest.approx(2 / 3)


def test_lookup_that_finds_nothing() -> None:
    zeros = Codes.from_bits([[0, 0, 0], [0, 0, 0]])
    far = distance_histograms(Codes.from_bits([[1, 1, 1]]), zeros, [0], [0, 0])
    assert lookup(far, 2) == (0.0, 0.0, 0.0)
    assert lookup(far, 3) == (1.0, 1.0, 1.0)


def test_queries_without_relevant_items() -> None:
    assert lookup(distance_histograms(QUERIES, DATABASE, [7, 8, 9], [1, 1, 1, 1]), 9).recall == 0


@given(st.integers(1, 60), st.integers(0, 8), st.integers(0, 2**32))
def test_lookup_equals_a_count(n: int, radius: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    distances, relevant = rng.integers(0, 6, n), rng.random(n) < rng.random()
    # One column per distance, like Hamming histograms.
    n_found, n_relevant = (
        np.bincount(distances, weights, minlength=6)[None].astype(np.int64)
        for weights in (None, relevant)
    )
    got = lookup(DistanceHistograms(n_found, n_relevant), radius)
    hits = relevant[distances <= radius]
    precision = hits.mean() if len(hits) else 0.0
    recall = hits.sum() / relevant.sum() if relevant.any() else 0.0
    assert got.precision == pytest.approx(precision)
    assert got.recall == pytest.approx(recall)
    assert 0 <= got.f1 <= max(precision, recall) + 1e-12


@given(cases())
def test_curve_is_a_lookup_at_every_radius(case: Case) -> None:
    histograms = distance_histograms(case.queries, case.database, case.relevance)
    for empty in ("zero", "skip"):
        curve = precision_recall_curve(histograms, empty=empty)
        assert curve.radius.tolist() == list(range(case.queries.n_bits + 1))
        assert (np.diff(curve.recall) >= -1e-14).all()
        for radius in {0, 1, case.queries.n_bits}:
            found = case.distances <= radius
            hits = (found & case.relevant).sum(axis=1)
            counted = found.any(axis=1) | (empty == "zero")
            precisions = hits / np.maximum(found.sum(axis=1), 1)
            precision = precisions[counted].mean() if counted.any() else np.nan
            recall = (hits / np.maximum(case.relevant.sum(axis=1), 1)).mean()
            f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
            expected = [precision, recall, f1]
            got = [float(values[radius]) for values in curve[1:]]
            np.testing.assert_allclose(got, expected, atol=1e-14)
            np.testing.assert_equal(lookup(histograms, radius, empty=empty), tuple(got))


def test_empty_lookups_are_zero_or_skipped() -> None:
    codes = Codes.from_bits([[0, 0, 0], [1, 1, 1]])
    histograms = distance_histograms(codes, codes[:1], ["a", "a"], ["a"])
    assert lookup(histograms, 0) == (0.5, 0.5, 0.5)
    assert lookup(histograms, 0, empty="skip") == pytest.approx((1, 1 / 2, 2 / 3))
    none_found = distance_histograms(codes[1:], codes[:1], ["a"], ["a"])
    assert lookup(none_found, 2) == (0, 0, 0)
    precision, recall, f1 = lookup(none_found, 2, empty="skip")
    assert np.isnan([precision, f1]).all()
    assert recall == 0


HALF: Any = 1.5


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        (lambda histograms: lookup(histograms, -1), "radius", -1),
        (lambda histograms: lookup(histograms, HALF), "radius", "1.5"),
        (lambda histograms: lookup(histograms, empty="nan"), "empty", "'nan'"),
    ],
)
def test_wrong_parameters(
    histograms: DistanceHistograms,
    call: Callable[[DistanceHistograms], object],
    name: str,
    value: object,
) -> None:
    with pytest.raises(ParameterError) as error:
        call(histograms)
    assert (error.value.name, str(error.value.value)) == (name, str(value))
