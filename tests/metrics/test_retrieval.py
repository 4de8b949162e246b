"""Rankings cut off after N items: by ties against all orders, by id against a stable sort."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from bitfold.codes import Codes
from bitfold.metrics import (
    DistanceHistograms,
    Relevance,
    average_precision,
    average_precision_by_id,
    distance_histograms,
    lookup,
    mean_average_precision,
    precision_at,
    precision_recall_curve,
    ranking_curves,
    ranking_curves_by_id,
    recall_at,
    scan_histograms,
)

Bools = NDArray[np.bool_]
Measures = tuple[float, float, float]


def of_one_order(relevant: Bools, N: int) -> Measures:
    """Precision, recall and average precision of the first N, by their definitions."""
    hits = np.cumsum(relevant)
    precisions = (hits / np.arange(1, len(relevant) + 1))[:N][relevant[:N]]
    total = int(relevant.sum())
    if not total:
        return 0.0, 0.0, 0.0
    return hits[N - 1] / N, hits[N - 1] / total, precisions.sum() / min(N, total)


class Case(NamedTuple):
    """Codes, and which of the database is relevant to which query."""

    queries: Codes
    database: Codes
    relevance: Relevance
    relevant: Bools

    @property
    def distances(self) -> NDArray[np.int64]:
        difference = self.queries.unpack()[:, None] != self.database.unpack()
        return np.asarray(difference.sum(axis=2), np.int64)


def one_label(rng: np.random.Generator, q: int, n: int) -> tuple[Relevance, Bools]:
    a, b = rng.integers(-1, 3, q), rng.integers(-1, 3, n)
    return Relevance.labels(a, b), np.equal.outer(a, b)


def many_labels(rng: np.random.Generator, q: int, n: int) -> tuple[Relevance, Bools]:
    a, b = rng.random((q, 70)) < 0.02, rng.random((n, 70)) < 0.2
    return Relevance.labels(a, b.astype(float)), np.any(a[:, None] & b, axis=2)


def neighbors(rng: np.random.Generator, q: int, n: int) -> tuple[Relevance, Bools]:
    relevant = rng.random((q, n)) < 0.3
    # Unsorted, padded, and with one id said twice.
    lists = [rng.permutation(np.flatnonzero(row)) for row in relevant]
    ids = np.full((q, n + 2), -1, np.int32)
    for row, known in zip(ids, lists, strict=True):
        row[1 : len(known) + 1] = known
        row[-1:] = known[:1] if len(known) else -1
    return Relevance.neighbors(ids), relevant


KINDS = [one_label, many_labels, neighbors]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_bits = draw(st.sampled_from([1, 2, 9, 64, 65, 200]))
    q, n = draw(st.integers(1, 9)), draw(st.integers(1, 40))
    # Mostly zeros: small distances, and with them ties, are the rule.
    queries, database = (Codes.from_bits(rng.random((m, n_bits)) < 0.1) for m in (q, n))
    return Case(queries, database, *draw(st.sampled_from(KINDS))(rng, q, n))


@given(cases())
def test_histograms_equal_a_count(case: Case) -> None:
    got = distance_histograms(case.queries, case.database, case.relevance)
    at = np.arange(case.queries.n_bits + 1)
    there = case.distances[:, None] == at[:, None]
    np.testing.assert_array_equal(got.found, there.sum(axis=2))
    np.testing.assert_array_equal(got.relevant, (there & case.relevant[:, None]).sum(axis=2))


@given(st.data())
def test_curves_equal_the_mean_over_all_orders_of_the_ties(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 6))
    distances = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    relevant = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    # Sorting all permutations stably runs through all orders of every tie, equally often.
    orders = [
        sorted(order, key=distances.__getitem__) for order in itertools.permutations(range(n))
    ]
    cutoffs = np.arange(1, n + 1)
    expected = [
        np.mean([of_one_order(relevant[order], int(N)) for order in orders], axis=0)
        for N in cutoffs
    ]
    got = ranking_curves(scan_histograms(distances, relevant), cutoffs)
    np.testing.assert_array_equal(got.cutoffs, cutoffs)
    measured = np.stack([curve[0] for curve in got[1:]], axis=1)
    np.testing.assert_allclose(measured, expected, atol=1e-13)


@given(cases())
@settings(max_examples=40)
def test_by_id_equals_a_stable_sort(case: Case) -> None:
    cutoffs = np.arange(1, len(case.database) + 1)
    got = ranking_curves_by_id(case.queries, case.database, case.relevance, cutoffs)
    for q, (distances, relevant) in enumerate(zip(case.distances, case.relevant, strict=True)):
        order = np.argsort(distances, kind="stable")
        expected = [of_one_order(relevant[order], int(N)) for N in cutoffs]
        measured = np.stack([curve[q] for curve in got[1:]], axis=1)
        np.testing.assert_allclose(measured, expected, atol=1e-13)


@given(cases(), st.data())
def test_few_cutoffs_are_columns_of_all(case: Case, data: st.DataObject) -> None:
    n = len(case.database)
    some = sorted(data.draw(st.sets(st.integers(1, n), min_size=1)))
    histograms = distance_histograms(case.queries, case.database, case.relevance)
    by_id = case.queries, case.database, case.relevance
    for few, every in (
        (ranking_curves(histograms, some), ranking_curves(histograms, range(1, n + 1))),
        (ranking_curves_by_id(*by_id, some), ranking_curves_by_id(*by_id, range(1, n + 1))),
    ):
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
    by_id = ranking_curves_by_id(case.queries, case.database, case.relevance, [N])
    np.testing.assert_array_equal(
        average_precision_by_id(case.queries, case.database, case.relevance, N),
        by_id.average_precision[:, 0],
    )


@given(cases())
def test_the_last_cutoff_is_no_cutoff(case: Case) -> None:
    n = len(case.database)
    histograms = distance_histograms(case.queries, case.database, case.relevance)
    np.testing.assert_allclose(
        average_precision(histograms, n), average_precision(histograms), atol=1e-14
    )
    by_id = case.queries, case.database, case.relevance
    np.testing.assert_array_equal(
        average_precision_by_id(*by_id, n), average_precision_by_id(*by_id)
    )
    answered = case.relevant.any(axis=1)
    np.testing.assert_allclose(recall_at(histograms, n), answered, atol=1e-14)
    np.testing.assert_allclose(precision_at(histograms, n), case.relevant.mean(axis=1))


def test_by_id_depends_on_the_order_of_the_database() -> None:
    database = Codes.from_bits([[0], [0], [0]])
    first, last = (Relevance.neighbors([[i]]) for i in (0, 2))
    query = database[:1]
    assert average_precision_by_id(query, database, first)[0] == 1
    assert average_precision_by_id(query, database, last)[0] == pytest.approx(1 / 3)
    for ties, expected in (("by_id", 1.0), ("expected", (1 + 1 / 2 + 1 / 3) / 3)):
        got = mean_average_precision(query, database, first, ties=ties)
        assert got == pytest.approx(expected, rel=1e-14)


def test_a_cutoff_within_a_tie_takes_its_share() -> None:
    # One sure hit, then four tied places with two hits among them, then nothing.
    histograms = DistanceHistograms(np.array([[1, 4, 5]]), np.array([[1, 2, 0]]))
    assert precision_at(histograms, 1)[0] == 1
    assert precision_at(histograms, 3)[0] == pytest.approx(2 / 3)
    assert recall_at(histograms, 3)[0] == pytest.approx(2 / 3)
    assert recall_at(histograms, 5)[0] == recall_at(histograms, 10)[0] == 1
    # At 2: precision 1 at the first; the second is a hit every other time, with precision 1.
    assert average_precision(histograms, 2)[0] == pytest.approx((1 + 1 / 2) / 2)


def test_map_with_a_cutoff() -> None:
    database = Codes.from_bits([[0, 0], [0, 1], [1, 1]])
    for ties in ("expected", "by_id"):
        got = mean_average_precision(
            database[:1], database, ["a"], ["b", "a", "a"], cutoff=2, ties=ties
        )
        assert got == pytest.approx((1 / 2) / 2)


def test_the_default_grid_spans_the_database() -> None:
    histograms = DistanceHistograms(np.array([[10**6], [10**6]]), np.array([[10], [0]]))
    grid = ranking_curves(histograms).cutoffs
    assert grid[0] == 1
    assert grid[-1] == 10**6
    assert (np.diff(grid) > 0).all()
    assert 80 < len(grid) <= 100
    small = DistanceHistograms(np.array([[7]]), np.array([[1]]))
    assert ranking_curves(small).cutoffs.tolist() == [1, 2, 3, 4, 5, 6, 7]


def test_an_empty_database_has_no_first_items() -> None:
    queries = Codes.from_bits([[0, 1]])
    relevance = Relevance.labels([0], [])
    histograms = distance_histograms(queries, queries[:0], relevance)
    assert ranking_curves(histograms).precision.shape == (1, 0)
    assert ranking_curves_by_id(queries, queries[:0], relevance).precision.shape == (1, 0)
    assert average_precision_by_id(queries, queries[:0], relevance).tolist() == [0]


def test_no_queries_give_no_rows() -> None:
    codes, relevance = Codes.from_bits([[0, 1]]), Relevance.labels([], [0])
    histograms = distance_histograms(codes[:0], codes, relevance)
    assert histograms.found.shape == (0, 3)
    assert ranking_curves(histograms).recall.shape == (0, 0)
    assert average_precision_by_id(codes[:0], codes, relevance).shape == (0,)


@pytest.mark.parametrize("before", [0, 1, 49, 50, 60, 1000, 10**7])
def test_precisions_late_in_the_ranking_keep_their_digits(before: int) -> None:
    t, r = 10, 4
    histograms = DistanceHistograms(np.array([[before, t]]), np.array([[0, r]]))
    # The i-th place of the tie is a hit with r/t, after (i - 1)(r - 1)/(t - 1) others.
    places = [
        Fraction(r, t) * (1 + Fraction((i - 1) * (r - 1), t - 1)) / (before + i)
        for i in range(1, t + 1)
    ]
    assert average_precision(histograms)[0] == pytest.approx(float(sum(places) / r), rel=1e-9)


def test_one_hot_rows_are_labels() -> None:
    rng = np.random.default_rng(0)
    codes = Codes.from_bits(rng.integers(0, 2, (50, 10)))
    labels = rng.integers(4, size=50)
    for kind in (bool, np.uint8, int, float):
        hot = np.eye(4)[labels].astype(kind)
        got = distance_histograms(codes[:20], codes, hot[:20], hot)
        expected = distance_histograms(codes[:20], codes, labels[:20], labels)
        np.testing.assert_array_equal(got.relevant, expected.relevant)


def test_a_row_without_labels_has_no_answers() -> None:
    codes = Codes.from_bits([[0], [1]])
    got = distance_histograms(codes, codes, [[0, 0], [1, 0]], [[0, 0], [1, 1]])
    assert got.relevant.sum(axis=1).tolist() == [0, 1]


def test_labels_the_queries_do_not_have_are_irrelevant() -> None:
    relevance = Relevance.labels(["m", "b"], ["z", "b", "a", "m", "b"])
    assert [relevance.items(int(g)).tolist() for g in relevance.group_of] == [[3], [1, 4]]


def test_more_labels_than_sixteen_bits() -> None:
    labels = np.arange(70_000)
    relevance = Relevance.labels(labels, labels[::-1])
    group = int(relevance.group_of[65_537])
    assert relevance.items(group).tolist() == [70_000 - 1 - 65_537]


def test_groups_larger_than_a_block_are_split() -> None:
    relevance = Relevance.labels(np.zeros(150), [0, 1, 0])
    blocks = list(relevance.blocks(64))
    assert [len(block.queries) for block in blocks] == [64, 64, 22]
    assert np.concatenate([block.queries for block in blocks]).tolist() == list(range(150))
    assert all(block.items.tolist() == [0, 2] for block in blocks)


@given(cases())
def test_the_precision_recall_curve_is_a_lookup_at_every_radius(case: Case) -> None:
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


def test_empty_lookups_count_as_zero_or_not_at_all() -> None:
    codes = Codes.from_bits([[0, 0, 0], [1, 1, 1]])
    histograms = distance_histograms(codes, codes[:1], ["a", "a"], ["a"])
    assert lookup(histograms, 0) == (0.5, 0.5, 0.5)
    assert lookup(histograms, 0, empty="skip") == pytest.approx((1, 1 / 2, 2 / 3))
    nobody = distance_histograms(codes[1:], codes[:1], ["a"], ["a"])
    assert lookup(nobody, 2) == (0, 0, 0)
    precision, recall, f1 = lookup(nobody, 2, empty="skip")
    assert np.isnan([precision, f1]).all()
    assert recall == 0


@pytest.mark.parametrize("measure", [distance_histograms, average_precision_by_id])
def test_queries_times_database_is_never_held(measure: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    n, q = 200_000, 150
    codes = Codes(rng.integers(0, 256, (n, 4), np.uint8), 32)
    relevance = Relevance.labels(rng.integers(2, size=q), rng.integers(2, size=n))
    measure(codes[:2], codes[:2], Relevance.labels([0, 0], [0, 0]))
    tracemalloc.start()
    try:
        measure(codes[:q], codes, relevance)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The words of the database and a few rows of its length; one byte a pair would be 30 MB.
    assert peak < 12e6


CODES = Codes.from_bits([[0, 0], [0, 1], [1, 1]])
LABELS = Relevance.labels([0, 1, 1], [1, 1, 0])
HISTOGRAMS = distance_histograms(CODES, CODES, LABELS)
INDICATORS = [[1, 0], [0, 1], [1, 1]]
anything: Any = None
half: Any = 1.5


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: distance_histograms(CODES[:2], CODES, LABELS),
            "relevance of metrics must be that of 2 queries, got 3.",
        ),
        (
            lambda: average_precision_by_id(CODES, CODES[:2], LABELS),
            "relevance of metrics must be that of 2 database items, got 3.",
        ),
        (
            lambda: distance_histograms(CODES[:1], CODES, Relevance.neighbors([[0, 3]])),
            "ids of Relevance.neighbors must be below the number of database items, 3, got 3.",
        ),
        (
            lambda: Relevance.neighbors([0, 3]),
            "ids of Relevance.neighbors must be integers of shape (queries, ids), "
            "got int64 of shape (2,).",
        ),
        (
            lambda: Relevance.neighbors([[0.5]]),
            "ids of Relevance.neighbors must be integers of shape (queries, ids), "
            "got float64 of shape (1, 1).",
        ),
        (
            lambda: distance_histograms(CODES, CODES, [0, 1, 1]),
            "relevance of metrics must be a Relevance, or labels with those of the database "
            "beside them, got list.",
        ),
        (
            lambda: distance_histograms(CODES, CODES, LABELS, [0, 1, 1]),
            "labels of metrics must be left out beside a Relevance, got list.",
        ),
        (
            lambda: ranking_curves_by_id(CODES, Codes.from_bits([[1]]), LABELS),
            "queries of metrics must be codes of 1 bits, got 2.",
        ),
        (
            lambda: distance_histograms(CODES, Codes(np.zeros((1, 8192), np.uint8), 65536), LABELS),
            "database of metrics must be codes of at most 65535 bits, got 65536.",
        ),
        (
            lambda: Relevance.labels(anything, [1, 2]),
            "y of the queries must be an array of 1 labels, got None "
            "(requires y to be passed, but the target y is None).",
        ),
        (
            lambda: Relevance.labels([0.5], [1, 2]),
            "Unknown label type: y of the queries must be class labels, got reals.",
        ),
        (
            lambda: distance_histograms(CODES, CODES, INDICATORS, [0, 1, 1]),
            "labels of Relevance.labels must be a matrix (3, classes) like the other side, "
            "got shape (3,).",
        ),
        (
            lambda: distance_histograms(CODES, CODES, INDICATORS[:2], INDICATORS),
            "query_labels of Relevance.labels must be a matrix (3, classes) like the other side, "
            "got shape (2, 2).",
        ),
        (
            lambda: Relevance.labels([[1, 0, 0]], INDICATORS),
            "query_labels of Relevance.labels must be of as many classes as labels, 2, got 3.",
        ),
        (
            lambda: Relevance.labels([[1, 2]], INDICATORS),
            "query_labels of Relevance.labels must be 0 or 1 in each class, got other values.",
        ),
        (
            lambda: ranking_curves(HISTOGRAMS, [2, 2]),
            "cutoffs of a ranking must be ascending integers, got [2, 2].",
        ),
        (
            lambda: ranking_curves(HISTOGRAMS, np.array([2, 1], np.uint8)),
            "cutoffs of a ranking must be ascending integers, got array([2, 1], dtype=uint8).",
        ),
        (
            lambda: average_precision(HISTOGRAMS, half),
            "cutoffs of a ranking must be ascending integers, got [1.5].",
        ),
        (
            lambda: precision_at(HISTOGRAMS, 4),
            "cutoffs of a ranking must be between 1 and n_items=3, got 4.",
        ),
        (
            lambda: average_precision_by_id(CODES, CODES, LABELS, 0),
            "cutoffs of a ranking must be between 1 and n_items=3, got 0.",
        ),
        (
            lambda: lookup(HISTOGRAMS, empty="nan"),
            "empty of lookup must be one of 'zero', 'skip', got 'nan'.",
        ),
        (
            lambda: mean_average_precision(CODES, CODES, LABELS, ties="none"),
            "ties of mean_average_precision must be one of 'expected', 'by_id', got 'none'.",
        ),
    ],
)
def test_error_sentences(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value) == sentence


def test_counting_tells_how_far_it_is() -> None:
    rng = np.random.default_rng(0)
    codes = Codes(rng.integers(256, size=(200, 4), dtype=np.uint8), 32)
    labels, told = rng.integers(5, size=200), list[tuple[str, int, int]]()
    silent = distance_histograms(codes, codes, labels, labels)
    heard = distance_histograms(codes, codes, labels, labels, progress=lambda *at: told.append(at))
    assert all(map(np.array_equal, silent, heard))
    for stage in ("all items", "right answers"):
        done = [done for name, done, total in told if (name, total) == (stage, 200)]
        assert done == sorted(done)
        assert (len(done) > 4, done[-1]) == (True, 200)
