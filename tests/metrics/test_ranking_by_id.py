"""Measures of a ranking whose ties go by id, against a stable sort."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from tests.metrics.cases import (
    Case,
    cases,
    measure_one_order,
)

from bitfold.codes import Codes
from bitfold.errors import DataError, ParameterError
from bitfold.metrics import (
    Relevance,
    average_precision_by_id,
    ranking_curves_by_id,
)


@given(cases())
@settings(max_examples=40)
def test_curves_equal_a_stable_sort(case: Case) -> None:
    cutoffs = np.arange(1, len(case.database) + 1)
    got = ranking_curves_by_id(case.queries, case.database, case.relevance, cutoffs)
    for q, (distances, relevant) in enumerate(zip(case.distances, case.relevant, strict=True)):
        order = np.argsort(distances, kind="stable")
        expected = [measure_one_order(relevant[order], int(N)) for N in cutoffs]
        measured = np.stack([curve[q] for curve in got[1:]], axis=1)
        np.testing.assert_allclose(measured, expected, atol=1e-13)


@given(cases(), st.data())
def test_few_cutoffs_are_columns_of_all(case: Case, data: st.DataObject) -> None:
    codes, n = (case.queries, case.database, case.relevance), len(case.database)
    some = sorted(data.draw(st.sets(st.integers(1, n), min_size=1)))
    few, every = ranking_curves_by_id(*codes, some), ranking_curves_by_id(*codes, range(1, n + 1))
    for a, b in zip(few[1:], every[1:], strict=True):
        np.testing.assert_allclose(a, b[:, np.array(some) - 1], atol=1e-14)


@given(cases())
def test_one_cutoff_is_a_point_of_the_curves(case: Case) -> None:
    codes, n = (case.queries, case.database, case.relevance), len(case.database)
    curves = ranking_curves_by_id(*codes, [(n + 1) // 2])
    at_half = average_precision_by_id(*codes, (n + 1) // 2)
    np.testing.assert_array_equal(at_half, curves.average_precision[:, 0])
    np.testing.assert_array_equal(
        average_precision_by_id(*codes, n), average_precision_by_id(*codes)
    )


def test_database_order_matters() -> None:
    database = Codes.from_bits([[0], [0], [0]])
    first, last = (Relevance.from_neighbors([[i]]) for i in (0, 2))
    assert average_precision_by_id(database[:1], database, first)[0] == 1
    assert average_precision_by_id(database[:1], database, last)[0] == pytest.approx(1 / 3)


def test_empty_database() -> None:
    queries, relevance = Codes.from_bits([[0, 1]]), Relevance.from_labels([0], [])
    assert ranking_curves_by_id(queries, queries[:0], relevance).precision.shape == (1, 0)
    assert average_precision_by_id(queries, queries[:0], relevance).tolist() == [0]


def test_no_queries() -> None:
    codes, relevance = Codes.from_bits([[0, 1]]), Relevance.from_labels([], [0])
    assert average_precision_by_id(codes[:0], codes, relevance).shape == (0,)


def test_wrong_parameters() -> None:
    relevance = Relevance.from_labels([0, 1, 1], [1, 1, 0])
    codes = Codes.from_bits([[0, 0], [0, 1], [1, 1]])
    with pytest.raises(ParameterError, match=r"queries .* 1 bits, got 2"):
        ranking_curves_by_id(codes, Codes.from_bits([[1]]), relevance)
    with pytest.raises(ParameterError, match=r"cutoffs .* n_items=3, got 0"):
        average_precision_by_id(codes, codes, relevance, 0)
    with pytest.raises(DataError, match="3 database items, but there are 2"):
        average_precision_by_id(codes, codes[:2], relevance)
