"""Re-ranking on MNIST and CIFAR-10: `make paper`."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.paper.conftest import LoadData

import bitfold as bf
from bitfold import datasets, metrics
from bitfold.search import Reranker

N_HITS = 1000
"""Number of hits, and of candidates that are re-ranked."""


def measure_map(ids: NDArray[np.int64], data: datasets.Dataset) -> float:
    """Return the MAP of the first N_HITS hits, in percent."""
    relevant = data.labels[ids] == data.query_labels[:, None]
    precision = np.cumsum(relevant, axis=1) / np.arange(1, ids.shape[1] + 1)
    return 100 * float(np.mean((precision * relevant).sum(axis=1) / ids.shape[1]))


@pytest.mark.paper
@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_rerank(name: str, load_data: LoadData, capsys: pytest.CaptureFixture[str]) -> None:
    data = load_data(name)
    X, Q = data.database.astype(np.float32), data.queries.astype(np.float32)
    truth = metrics.closest_neighbors(X, Q, k=10)
    hasher = bf.IMH(64, base=bf.KMeansBase(400), random_state=0).fit(X)
    index = bf.HammingIndex(64)
    index.add(hasher.encode(X))
    queries = hasher.encode(Q)
    rerankers: dict[str, Reranker | None] = {
        "codes alone": None,
        "RerankByEmbedding": bf.RerankByEmbedding(hasher.embed(Q), n_candidates=N_HITS),
        "RerankByVectors": bf.RerankByVectors(X, Q, n_candidates=N_HITS),
    }
    values = {}
    for order, rerank in rerankers.items():
        ids = index.search(queries, N_HITS, rerank=rerank).ids
        recall = 100 * float(np.mean(metrics.recall_at_k(ids[:, :10], truth, 10)))
        values[order] = measure_map(ids, data), recall
        with capsys.disabled():
            scores = f"MAP@{N_HITS} {values[order][0]:.2f}  recall@10 {values[order][1]:.2f}"
            print(f"\n{name:8} {order:18} {scores}")
    # The original vectors find many more Euclidean neighbors; embedded queries find some more.
    assert values["RerankByVectors"][1] > 4 * values["codes alone"][1]
    assert values["RerankByEmbedding"][1] > values["codes alone"][1]
    assert values["RerankByEmbedding"][0] > values["codes alone"][0] - 0.5
