"""Histograms of asymmetric distances."""

from __future__ import annotations

import numpy as np
import pytest

from bitfold import Codes, HammingIndex, datasets
from bitfold.errors import DataError, ParameterError
from bitfold.hashers import ITQ
from bitfold.metrics import (
    Relevance,
    average_precision,
    embedding_histograms,
    scan_histograms,
)
from bitfold.metrics.interval_counts import N_BINS


def test_average_precision_is_that_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitfold.metrics.interval_counts._BLOCK_BYTES", 4 * 50 * 400)
    data = datasets.digits(n_queries=50)
    hasher = ITQ(32, random_state=0).fit(data.database)
    codes, embedding = hasher.encode(data.database), hasher.embed(data.queries)
    with HammingIndex(32) as index:
        index.add(codes)
        hits = index.search(hasher.encode(data.queries), len(codes), query_embedding=embedding)
    relevant = data.labels[hits.ids] == data.query_labels[:, None]
    expected = average_precision(scan_histograms(hits.distances, relevant))
    calls: list[tuple[str, int, int]] = []
    histograms = embedding_histograms(
        embedding, codes, data.relevance, progress=lambda *call: calls.append(call)
    )
    np.testing.assert_allclose(average_precision(histograms), expected, atol=0.003)
    assert average_precision(histograms).mean() == pytest.approx(expected.mean(), abs=5e-4)
    assert (histograms.found.sum(axis=1) == len(codes)).all()
    assert len(calls) > 2
    assert calls[-1] == ("asymmetric ranking", len(codes), len(codes))


def test_zero_embedding_ties_all() -> None:
    codes = Codes.from_bits([[0, 1], [1, 0]])
    found, relevant = embedding_histograms([[0, 0]], codes, Relevance.from_labels([1], [1, 0]))
    assert (found[0, 0], relevant[0, 0]) == (2, 1)


def test_farthest_code_is_in_the_last_interval() -> None:
    codes = Codes.from_bits([[0, 0, 0]])
    found, _ = embedding_histograms([[1, 2, 3]], codes, Relevance.from_labels([1], [1]))
    assert found[0, N_BINS - 1] == 1


def test_wrong_sizes() -> None:
    codes, relevance = Codes.from_bits([[0, 1]]), Relevance.from_labels([1], [1])
    for wrong in ([[1.0]], [1.0, 2.0]):
        with pytest.raises(ParameterError, match="one column per bit"):
            embedding_histograms(wrong, codes, relevance)
    with pytest.raises(DataError):
        embedding_histograms([[1.0, 2.0]] * 2, codes, relevance)
