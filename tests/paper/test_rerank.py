"""What re-ranking adds to the codes, on MNIST and CIFAR-10: `make paper`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from reproduction.cifar10_jpeg import load_cifar10_jpeg

import bitfold as bf
from bitfold import datasets, metrics
from bitfold.errors import MissingDataError
from bitfold.search import Reranker

DEPTH = 1000
"""Answers looked at, and candidates re-ranked."""


def map_of(ids: NDArray[np.int64], data: datasets.Dataset) -> float:
    """MAP of the first DEPTH answers, in percent."""
    right = data.labels[ids] == data.query_labels[:, None]
    precision = np.cumsum(right, axis=1) / np.arange(1, ids.shape[1] + 1)
    return 100 * float(np.mean((precision * right).sum(axis=1) / ids.shape[1]))


@pytest.mark.paper
@pytest.mark.parametrize("load", [datasets.mnist, load_cifar10_jpeg], ids=["MNIST", "CIFAR-10"])
def test_rerank(load: Callable[[], datasets.Dataset], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        data = load()
    except MissingDataError as error:
        pytest.skip(f"needs real data: {error}")
    X, Q = data.database.astype(np.float32), data.queries.astype(np.float32)
    truth = metrics.closest_neighbors(X, Q, k=10)
    hasher = bf.IMH(64, base=bf.KMeansBase(400), random_state=0).fit(X)
    index = bf.HammingIndex(64)
    index.add(hasher.encode(X))
    asked = hasher.encode(Q)
    orders: dict[str, Reranker | None] = {
        "codes alone": None,
        "RerankByEmbedding": bf.RerankByEmbedding(hasher.embed(Q), n_candidates=DEPTH),
        "RerankByVectors": bf.RerankByVectors(X, Q, n_candidates=DEPTH),
    }
    reached = {}
    for name, rerank in orders.items():
        ids = index.search(asked, DEPTH, rerank=rerank).ids
        recall = 100 * float(np.mean(metrics.recall_at_k(ids[:, :10], truth, 10)))
        reached[name] = map_of(ids, data), recall
        with capsys.disabled():
            scores = f"MAP@{DEPTH} {reached[name][0]:.2f}  recall@10 {reached[name][1]:.2f}"
            print(f"\n{load.__name__:8} {name:12} {scores}")
    # The originals find many more Euclidean neighbors; the query's reals some more.
    assert reached["RerankByVectors"][1] > 4 * reached["codes alone"][1]
    assert reached["RerankByEmbedding"][1] > reached["codes alone"][1]
    assert reached["RerankByEmbedding"][0] > reached["codes alone"][0] - 0.5
