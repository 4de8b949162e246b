"""Codes and relevance that several tests of metrics share."""

from __future__ import annotations

from typing import NamedTuple

import hypothesis.strategies as st
import numpy as np
from numpy.typing import NDArray

from bitfold._types import BoolArray
from bitfold.codes import Codes
from bitfold.metrics import (
    Relevance,
)

# At distances 0, 1, 1, 2 from the query 00.
DATABASE = Codes.from_bits([[0, 0], [0, 1], [1, 0], [1, 1]])
LABELS = ["a", "a", "b", "b"]
QUERIES = Codes.from_bits([[0, 0], [1, 1], [0, 0]])
QUERY_LABELS = ["a", "a", "c"]


def measure_one_order(relevant: BoolArray, N: int) -> tuple[float, float, float]:
    """Return precision, recall and average precision of the first N items by definition."""
    hits = np.cumsum(relevant)
    precisions = (hits / np.arange(1, len(relevant) + 1))[:N][relevant[:N]]
    total = int(relevant.sum())
    if not total:
        return 0.0, 0.0, 0.0
    return hits[N - 1] / N, hits[N - 1] / total, precisions.sum() / min(N, total)


class Case(NamedTuple):
    """Codes, and which of the database are relevant to which query."""

    queries: Codes
    database: Codes
    relevance: Relevance
    relevant: BoolArray

    @property
    def distances(self) -> NDArray[np.int64]:
        difference = self.queries.unpack()[:, None] != self.database.unpack()
        return np.asarray(difference.sum(axis=2), np.int64)


def draw_labels(rng: np.random.Generator, q: int, n: int) -> tuple[Relevance, BoolArray]:
    a, b = rng.integers(-1, 3, q), rng.integers(-1, 3, n)
    return Relevance.from_labels(a, b), np.equal.outer(a, b)


def draw_label_sets(rng: np.random.Generator, q: int, n: int) -> tuple[Relevance, BoolArray]:
    a, b = rng.random((q, 70)) < 0.02, rng.random((n, 70)) < 0.2
    return Relevance.from_labels(a, b.astype(float)), np.any(a[:, None] & b, axis=2)


def draw_neighbors(rng: np.random.Generator, q: int, n: int) -> tuple[Relevance, BoolArray]:
    relevant = rng.random((q, n)) < 0.3
    # Unsorted, padded, and with one repeated id.
    lists = [rng.permutation(np.flatnonzero(row)) for row in relevant]
    ids = np.full((q, n + 2), -1, np.int32)
    for row, known in zip(ids, lists, strict=True):
        row[1 : len(known) + 1] = known
        row[-1:] = known[:1] if len(known) else -1
    return Relevance.from_neighbors(ids), relevant


KINDS = [draw_labels, draw_label_sets, draw_neighbors]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_bits = draw(st.sampled_from([1, 2, 9, 64, 65, 200]))
    q, n = draw(st.integers(1, 9)), draw(st.integers(1, 40))
    # Mostly zeros, so that small distances and ties are frequent.
    queries, database = (Codes.from_bits(rng.random((m, n_bits)) < 0.1) for m in (q, n))
    return Case(queries, database, *draw(st.sampled_from(KINDS))(rng, q, n))
