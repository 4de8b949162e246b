"""The hint of ``bitfold fit`` that only the directions of rows may matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bitfold.cli._row_lengths import suggest_cosine
from bitfold.io import scale_to_unit_length


def embeddings(n_features: int = 128, spread: float = 0.0) -> NDArray[Any]:
    """Return unit vectors with a common component, whose lengths vary by about ``spread``."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((2000, n_features)) + 0.3 * rng.standard_normal(n_features)
    lengths = np.exp(spread * rng.standard_normal((2000, 1)))
    return scale_to_unit_length(vectors, "T") * lengths


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_embeddings_of_different_lengths(dtype: type) -> None:
    hint = suggest_cosine(embeddings(spread=0.3).astype(dtype))
    assert hint is not None
    assert hint.startswith(("Row lengths vary by 3", "Row lengths vary by 2"))
    assert "%" in hint
    assert "--cosine" in hint


@pytest.mark.parametrize(
    "vectors",
    [
        embeddings(),
        embeddings().astype(np.float16),
        embeddings(spread=0.05),
        np.abs(embeddings(spread=0.3)),
        -np.abs(embeddings(spread=0.3)),
        np.random.default_rng(0).standard_normal((2000, 8)),
        np.zeros((10, 128)),
    ],
    ids=["unit", "float16", "nearly unit", "positive", "negative", "few features", "zeros"],
)
def test_other_vectors(vectors: NDArray[Any]) -> None:
    assert suggest_cosine(vectors) is None


def test_rows_of_zeros_do_not_count() -> None:
    vectors = embeddings()
    vectors[::3] = 0
    assert suggest_cosine(vectors) is None


def test_streams_are_judged_by_their_first_rows() -> None:
    blocks = np.split(embeddings(spread=0.3), 4)
    assert suggest_cosine(blocks) is not None
    assert suggest_cosine([*np.split(embeddings(), 4), *blocks]) is None
