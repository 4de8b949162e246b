"""Lengths of real vectors: the hint of ``bitfold fit``, and what ``normalize=True`` is for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.paper.conftest import LoadData

from bitfold import metrics
from bitfold.cli._row_lengths import suggest_cosine
from bitfold.hashers import ITQ


def find(name: str) -> Path:
    path = Path(os.environ.get("BITFOLD_DATA", "")) / name
    if not path.is_file():
        pytest.skip(f"needs real data: {name}")
    return path


@pytest.fixture
def text() -> NDArray[Any]:
    """Sentence vectors of unit length, in random order."""
    vectors: NDArray[Any] = np.load(find("text/debian.npz"))["vectors"]
    return vectors[np.random.default_rng(0).permutation(len(vectors))].astype(np.float32)


@pytest.mark.paper
def test_hint(load_data: LoadData, text: NDArray[Any]) -> None:
    lengths = np.random.default_rng(0).uniform(0.5, 2, (len(text), 1))
    assert suggest_cosine(load_data("mnist").database) is None
    assert suggest_cosine(np.load(find("sift/query.npy"))) is None
    assert suggest_cosine(text) is None
    hint = suggest_cosine(text * lengths)
    assert hint is not None
    assert "--cosine" in hint


@pytest.mark.paper
def test_normalize_recovers_the_quality_of_unit_vectors(
    text: NDArray[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    X, Q = text[1000:], text[:1000]
    lengths = np.random.default_rng(0).uniform(0.2, 5, (len(X), 1)).astype(np.float32)
    truth = metrics.closest_neighbors(X, Q, k=10)

    def measure_map(hasher: ITQ, rows: NDArray[Any]) -> float:
        hasher.fit(rows)
        relevance = metrics.Relevance.from_neighbors(truth)
        return metrics.mean_average_precision(hasher.encode(Q), hasher.encode(rows), relevance)

    unit = measure_map(ITQ(64, random_state=0), X)
    plain = measure_map(ITQ(64, random_state=0), X * lengths)
    normalized = measure_map(ITQ(64, normalize=True, random_state=0), X * lengths)
    with capsys.disabled():
        print(f"\nMAP of ITQ: unit {unit:.3f}, lengths {plain:.3f}, normalized {normalized:.3f}")
    assert normalized > 0.95 * unit
    assert normalized > 1.1 * plain
