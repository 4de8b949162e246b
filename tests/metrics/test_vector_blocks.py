"""Some rows of a matrix, read in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bitfold.errors import ParameterError
from bitfold.metrics.vector_blocks import VectorBlocks

X = np.random.default_rng(0).integers(-9, 9, (50, 4)).astype(np.float64)


@pytest.mark.parametrize("rows", [None, [3], [0, 7, 8, 9, 30, 49]])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_blocks_are_the_chosen_rows(rows: list[int] | None, metric: str) -> None:
    opened = VectorBlocks.open(X, "the database", metric, rows)
    chosen = X if rows is None else X[rows]
    lengths = np.maximum(np.linalg.norm(chosen, axis=1, keepdims=True), 1e-9)
    expected = chosen / lengths if metric == "cosine" else chosen
    for step in (1, 4, 100):
        blocks = list(opened.blocks(step))
        assert [block.start for block in blocks] == list(range(0, len(chosen), step))
        centered = np.concatenate([block.values for block in blocks])
        assert np.allclose(centered, expected - opened.source.center, atol=1e-6)
    assert len(opened) == len(chosen)
    assert np.allclose(opened.values(1, 3), expected[1:3])
    assert np.allclose(opened.centered(1, 3), (expected - opened.source.center)[1:3], atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(np.uint8, np.float32), (np.float32, np.float32), (np.int64, np.float64)],
)
def test_values_are_contiguous_and_exact(kind: type, expected: type) -> None:
    stored: Any = np.asfortranarray(np.abs(X).astype(kind))
    values = VectorBlocks.open(stored, "the database", "l2", None).values(10, 30)
    assert values.dtype == expected
    assert values.flags.c_contiguous
    assert np.array_equal(values, stored[10:30])


@pytest.mark.parametrize("rows", [[], [1, 1], [2, 1], [-1], [50], [0.5], [[1]]])
def test_other_row_numbers_are_rejected(rows: list[int]) -> None:
    with pytest.raises(ParameterError, match="ascending row numbers below n_rows=50"):
        VectorBlocks.open(X, "the database", "l2", rows)
