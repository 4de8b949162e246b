"""Measures of returned hits by hand, and against sets."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from tests.metrics.cases import Case, cases

from bitfold import HammingIndex
from bitfold.errors import DataError, ParameterError
from bitfold.metrics import Relevance, all_tied, precision_at_k, ranking_curves_by_id


@given(cases(), st.integers(1, 40))
def test_precision_is_that_of_the_ranking_by_id(case: Case, k: int) -> None:
    k = min(k, len(case.database))
    index = HammingIndex(case.database.n_bits)
    index.add(case.database)
    found = index.search(case.queries, k=k).ids
    expected = ranking_curves_by_id(case.queries, case.database, case.relevance, [k])
    np.testing.assert_allclose(precision_at_k(found, case.relevance, k), expected.precision[:, 0])


def test_precision_by_hand() -> None:
    relevance = Relevance.from_labels(["a", "b"], ["a", "a", "b", "b"])
    assert precision_at_k([[0, 2, 1], [2, 0, 1]], relevance, 2).tolist() == [0.5, 0.5]
    # Only what was found counts.
    assert precision_at_k([[0, -1, -1], [-1, -1, -1]], relevance, 3).tolist() == [1.0, 0.0]


def test_ties() -> None:
    distances = [[0, 0, 0], [0, 0, 1], [2, 2, 2]]
    assert all_tied(distances, 3).tolist() == [True, False, True]
    assert all_tied(distances, 2).all()


def test_wrong_parameters() -> None:
    relevance = Relevance.from_labels(["a"], ["a"])
    with pytest.raises(ParameterError, match="k of precision_at_k"):
        precision_at_k([[0]], relevance, 0)
    with pytest.raises(DataError, match=r"1 queries.*2 rows"):
        precision_at_k([[0], [0]], relevance, 1)
    with pytest.raises(DataError, match=r"2 distances.*k is 3"):
        all_tied([[0, 0]], 3)
