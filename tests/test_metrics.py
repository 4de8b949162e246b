"""Metrics: examples worked by hand, queries without answers, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from bitfold.codes import Codes
from bitfold.metrics import (
    DistanceHistograms,
    average_precision,
    distance_histograms,
    lookup,
    map_scorer,
    mean_average_precision,
    scan_histograms,
)

# At distances 0, 1, 1, 2 from the query 00.
DATABASE = Codes.from_bits([[0, 0], [0, 1], [1, 0], [1, 1]])
LABELS = ["a", "a", "b", "b"]
QUERIES = Codes.from_bits([[0, 0], [1, 1], [0, 0]])
QUERY_LABELS = ["a", "a", "c"]


@pytest.fixture
def worked() -> DistanceHistograms:
    return distance_histograms(QUERIES, DATABASE, QUERY_LABELS, LABELS)


def test_histograms_by_hand(worked: DistanceHistograms) -> None:
    assert worked.found.tolist() == [[1, 2, 1]] * 3
    assert worked.relevant.tolist() == [[1, 1, 0], [0, 1, 1], [0, 0, 0]]


def test_average_precision_by_hand(worked: DistanceHistograms) -> None:
    # 00: first hit certain; the second is second or third, precision 1 or 2/3.
    first = (1 + (1 + 2 / 3) / 2) / 2
    # 11: a hit is second or third, precision 1/2 or 1/3; the last hit is fourth, precision 2/4.
    second = ((1 / 2 + 1 / 3) / 2 + 2 / 4) / 2
    np.testing.assert_allclose(average_precision(worked), [first, second, 0.0], rtol=1e-14)
    got = mean_average_precision(QUERIES, DATABASE, QUERY_LABELS, LABELS)
    assert got == pytest.approx((first + second) / 3, rel=1e-14)


def test_lookup_by_hand(worked: DistanceHistograms) -> None:
    exact = lookup(worked, 0)
    assert exact.precision == pytest.approx((1 + 0 + 0) / 3)
    assert exact.recall == pytest.approx((1 / 2 + 0 + 0) / 3)
    assert exact.f1 == pytest.approx(2 * (1 / 3) * (1 / 6) / (1 / 3 + 1 / 6))
    near = lookup(worked, 1)
    assert near.precision == pytest.approx((2 / 3 + 1 / 3 + 0) / 3)
    assert near.recall == pytest.approx((1 + 1 / 2 + 0) / 3)


def test_radius_two_is_the_default(worked: DistanceHistograms) -> None:
    assert lookup(worked) == lookup(worked, 2)


def test_a_radius_beyond_the_code_finds_everything(worked: DistanceHistograms) -> None:
    assert lookup(worked, 2) == lookup(worked, 3) == lookup(worked, 10**6)
    assert lookup(worked, 3).recall == pytest.approx(2 / 3)


def test_a_lookup_that_finds_nothing_has_precision_zero() -> None:
    far = distance_histograms(Codes.from_bits([[1, 1, 1]]), DATABASE_OF_ZEROS, [0], [0, 0])
    assert lookup(far, 2) == (0.0, 0.0, 0.0)
    assert lookup(far, 3) == (1.0, 1.0, 1.0)


DATABASE_OF_ZEROS = Codes.from_bits([[0, 0, 0], [0, 0, 0]])


def test_queries_without_relevant_items_count_as_zero() -> None:
    assert mean_average_precision(QUERIES, DATABASE, ["x", "y", "z"], LABELS) == 0.0
    assert lookup(distance_histograms(QUERIES, DATABASE, [7, 8, 9], [1, 1, 1, 1]), 9).recall == 0


def test_an_empty_database_has_nothing_to_find() -> None:
    histograms = distance_histograms(QUERIES, DATABASE[:0], QUERY_LABELS, [])
    assert not histograms.found.any()
    np.testing.assert_array_equal(average_precision(histograms), [0, 0, 0])


def test_all_tied_is_the_share_of_relevant_items_and_a_little_more() -> None:
    # Every order equally likely: the mean over positions i of (1 + (i - 1)(r - 1)/(t - 1)) / i.
    t, r = 1000, 100
    i = np.arange(1, t + 1)
    expected = np.mean((1 + (i - 1) * (r - 1) / (t - 1)) / i)
    got = average_precision(DistanceHistograms(np.array([[t]]), np.array([[r]])))[0]
    assert got == pytest.approx(expected, rel=1e-12)
    assert r / t < got < r / t + 0.01


def test_ten_million_items_lose_no_precision_that_matters() -> None:
    # Ten million irrelevant codes, then ten relevant: precision i / (10⁷ + i).
    n = 10_000_000
    histograms = DistanceHistograms(np.array([[n, 10]]), np.array([[0, 10]]))
    expected = np.mean([i / (n + i) for i in range(1, 11)])
    assert average_precision(histograms)[0] == pytest.approx(expected, abs=1e-8)


def test_scan_histograms_group_equal_distances() -> None:
    got = scan_histograms([[0.5, 2.0, 0.5, 1.0]], [[True, True, False, False]])
    assert got.found.tolist() == [[2, 1, 1, 0]]
    assert got.relevant.tolist() == [[1, 0, 1, 0]]
    one = scan_histograms([0.5, 2.0, 0.5, 1.0], [1, 1, 0, 0])
    np.testing.assert_array_equal(one.found, got.found)
    np.testing.assert_array_equal(one.relevant, got.relevant)


def test_a_scan_ranks_as_scikit_learn_does() -> None:
    rng = np.random.default_rng(0)
    distances, relevant = rng.random((20, 300)), rng.random((20, 300)) < 0.1
    expected = [average_precision_score(r, -d) for d, r in zip(distances, relevant, strict=True)]
    got = average_precision(scan_histograms(distances, relevant))
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_scan_and_hamming_agree() -> None:
    rng = np.random.default_rng(1)
    bits, labels = rng.integers(0, 2, (80, 12)), rng.integers(4, size=80)
    codes = Codes.from_bits(bits)
    by_codes = distance_histograms(codes[:7], codes, labels[:7], labels)
    distances = (bits[:7, None] != bits).sum(axis=2)
    by_scan = scan_histograms(distances, labels[:7, None] == labels)
    np.testing.assert_allclose(average_precision(by_codes), average_precision(by_scan), rtol=1e-12)


class Encoder:
    """A fitted hasher, as far as a scorer is concerned."""

    def encode(self, X: NDArray[Any]) -> Codes:
        return Codes.from_bits(X)


def test_map_scorer_leaves_the_row_itself_out() -> None:
    X = np.array([[0, 0], [0, 0], [1, 1], [1, 1]])
    assert map_scorer(Encoder(), X, [0, 0, 1, 1]) == pytest.approx(1.0)
    # Alone in its class nothing is left to be found: all queries score 0.
    assert map_scorer(Encoder(), X, [0, 1, 2, 3]) == 0.0
    # The twin is of the other class, the answer shares the last place with one that is not.
    assert map_scorer(Encoder(), X, [0, 1, 0, 1]) == pytest.approx((1 / 2 + 1 / 3) / 2)


def test_map_scorer_equals_a_loop_over_the_others() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 2, (30, 6)), rng.integers(3, size=30)
    codes = Codes.from_bits(X)
    expected = [
        mean_average_precision(codes[i], codes[others], y[i : i + 1], y[others])
        for i in range(30)
        for others in [np.arange(30) != i]
    ]
    assert map_scorer(Encoder(), X, y) == pytest.approx(np.mean(expected))


def test_labels_may_be_anything_that_compares() -> None:
    numbers = mean_average_precision(QUERIES, DATABASE, [0, 0, 2], [0, 0, 1, 1])
    for query_labels, labels in (
        (QUERY_LABELS, LABELS),
        ([0.0, 0.0, 2.0], [0.0, 0.0, 1.0, 1.0]),
        ([-5, -5, 2**40], [-5, -5, 7, 7]),
        (np.array([[0], [0], [2]]), [0, 0, 1, 1]),
    ):
        assert mean_average_precision(QUERIES, DATABASE, query_labels, labels) == numbers


def test_inputs_are_left_alone() -> None:
    packed, labels = DATABASE.packed.copy(), np.array([1, 1, 0, 0])
    distance_histograms(QUERIES, DATABASE, [1, 1, 2], labels)
    np.testing.assert_array_equal(DATABASE.packed, packed)
    np.testing.assert_array_equal(labels, [1, 1, 0, 0])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: distance_histograms(DATABASE_OF_ZEROS, DATABASE, [0, 0], LABELS),
            "queries of metrics must be codes of 2 bits, got 3.",
        ),
        (
            lambda: distance_histograms(QUERIES, DATABASE, ["a"], LABELS),
            "y of the queries must be one label for each of the 3 rows of X, got shape (1,).",
        ),
        (
            lambda: distance_histograms(QUERIES, DATABASE, QUERY_LABELS, LABELS[:3]),
            "y of the database must be one label for each of the 4 rows of X, got shape (3,).",
        ),
        (
            lambda: scan_histograms([[1.0, 2.0]], [[True, True, False]]),
            "relevant of metrics must be of shape (1, 2), got shape (1, 3).",
        ),
        (
            lambda: lookup(scan_histograms([1.0], [True]), -1),
            "radius of lookup must be at least 0, got -1.",
        ),
    ],
)
def test_error_sentences(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value) == sentence


def test_a_radius_is_an_integer() -> None:
    radius: Any = 1.5
    with pytest.raises(TypeError, match=r"^radius of lookup must be an integer, got 1\.5\.$"):
        lookup(scan_histograms([1.0], [True]), radius)
