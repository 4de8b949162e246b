"""The search with exact vectors."""

from __future__ import annotations

import numpy as np
import pytest

from bitfold import datasets
from bitfold.evaluation import search_exact
from bitfold.metrics import average_precision, closest_neighbors, scan_histograms


def test_it_is_the_upper_limit_of_recall_and_ranks_like_a_scan() -> None:
    data = datasets.digits(n_queries=50)
    exact = search_exact(data.database, data.queries, data.relevance)
    np.testing.assert_array_equal(exact.ids, closest_neighbors(data.database, data.queries, k=100))
    assert exact.quality.recall_10 == exact.quality.recall_10_from_100 == 1
    distances = np.linalg.norm(data.database - data.queries[:, None], axis=2)
    relevant = data.query_labels[:, None] == data.labels
    expected = average_precision(scan_histograms(distances, relevant)).mean()
    assert exact.quality.map == pytest.approx(expected, abs=1e-3)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :10]
    precision = np.take_along_axis(relevant, nearest, axis=1).mean()
    assert exact.quality.precision_10 == pytest.approx(precision)


def test_rows_and_a_small_database() -> None:
    X = np.arange(40.0)[:, None]
    exact = search_exact(X, X[:1], rows=np.arange(5, 25))
    assert exact.ids.tolist() == [list(range(20))]
    assert exact.n_items == 20
    assert exact.quality.precision_10 is None


def test_cosine() -> None:
    X = np.array([[1.0, 0.0], [9.0, 1.0], [0.1, 0.1]])
    assert search_exact(X, [[0.2, 0.0]], metric="cosine").ids.tolist() == [[0, 1, 2]]
    assert search_exact(X, [[0.2, 0.0]]).ids.tolist() == [[2, 0, 1]]
