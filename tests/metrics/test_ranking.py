"""Measures of a ranking with ties, against the mean over all orders of the ties."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.metrics import average_precision_score
from tests.metrics.cases import (
    DATABASE,
    LABELS,
    QUERIES,
    QUERY_LABELS,
    Case,
    cases,
    measure_one_order,
)

from bitfold.codes import Codes
from bitfold.errors import ParameterError
from bitfold.metrics import (
    DistanceHistograms,
    Relevance,
    average_precision,
    distance_histograms,
    precision_at,
    ranking_curves,
    recall_at,
    scan_histograms,
)


@pytest.fixture
def histograms() -> DistanceHistograms:
    return distance_histograms(QUERIES, DATABASE, QUERY_LABELS, LABELS)


Ranking = tuple[list[int], list[bool]]
"""Distances of the items, and whether each is relevant."""


@st.composite
def rankings(draw: st.DrawFn, max_items: int = 60, max_distance: int = 5) -> Ranking:
    """Draw distances with many ties, and which items are relevant."""
    n = draw(st.integers(1, max_items))
    distances = draw(st.lists(st.integers(0, max_distance), min_size=n, max_size=n))
    relevant = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return distances, relevant


def test_average_precision_by_hand(histograms: DistanceHistograms) -> None:
    # 00: first hit certain; the second is second or third, precision 1 or 2/3.
    first = (1 + (1 + 2 / 3) / 2) / 2
    # 11: a hit is second or third, precision 1/2 or 1/3; the last hit is fourth, precision 2/4.
    second = ((1 / 2 + 1 / 3) / 2 + 2 / 4) / 2
    np.testing.assert_allclose(average_precision(histograms), [first, second, 0.0], rtol=1e-14)


@given(rankings(max_items=6, max_distance=2))
@settings(max_examples=60)
def test_average_precision_is_the_mean_over_all_orders(ranking: Ranking) -> None:
    distances, relevant = ranking
    # Stable sorts of all permutations give each order of the ties equally often.
    orders = [
        sorted(order, key=distances.__getitem__)
        for order in itertools.permutations(range(len(distances)))
    ]
    expected = np.mean(
        [
            measure_one_order(np.array([relevant[i] for i in order]), len(order))[2]
            for order in orders
        ]
    )
    got = average_precision(scan_histograms(distances, relevant))
    assert got.shape == (1,)
    assert got[0] == pytest.approx(expected, abs=1e-12)


@given(st.data())
def test_curves_are_the_mean_over_all_orders(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 6))
    distances = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    relevant = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    # Stable sorts of all permutations give each order of the ties equally often.
    orders = [
        sorted(order, key=distances.__getitem__) for order in itertools.permutations(range(n))
    ]
    cutoffs = np.arange(1, n + 1)
    expected = [
        np.mean([measure_one_order(relevant[order], int(N)) for order in orders], axis=0)
        for N in cutoffs
    ]
    got = ranking_curves(scan_histograms(distances, relevant), cutoffs)
    np.testing.assert_array_equal(got.cutoffs, cutoffs)
    measured = np.stack([curve[0] for curve in got[1:]], axis=1)
    np.testing.assert_allclose(measured, expected, atol=1e-13)


@given(rankings())
def test_average_precision_is_from_0_to_1(ranking: Ranking) -> None:
    distances, relevant = ranking
    got = average_precision(scan_histograms(distances, relevant))[0]
    assert -1e-12 <= got <= 1 + 1e-12
    assert (got > 0) == any(relevant)


@given(st.integers(1, 200), st.integers(0, 2**32))
def test_without_ties_equals_scikit_learn(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    distances, relevant = rng.permutation(n).astype(float), rng.random(n) < 0.3
    relevant[rng.integers(n)] = True
    expected = average_precision_score(relevant, -distances)
    got = average_precision(scan_histograms(distances, relevant))[0]
    assert got == pytest.approx(expected, abs=1e-12)


def test_scan_equals_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    distances, relevant = rng.random((20, 300)), rng.random((20, 300)) < 0.1
    expected = [average_precision_score(r, -d) for d, r in zip(distances, relevant, strict=True)]
    got = average_precision(scan_histograms(distances, relevant))
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_all_items_tied() -> None:
    # All orders are equally likely: the mean over positions i of (1 + (i - 1)(r - 1)/(t - 1)) / i.
    t, r = 1000, 100
    i = np.arange(1, t + 1)
    expected = np.mean((1 + (i - 1) * (r - 1) / (t - 1)) / i)
    got = average_precision(DistanceHistograms(np.array([[t]]), np.array([[r]])))[0]
    assert got == pytest.approx(expected, rel=1e-12)
    assert r / t < got < r / t + 0.01


def test_ten_million_items() -> None:
    # Ten million irrelevant codes, then ten relevant: precision i / (10⁷ + i).
    n = 10_000_000
    histograms = DistanceHistograms(np.array([[n, 10]]), np.array([[0, 10]]))
    expected = np.mean([i / (n + i) for i in range(1, 11)])
    assert average_precision(histograms)[0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("before", [0, 1, 49, 50, 60, 1000, 10**7])
def test_precisions_late_in_the_ranking_are_accurate(before: int) -> None:
    t, r = 10, 4
    histograms = DistanceHistograms(np.array([[before, t]]), np.array([[0, r]]))
    # Position i is relevant with probability r/t, after (i - 1)(r - 1)/(t - 1) others.
    places = [
        Fraction(r, t) * (1 + Fraction((i - 1) * (r - 1), t - 1)) / (before + i)
        for i in range(1, t + 1)
    ]
    assert average_precision(histograms)[0] == pytest.approx(float(sum(places) / r), rel=1e-9)


@given(cases(), st.data())
def test_few_cutoffs_are_columns_of_all(case: Case, data: st.DataObject) -> None:
    n = len(case.database)
    some = sorted(data.draw(st.sets(st.integers(1, n), min_size=1)))
    histograms = distance_histograms(case.queries, case.database, case.relevance)
    few, every = ranking_curves(histograms, some), ranking_curves(histograms, range(1, n + 1))
    for a, b in zip(few[1:], every[1:], strict=True):
        np.testing.assert_allclose(a, b[:, np.array(some) - 1], atol=1e-14)


@given(cases())
def test_one_cutoff_is_a_point_of_the_curves(case: Case) -> None:
    histograms = distance_histograms(case.queries, case.database, case.relevance)
    N = (len(case.database) + 1) // 2
    curves = ranking_curves(histograms, [N])
    np.testing.assert_array_equal(precision_at(histograms, N), curves.precision[:, 0])
    np.testing.assert_array_equal(recall_at(histograms, N), curves.recall[:, 0])
    np.testing.assert_array_equal(average_precision(histograms, N), curves.average_precision[:, 0])


@given(cases())
def test_last_cutoff_counts_all_items(case: Case) -> None:
    n = len(case.database)
    histograms = distance_histograms(case.queries, case.database, case.relevance)
    np.testing.assert_allclose(
        average_precision(histograms, n), average_precision(histograms), atol=1e-14
    )
    np.testing.assert_allclose(recall_at(histograms, n), case.relevant.any(axis=1), atol=1e-14)
    np.testing.assert_allclose(precision_at(histograms, n), case.relevant.mean(axis=1))


def test_cutoff_within_a_tie() -> None:
    # One hit, then four tied items with two hits, then five items without hits.
    histograms = DistanceHistograms(np.array([[1, 4, 5]]), np.array([[1, 2, 0]]))
    assert precision_at(histograms, 1)[0] == 1
    assert precision_at(histograms, 3)[0] == pytest.approx(2 / 3)
    assert recall_at(histograms, 3)[0] == pytest.approx(2 / 3)
    assert recall_at(histograms, 5)[0] == recall_at(histograms, 10)[0] == 1
    # At 2: precision 1 at the first item; the second is a hit in half of the orders.
    assert average_precision(histograms, 2)[0] == pytest.approx((1 + 1 / 2) / 2)


def test_default_cutoffs() -> None:
    histograms = DistanceHistograms(np.array([[10**6], [10**6]]), np.array([[10], [0]]))
    grid = ranking_curves(histograms).cutoffs
    assert grid[0] == 1
    assert grid[-1] == 10**6
    assert (np.diff(grid) > 0).all()
    assert 80 < len(grid) <= 100
    small = DistanceHistograms(np.array([[7]]), np.array([[1]]))
    assert ranking_curves(small).cutoffs.tolist() == [1, 2, 3, 4, 5, 6, 7]


def test_empty_database() -> None:
    queries = Codes.from_bits([[0, 1]])
    histograms = distance_histograms(queries, queries[:0], Relevance.from_labels([0], []))
    assert ranking_curves(histograms).precision.shape == (1, 0)


def test_no_queries() -> None:
    codes = Codes.from_bits([[0, 1]])
    histograms = distance_histograms(codes[:0], codes, Relevance.from_labels([], [0]))
    assert ranking_curves(histograms).recall.shape == (0, 0)


HALF: Any = 1.5


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda histograms: ranking_curves(histograms, [2, 2]), "[2, 2]"),
        (
            lambda histograms: ranking_curves(histograms, np.array([2, 1], np.uint8)),
            "array([2, 1], dtype=uint8)",
        ),
        (lambda histograms: average_precision(histograms, HALF), "[1.5]"),
        (lambda histograms: precision_at(histograms, 5), 5),
        (lambda histograms: recall_at(histograms, 0), 0),
    ],
)
def test_wrong_cutoffs(
    histograms: DistanceHistograms, call: Callable[[DistanceHistograms], object], value: object
) -> None:
    with pytest.raises(ParameterError) as error:
        call(histograms)
    assert (error.value.name, str(error.value.value)) == ("cutoffs", str(value))
