"""Quality of rankings, on rankings whose values are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from reproduction.which_code.quality import (
    CANDIDATES,
    JudgedQueries,
    average_precision,
    hold_out,
    judge_queries,
    measure_distances,
    measure_hamming,
)

from bitfold import Codes, HammingIndex, RerankByVectors, metrics
from bitfold.datasets import Dataset, digits

N = 120


def make_queries(labels: list[int], neighbors: list[list[int]]) -> JudgedQueries:
    """Return one query per row of ``neighbors``; all have the label 1."""
    n_queries = len(neighbors)
    ones = np.ones(n_queries, np.int64)
    return JudgedQueries(np.zeros((n_queries, 1)), ones, np.array(labels), np.array(neighbors))


def test_average_precision() -> None:
    relevant = np.array([[True, False, True], [False, True, False], [False, False, False]])
    np.testing.assert_allclose(average_precision(relevant), [(1 + 2 / 3) / 2, 1 / 2, 0])


def test_second_half_of_the_queries_is_measured() -> None:
    data = digits(20)
    queries = hold_out(data)
    np.testing.assert_array_equal(queries.vectors, data.queries[10:])
    np.testing.assert_array_equal(queries.labels, data.query_labels[10:])
    expected = metrics.closest_neighbors(data.database, data.queries[10:], k=10)
    np.testing.assert_array_equal(queries.neighbors, expected)


def test_queries_without_labels_have_neighbors() -> None:
    data = replace(digits(20), labels=None, query_labels=None)
    queries = judge_queries(data, slice(0, 5))
    np.testing.assert_array_equal(queries.vectors, data.queries[:5])
    assert queries.neighbors.shape == (5, 10)
    assert not queries.labels.any()


def test_values_of_a_known_ranking() -> None:
    labels = [1] * 5 + [0] * (N - 5)
    queries = make_queries(labels, [[*range(8), 30, 90]])
    result = measure_distances(lambda _: np.arange(N)[None], queries)
    assert result == {
        "map": 100.0, "precision_10": 50.0, "precision_100": 5.0,
        "recall_10": 80.0, "rescored_40": 90.0, "rescored_100": 100.0,
    }  # fmt: skip


def test_ties_of_distances_go_by_id() -> None:
    queries = make_queries([0] * (N - 1) + [1], [list(range(10))])
    result = measure_distances(lambda _: np.zeros((1, N)), queries)
    assert result["map"] == pytest.approx(100 / N)
    assert result["recall_10"] == 100


def test_blocks_cover_all_queries() -> None:
    distances = np.random.default_rng(0).random((130, N))
    labels = np.random.default_rng(1).integers(0, 2, N).tolist()
    neighbors = np.argsort(distances, axis=1)[:, :10].tolist()
    result = measure_distances(lambda part: distances[part], make_queries(labels, neighbors))
    relevant = np.array(labels)[np.argsort(distances, axis=1)] == 1
    assert result["map"] == pytest.approx(100 * average_precision(relevant).mean())
    assert result["recall_10"] == 100


def test_ties_of_codes_count_as_their_mean() -> None:
    codes = Codes.from_bits(np.zeros((N, 8), np.uint8))
    index = HammingIndex(n_bits=8)
    index.add(codes)
    queries = make_queries([0] * (N // 2) + [1] * (N // 2), [list(range(5, 15))])
    result = measure_hamming(codes[:1], codes, index, queries)
    assert result["precision_10"] == pytest.approx(50)  # by id, it would be 0
    assert result["recall_10"] == 50  # by id
    assert (result["n_distinct"], result["lookup_recall"]) == (1, 100)
    assert result["lookup_precision"] == pytest.approx(50)


def test_recall_after_rescoring_is_that_of_a_search_with_rescoring() -> None:
    data: Dataset = digits(40)
    queries = hold_out(data)
    codes = Codes.from_bits(data.database[:, 10:42] > 4)
    asked = Codes.from_bits(queries.vectors[:, 10:42] > 4)
    index = HammingIndex(n_bits=32)
    index.add(codes)
    result = measure_hamming(asked, codes, index, queries)
    for n in CANDIDATES:
        rerank = RerankByVectors(data.database, queries.vectors, n_candidates=n)
        found = index.search(asked, 10, rerank=rerank).ids
        recall = metrics.recall_at_k(found, queries.neighbors, 10).mean()
        assert result[f"rescored_{n}"] == pytest.approx(100 * recall)
