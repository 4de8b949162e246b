"""Recall against true neighbors."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from bitfold.errors import ParameterError
from bitfold.metrics import (
    recall_at_k,
)


@given(st.integers(0, 2**32), st.integers(1, 12))
def test_recall_equals_sets(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    widths = rng.integers(0, 10, 2)
    found, true = (
        np.array([np.where(rng.random(w) < 0.8, rng.permutation(15)[:w], -1) for _ in range(5)])
        for w in widths
    )
    found, true = (
        ids.reshape(5, w).astype(int) for ids, w in zip((found, true), widths, strict=True)
    )
    expected = []
    for row, ids in zip(found, true, strict=True):
        near = set(ids[:k].tolist()) - {-1}
        hits = near & set(row[:k].tolist())
        expected.append(len(hits) / len(near) if near else 0.0)
    np.testing.assert_allclose(recall_at_k(found, true, k), expected)


def test_recall_by_hand() -> None:
    true = [[5, 3, 8], [1, 2, 4]]
    assert recall_at_k([[3, 5, 9], [9, 9, 1]], true, 2).tolist() == [1.0, 0.0]
    np.testing.assert_allclose(recall_at_k([[3, 5, 9], [9, 9, 1]], true, 3), [2 / 3, 1 / 3])
    # Short and padded results; an id that is found twice counts once.
    np.testing.assert_allclose(recall_at_k([[3], [-1]], true, 3), [1 / 3, 0])
    np.testing.assert_allclose(recall_at_k([[3, 3, 3], [-1, -1, -1]], true, 3), [1 / 3, 0])
    # Short, padded and empty lists of true neighbors.
    assert recall_at_k([[3, 5, 9], [9, 9, 1]], [[9, -1], [-1, -1]], 3).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        (lambda: recall_at_k([[1]], [[1]], 0), "k", 0),
        (lambda: recall_at_k([1], [[1]], 1), "found_ids", "int64 of shape (1,)"),
        (lambda: recall_at_k([[1]], [[1.0]], 1), "true_ids", "float64 of shape (1, 1)"),
        (lambda: recall_at_k([[1]], [[1], [2]], 1), "found_ids", 1),
    ],
)
def test_wrong_parameters(call: Callable[[], object], name: str, value: object) -> None:
    with pytest.raises(ParameterError) as error:
        call()
    assert (error.value.name, str(error.value.value)) == (name, str(value))


def test_more_candidates() -> None:
    found, true = [[9, 5, 8, 3]], [[5, 3, 8]]
    assert recall_at_k(found, true, 2).tolist() == [0.5]
    assert recall_at_k(found, true, 2, n_candidates=4).tolist() == [1.0]
    with pytest.raises(ParameterError, match="n_candidates"):
        recall_at_k(found, true, 2, n_candidates=1)
