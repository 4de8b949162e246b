"""Relevance by labels, label sets and lists of neighbors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.metrics.cases import (
    DATABASE,
    LABELS,
    QUERIES,
    QUERY_LABELS,
)

from bitfold.codes import Codes
from bitfold.errors import DataError, ParameterError
from bitfold.metrics import (
    Relevance,
    closest_neighbors,
    distance_histograms,
    mean_average_precision,
)

CODES = Codes.from_bits([[0, 0], [0, 1], [1, 1]])
BY_LABELS = Relevance.from_labels([0, 1, 1], [1, 1, 0])
INDICATORS = [[1, 0], [0, 1], [1, 1]]
missing: Any = None


def test_types_of_labels() -> None:
    numbers = mean_average_precision(QUERIES, DATABASE, [0, 0, 2], [0, 0, 1, 1])
    for query_labels, labels in (
        (QUERY_LABELS, LABELS),
        ([0.0, 0.0, 2.0], [0.0, 0.0, 1.0, 1.0]),
        ([-5, -5, 2**40], [-5, -5, 7, 7]),
        (np.array([[0], [0], [2]]), [0, 0, 1, 1]),
    ):
        assert mean_average_precision(QUERIES, DATABASE, query_labels, labels) == numbers


def test_one_hot_labels() -> None:
    rng = np.random.default_rng(0)
    codes = Codes.from_bits(rng.integers(0, 2, (50, 10)))
    labels = rng.integers(4, size=50)
    for kind in (bool, np.uint8, int, float):
        hot = np.eye(4)[labels].astype(kind)
        got = distance_histograms(codes[:20], codes, hot[:20], hot)
        expected = distance_histograms(codes[:20], codes, labels[:20], labels)
        np.testing.assert_array_equal(got.relevant, expected.relevant)


def test_row_without_labels() -> None:
    codes = Codes.from_bits([[0], [1]])
    got = distance_histograms(codes, codes, [[0, 0], [1, 0]], [[0, 0], [1, 1]])
    assert got.relevant.sum(axis=1).tolist() == [0, 1]


def test_labels_without_queries_are_not_relevant() -> None:
    relevance = Relevance.from_labels(["m", "b"], ["z", "b", "a", "m", "b"])
    assert [relevance.items(int(g)).tolist() for g in relevance.group_of] == [[3], [1, 4]]


def test_more_than_65536_labels() -> None:
    labels = np.arange(70_000)
    relevance = Relevance.from_labels(labels, labels[::-1])
    group = int(relevance.group_of[65_537])
    assert relevance.items(group).tolist() == [70_000 - 1 - 65_537]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
@pytest.mark.parametrize("span", [2, 200])
def test_labels_at_the_ends_of_their_type(kind: type[np.integer[Any]], span: int) -> None:
    ends = np.iinfo(kind)
    labels = np.array([ends.min, ends.min + span - 1, ends.max, ends.max - span + 1], kind)
    for classes in (labels[:2], labels[2:], labels):
        relevance = Relevance.from_labels(classes, labels)
        for query, group in zip(classes, relevance.group_of, strict=True):
            assert relevance.items(group).tolist() == np.flatnonzero(labels == query).tolist()


def test_large_groups_are_split() -> None:
    relevance = Relevance.from_labels(np.zeros(150), [0, 1, 0])
    groups = list(relevance.groups(64))
    assert [len(group.queries) for group in groups] == [64, 64, 22]
    assert np.concatenate([group.queries for group in groups]).tolist() == list(range(150))
    assert all(group.items.tolist() == [0, 2] for group in groups)


def test_relevance_from_neighbors() -> None:
    X = np.array([[0.0], [3.0], [1.0], [9.0]])
    relevance = Relevance.from_neighbors(closest_neighbors(X, [[0.1], [8.0]], share=0.5))
    assert [relevance.items(g).tolist() for g in (0, 1)] == [[0, 2], [1, 3]]


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        (
            lambda: distance_histograms(CODES[:1], CODES, Relevance.from_neighbors([[0, 3]])),
            "ids",
            3,
        ),
        (lambda: Relevance.from_neighbors([0, 3]), "ids", "int64 of shape (2,)"),
        (lambda: Relevance.from_neighbors([[0.5]]), "ids", "float64 of shape (1, 1)"),
        (lambda: distance_histograms(CODES, CODES, [0, 1, 1]), "relevance", "list"),
        (lambda: distance_histograms(CODES, CODES, BY_LABELS, [0, 1, 1]), "labels", "list"),
        (lambda: distance_histograms(CODES, CODES, ["a"], [0, 1, 1]), "y", "shape (1,)"),
        (lambda: distance_histograms(CODES, CODES, [0, 1, 1], ["a"]), "y", "shape (1,)"),
        (lambda: distance_histograms(CODES, CODES, INDICATORS, [0, 1, 1]), "labels", "shape (3,)"),
        (
            lambda: distance_histograms(CODES, CODES, INDICATORS[:2], INDICATORS),
            "query_labels",
            "shape (2, 2)",
        ),
        (lambda: Relevance.from_labels([[1, 0, 0]], INDICATORS), "query_labels", 3),
        (lambda: Relevance.from_labels([[1, 2]], INDICATORS), "query_labels", "other values"),
    ],
)
def test_wrong_parameters(call: Callable[[], object], name: str, value: object) -> None:
    with pytest.raises(ParameterError) as error:
        call()
    assert (error.value.name, str(error.value.value)) == (name, str(value))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: distance_histograms(CODES[:2], CODES, BY_LABELS), "3 queries, but there are 2"),
        (lambda: distance_histograms(CODES, CODES[:2], BY_LABELS), "3 database items, .* are 2"),
        (lambda: Relevance.from_labels(missing, [1, 2]), "y of the queries .* got None"),
        (lambda: Relevance.from_labels([0.5], [1, 2]), "y of the queries .* got reals"),
    ],
)
def test_wrong_data(call: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()
