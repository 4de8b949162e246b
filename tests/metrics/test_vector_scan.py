"""Histograms of exact distances against sorted lists."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from bitfold.errors import DataError, ParameterError
from bitfold.metrics import (
    Relevance,
    average_precision,
    scan_histograms,
    vector_histograms,
)

RNG = np.random.default_rng(0)
CENTERS = RNG.standard_normal((5, 12))
LABELS = RNG.integers(5, size=3000)
X = CENTERS[LABELS] + RNG.standard_normal((3000, 12))
Q, QUERY_LABELS = X[:40] + 0.1, LABELS[:40]


@pytest.mark.parametrize(("metric", "name"), [("l2", "euclidean"), ("cosine", "cosine")])
@pytest.mark.parametrize("block_bytes", [1 << 25, 1 << 14])
def test_average_precision_is_that_of_the_sorted_list(
    metric: str, name: str, block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bitfold.metrics.interval_counts._BLOCK_BYTES", block_bytes)
    rows = np.arange(100, 3000)
    relevance = Relevance.from_labels(QUERY_LABELS, LABELS[rows])
    got = vector_histograms(X, Q, relevance, rows=rows, metric=metric)
    assert (got.found.sum(axis=1) == len(rows)).all()
    exact = scan_histograms(cdist(Q, X[rows], name), QUERY_LABELS[:, None] == LABELS[rows])
    np.testing.assert_allclose(average_precision(got), average_precision(exact), atol=1e-3)


def test_outliers_do_not_widen_the_intervals() -> None:
    far = X.copy()
    far[::700] *= 1e3
    relevance = Relevance.from_labels(QUERY_LABELS, LABELS)
    exact = scan_histograms(cdist(Q, far), QUERY_LABELS[:, None] == LABELS)
    got = vector_histograms(far, Q, relevance)
    np.testing.assert_allclose(average_precision(got), average_precision(exact), atol=1e-3)


def test_equal_rows_are_one_tie() -> None:
    found, relevant = vector_histograms(
        np.ones((6, 2)), np.ones((1, 2)), Relevance.from_neighbors([[1]])
    )
    assert found[0, 0] == 6
    assert relevant[0, 0] == 1


def test_progress_counts_rows() -> None:
    calls: list[tuple[str, int, int]] = []
    relevance = Relevance.from_labels(QUERY_LABELS, LABELS)
    vector_histograms(X, Q, relevance, progress=lambda *call: calls.append(call))
    assert calls[-1][1:] == (3000, 3000)


def test_wrong_inputs() -> None:
    relevance = Relevance.from_labels(QUERY_LABELS, LABELS)
    with pytest.raises(ParameterError, match="metric"):
        vector_histograms(X, Q, relevance, metric="l1")
    with pytest.raises(DataError, match="40 queries"):
        vector_histograms(X, Q[:3], relevance)
