"""Mean average precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.metrics.cases import (
    DATABASE,
    LABELS,
    QUERIES,
    QUERY_LABELS,
)

from bitfold.codes import Codes
from bitfold.errors import ParameterError
from bitfold.metrics import (
    Relevance,
    average_precision,
    distance_histograms,
    map_scorer,
    mean_average_precision,
)


def test_map_by_hand() -> None:
    expected = average_precision(distance_histograms(QUERIES, DATABASE, QUERY_LABELS, LABELS))
    got = mean_average_precision(QUERIES, DATABASE, QUERY_LABELS, LABELS)
    assert got == pytest.approx(expected.mean(), rel=1e-14)
    assert got == pytest.approx((11 / 12 + 11 / 24) / 3, rel=1e-14)


def test_queries_without_relevant_items() -> None:
    assert mean_average_precision(QUERIES, DATABASE, ["x", "y", "z"], LABELS) == 0.0


@pytest.mark.parametrize(("ties", "expected"), [("by_id", 1.0), ("expected", 11 / 18)])
def test_ties(ties: str, expected: float) -> None:
    database = Codes.from_bits([[0], [0], [0]])
    relevance = Relevance.from_neighbors([[0]])
    got = mean_average_precision(database[:1], database, relevance, ties=ties)
    assert got == pytest.approx(expected, rel=1e-14)


def test_cutoff() -> None:
    database = Codes.from_bits([[0, 0], [0, 1], [1, 1]])
    for ties in ("expected", "by_id"):
        got = mean_average_precision(
            database[:1], database, ["a"], ["b", "a", "a"], cutoff=2, ties=ties
        )
        assert got == pytest.approx((1 / 2) / 2)


def test_unknown_ties() -> None:
    with pytest.raises(ParameterError, match=r"ties of mean_average_precision .* 'none'"):
        mean_average_precision(QUERIES, DATABASE, QUERY_LABELS, LABELS, ties="none")


class Encoder:
    """The part of a fitted hasher that a scorer uses."""

    def encode(self, X: NDArray[Any]) -> Codes:
        return Codes.from_bits(X)


def test_map_scorer_excludes_the_row_itself() -> None:
    X = np.array([[0, 0], [0, 0], [1, 1], [1, 1]])
    assert map_scorer(Encoder(), X, [0, 0, 1, 1]) == pytest.approx(1.0)
    # Each row is the only one of its class, so there is nothing to find.
    assert map_scorer(Encoder(), X, [0, 1, 2, 3]) == 0.0
    # The equal row has the other label; the relevant row is tied with one that is not.
    assert map_scorer(Encoder(), X, [0, 1, 0, 1]) == pytest.approx((1 / 2 + 1 / 3) / 2)


def test_map_scorer_equals_a_loop() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 2, (30, 6)), rng.integers(3, size=30)
    codes = Codes.from_bits(X)
    expected = [
        mean_average_precision(codes[i], codes[others], y[i : i + 1], y[others])
        for i in range(30)
        for others in [np.arange(30) != i]
    ]
    assert map_scorer(Encoder(), X, y) == pytest.approx(np.mean(expected))
