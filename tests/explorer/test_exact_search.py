"""Exact neighbors among the items of an index, compared with a sorted list."""

from __future__ import annotations

import numpy as np
import pytest

from bitfold.errors import ParameterError
from bitfold.explorer.exact_search import ExactSearch

X = np.random.default_rng(0).standard_normal((80, 3)).astype(np.float32)


def is_item(row: int) -> bool:
    return row % 7 == 0


@pytest.mark.parametrize("k", [1, 5, 11, 30])
@pytest.mark.parametrize("exclude", [None, 14])
def test_items_are_those_of_a_sorted_list(k: int, exclude: int | None) -> None:
    query = X[14].astype(np.float64)
    hits = ExactSearch(X, is_item).nearest(query, k, exclude)
    distances = np.linalg.norm(X - query, axis=1)
    order = [row for row in np.argsort(distances) if is_item(row) and row != exclude][:k]
    assert hits.ids[0].tolist() == order
    assert np.allclose(hits.distances[0], distances[order])


def test_vector_of_another_width_is_rejected() -> None:
    with pytest.raises(ParameterError, match="3 numbers, got 2"):
        ExactSearch(X, is_item).nearest(np.zeros(2), 1)
