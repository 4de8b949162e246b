"""Histograms of distances against counts in a loop."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from tests.metrics.cases import (
    DATABASE,
    LABELS,
    QUERIES,
    QUERY_LABELS,
    Case,
    cases,
)

from bitfold._types import BoolArray
from bitfold.codes import Codes
from bitfold.errors import ParameterError
from bitfold.metrics import (
    DistanceHistograms,
    Relevance,
    average_precision,
    average_precision_by_id,
    distance_histograms,
    scan_histograms,
)


@pytest.fixture
def histograms() -> DistanceHistograms:
    return distance_histograms(QUERIES, DATABASE, QUERY_LABELS, LABELS)


def test_histograms_by_hand(histograms: DistanceHistograms) -> None:
    assert histograms.found.tolist() == [[1, 2, 1]] * 3
    assert histograms.relevant.tolist() == [[1, 1, 0], [0, 1, 1], [0, 0, 0]]


@given(cases())
def test_histograms_equal_a_count(case: Case) -> None:
    got = distance_histograms(case.queries, case.database, case.relevance)
    at = np.arange(case.queries.n_bits + 1)
    there = case.distances[:, None] == at[:, None]
    np.testing.assert_array_equal(got.found, there.sum(axis=2))
    np.testing.assert_array_equal(got.relevant, (there & case.relevant[:, None]).sum(axis=2))


@st.composite
def labeled_bits(draw: st.DrawFn) -> tuple[BoolArray, BoolArray, list[int], list[int]]:
    """Draw queries, more than one block of them, a database, and a few labels."""
    n_bits = draw(st.sampled_from([1, 2, 7, 8, 63, 64, 65, 130]))
    q, n = draw(st.integers(1, 40)), draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    # Mostly zeros, so that small distances and ties are frequent.
    queries, database = (rng.random((rows, n_bits)) < 0.2 for rows in (q, n))
    return queries, database, rng.integers(3, size=q).tolist(), rng.integers(3, size=n).tolist()


@given(labeled_bits())
@settings(max_examples=60)
def test_several_blocks_equal_a_loop(
    case: tuple[BoolArray, BoolArray, list[int], list[int]],
) -> None:
    queries, database, query_labels, labels = case
    got = distance_histograms(
        Codes.from_bits(queries), Codes.from_bits(database), query_labels, labels
    )
    found = np.zeros((len(queries), queries.shape[1] + 1), int)
    relevant = np.zeros_like(found)
    for q, query in enumerate(queries):
        for i, code in enumerate(database):
            distance = int((query != code).sum())
            found[q, distance] += 1
            relevant[q, distance] += labels[i] == query_labels[q]
    np.testing.assert_array_equal(got.found, found)
    np.testing.assert_array_equal(got.relevant, relevant)


def test_empty_database() -> None:
    histograms = distance_histograms(QUERIES, DATABASE[:0], QUERY_LABELS, [])
    assert not histograms.found.any()
    np.testing.assert_array_equal(average_precision(histograms), [0, 0, 0])


def test_no_queries() -> None:
    codes, relevance = Codes.from_bits([[0, 1]]), Relevance.from_labels([], [0])
    assert distance_histograms(codes[:0], codes, relevance).found.shape == (0, 3)


def test_scan_histograms_group_equal_distances() -> None:
    got = scan_histograms([[0.5, 2.0, 0.5, 1.0]], [[True, True, False, False]])
    assert got.found.tolist() == [[2, 1, 1, 0]]
    assert got.relevant.tolist() == [[1, 0, 1, 0]]
    one = scan_histograms([0.5, 2.0, 0.5, 1.0], [1, 1, 0, 0])
    np.testing.assert_array_equal(one.found, got.found)
    np.testing.assert_array_equal(one.relevant, got.relevant)


def test_scan_and_hamming_agree() -> None:
    rng = np.random.default_rng(1)
    bits, labels = rng.integers(0, 2, (80, 12)), rng.integers(4, size=80)
    codes = Codes.from_bits(bits)
    by_codes = distance_histograms(codes[:7], codes, labels[:7], labels)
    distances = (bits[:7, None] != bits).sum(axis=2)
    by_scan = scan_histograms(distances, labels[:7, None] == labels)
    np.testing.assert_allclose(average_precision(by_codes), average_precision(by_scan), rtol=1e-12)


@given(st.integers(1, 60), st.integers(0, 2**32))
def test_database_order_does_not_matter(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    distances, relevant = rng.integers(0, 6, n), rng.random(n) < 0.5
    order = rng.permutation(n)
    here = scan_histograms(distances, relevant)
    there = scan_histograms(distances[order], relevant[order])
    np.testing.assert_array_equal(here.found, there.found)
    np.testing.assert_array_equal(here.relevant, there.relevant)


def test_inputs_are_unchanged() -> None:
    packed, labels = DATABASE.packed.copy(), np.array([1, 1, 0, 0])
    distance_histograms(QUERIES, DATABASE, [1, 1, 2], labels)
    np.testing.assert_array_equal(DATABASE.packed, packed)
    np.testing.assert_array_equal(labels, [1, 1, 0, 0])


@pytest.mark.parametrize("measure", [distance_histograms, average_precision_by_id])
def test_memory_is_bounded(measure: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    n, q = 200_000, 150
    codes = Codes(rng.integers(0, 256, (n, 4), np.uint8), 32)
    relevance = Relevance.from_labels(rng.integers(2, size=q), rng.integers(2, size=n))
    measure(codes[:2], codes[:2], Relevance.from_labels([0, 0], [0, 0]))
    tracemalloc.start()
    try:
        measure(codes[:q], codes, relevance)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The words of the database and a few rows of its length; one byte per pair would be 30 MB.
    assert peak < 12e6


def test_progress() -> None:
    rng = np.random.default_rng(0)
    codes = Codes(rng.integers(256, size=(200, 4), dtype=np.uint8), 32)
    labels, calls = rng.integers(5, size=200), list[tuple[str, int, int]]()
    silent = distance_histograms(codes, codes, labels, labels)
    shown = distance_histograms(codes, codes, labels, labels, progress=lambda *a: calls.append(a))
    assert all(map(np.array_equal, silent, shown))
    for stage in ("all items", "relevant items"):
        done = [done for name, done, total in calls if (name, total) == (stage, 200)]
        assert done == sorted(done)
        assert (len(done) > 4, done[-1]) == (True, 200)


LONG = Codes(np.zeros((1, 8192), np.uint8), 65536)


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        (lambda: distance_histograms(LONG, DATABASE, [0], LABELS), "queries", 65536),
        (lambda: distance_histograms(QUERIES, LONG, QUERY_LABELS, [0]), "database", 65536),
        (lambda: scan_histograms([[1.0, 2.0]], [[True, True, False]]), "relevant", "shape (1, 3)"),
    ],
)
def test_wrong_parameters(call: Callable[[], object], name: str, value: object) -> None:
    with pytest.raises(ParameterError) as error:
        call()
    assert (error.value.name, str(error.value.value)) == (name, str(value))
