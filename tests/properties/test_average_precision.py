"""Average precision with ties: the mean over all orders, within [0, 1]."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.metrics import average_precision_score

from bitfold.metrics import DistanceHistograms, average_precision, lookup, scan_histograms

Ranking = tuple[list[int], list[bool]]


@st.composite
def rankings(draw: st.DrawFn, max_items: int = 60, max_distance: int = 5) -> Ranking:
    """Distances with many ties, and which items are relevant."""
    n = draw(st.integers(1, max_items))
    distances = draw(st.lists(st.integers(0, max_distance), min_size=n, max_size=n))
    relevant = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return distances, relevant


def of_one_order(relevant: list[bool]) -> float:
    """Average precision by its definition."""
    precisions = [sum(relevant[: i + 1]) / (i + 1) for i, right in enumerate(relevant) if right]
    return sum(precisions) / len(precisions) if precisions else 0.0


@given(rankings(max_items=6, max_distance=2))
@settings(max_examples=60)
def test_equals_the_mean_over_all_orders_of_the_ties(ranking: Ranking) -> None:
    distances, relevant = ranking
    # Sorting all permutations stably runs through all orders of every tie, equally often.
    orders = [
        sorted(order, key=distances.__getitem__)
        for order in itertools.permutations(range(len(distances)))
    ]
    expected = np.mean([of_one_order([relevant[i] for i in order]) for order in orders])
    got = average_precision(scan_histograms(distances, relevant))
    assert got.shape == (1,)
    assert got[0] == pytest.approx(expected, abs=1e-12)


@given(rankings())
def test_lies_between_none_and_all(ranking: Ranking) -> None:
    distances, relevant = ranking
    got = average_precision(scan_histograms(distances, relevant))[0]
    assert -1e-12 <= got <= 1 + 1e-12
    assert (got > 0) == any(relevant)


@given(rankings(), st.integers(0, 2**32))
def test_the_order_of_the_database_cannot_flatter(ranking: Ranking, seed: int) -> None:
    distances, relevant = (np.array(values) for values in ranking)
    order = np.random.default_rng(seed).permutation(len(distances))
    here = scan_histograms(distances, relevant)
    there = scan_histograms(distances[order], relevant[order])
    np.testing.assert_array_equal(here.found, there.found)
    np.testing.assert_array_equal(here.relevant, there.relevant)


@given(st.integers(1, 200), st.integers(0, 2**32))
def test_without_ties_it_is_scikit_learns(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    distances, relevant = rng.permutation(n).astype(float), rng.random(n) < 0.3
    relevant[rng.integers(n)] = True
    expected = average_precision_score(relevant, -distances)
    got = average_precision(scan_histograms(distances, relevant))[0]
    assert got == pytest.approx(expected, abs=1e-12)


@given(rankings(), st.integers(0, 8))
def test_lookup_equals_a_count(ranking: Ranking, radius: int) -> None:
    distances, relevant = ranking
    # A column per distance, as Hamming histograms have them.
    found, right = (
        np.bincount(distances, weights, minlength=6)[None].astype(np.int64)
        for weights in (None, relevant)
    )
    got = lookup(DistanceHistograms(found, right), radius)
    hits = [r for d, r in zip(distances, relevant, strict=True) if d <= radius]
    precision = sum(hits) / len(hits) if hits else 0.0
    recall = sum(hits) / sum(relevant) if any(relevant) else 0.0
    assert got.precision == pytest.approx(precision)
    assert got.recall == pytest.approx(recall)
    assert 0 <= got.f1 <= max(precision, recall) + 1e-12
