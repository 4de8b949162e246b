"""Affinities counted from the data, against a plain count."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest import MonkeyPatch

from bitfold.embedding import SNE, TSNE, ElasticEmbedding, Embedding, Neighbors, affinity
from bitfold.embedding.affinity import counted_affinities, perplexity_affinities
from bitfold.embedding.stochastic import how_counted

Reals = NDArray[np.float64]


class Chain:
    """Base points 0 … m - 1 on a line, data between them, and none between two halves."""

    bandwidth = 1.0

    def __init__(self, m: int, n: int, k: int = 4) -> None:
        rng = np.random.default_rng(0)
        self.k = k
        self.base = np.arange(m, dtype=np.float32)[:, None]
        x = rng.uniform(0, m - 1, n)
        self.x = x[(x < m / 2 - 0.9) | (x > m / 2 - 0.1)]

    def __len__(self) -> int:
        return len(self.x)

    def indices(self) -> NDArray[np.int32]:
        far = np.abs(self.x[:, None] - self.base[:, 0])
        return np.argsort(far, axis=1, kind="stable")[:, : self.k].astype(np.int32)

    def blocks(self, at_most: int | None = None) -> Iterator[Neighbors]:
        self.asked = at_most
        indices = self.indices()
        for start in range(0, len(indices), 100):
            part = indices[start : start + 100]
            yield Neighbors(part, np.zeros(part.shape))


def naive(indices: NDArray[np.int32], m: int, n_neighbors: int, power: float, steps: int) -> Reals:
    counts, sizes = np.zeros((m, m)), np.ones(m)
    for row in indices.tolist():
        sizes[row[0]] += 1
        for other in row[1:4]:
            counts[row[0], other] += 1
            counts[other, row[0]] += 1
    links = counts / np.sqrt(np.outer(sizes, sizes))
    if steps > 1:
        walk = links / np.maximum(links.sum(axis=1, keepdims=True), 1e-300)
        links = np.linalg.matrix_power(walk, steps)
    links = links + links.T
    np.fill_diagonal(links, 0)
    P = np.zeros((m, m))
    for i in range(m):
        best = sorted((-links[i, j], j) for j in range(m) if links[i, j])[:n_neighbors]
        total = sum((-c) ** power for c, _ in best)
        for c, j in best:
            P[i, j] += (-c) ** power / total
            P[j, i] += (-c) ** power / total
    normalized: Reals = P / P.sum()
    return normalized


@pytest.mark.parametrize(("n_neighbors", "power"), [(12, 2.0), (3, 1.0), (1, 1.5)])
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("at_once", [50, 1 << 20])
def test_counts_are_the_plain_ones(
    n_neighbors: int, power: float, k: int, steps: int, at_once: int, monkeypatch: MonkeyPatch
) -> None:
    monkeypatch.setattr(affinity, "_PAIRS_AT_ONCE", at_once)
    data = Chain(20, 3000, k)
    P = counted_affinities(data.blocks(), 20, n_neighbors, power, steps).toarray()
    np.testing.assert_allclose(P, naive(data.indices(), 20, n_neighbors, power, steps), atol=1e-12)
    np.testing.assert_allclose(P, P.T)
    assert P.sum() == pytest.approx(1)
    assert not P.diagonal().any()


@pytest.mark.parametrize(
    ("points_each", "n_neighbors", "power", "steps"),
    [(14.9, 40, 1.0, 3), (15, 12, 2.0, 1), (49.9, 12, 2.0, 1), (50, 12, 3.0, 1)],
)
def test_the_more_points_the_sharper(
    points_each: float, n_neighbors: int, power: float, steps: int
) -> None:
    data = Chain(20, 1000)
    P = how_counted(points_each)(data.blocks(), 20).toarray()
    assert np.allclose(P, naive(data.indices(), 20, n_neighbors, power, steps), atol=1e-12)


def test_a_gap_in_the_data_is_a_gap_in_the_graph() -> None:
    """Base points 9 and 10 are as near as any two, but no point has them as its nearest two."""
    data = Chain(20, 3000, k=2)
    P = counted_affinities(data.blocks(), 20).toarray()
    by_distance = perplexity_affinities(data.base, 3.0).toarray()
    assert by_distance[9, 10] > 0.5 * by_distance[4, 5]
    assert P[9, 10] < 0.2 * P[4, 5]


def test_a_base_point_without_data_has_no_links() -> None:
    indices = np.tile(np.array([[0, 1]], np.int32), (50, 1))
    P = counted_affinities([Neighbors(indices, np.zeros(indices.shape))], 3).toarray()
    assert P[2].sum() == 0
    assert P[0, 1] == pytest.approx(0.5)


@pytest.mark.parametrize("method", [TSNE, SNE, ElasticEmbedding])
def test_the_graph_is_counted_where_data_allow_it(method: type[Embedding]) -> None:
    plenty, few, single = Chain(20, 600), Chain(20, 100), Chain(20, 600, k=1)
    method().embed(plenty.base, 2, rng=0, data=plenty)
    assert plenty.asked == 256 * 20
    some = Chain(20, 250)
    smoothed = method().embed(some.base, 2, rng=0, data=some)
    assert some.asked == 256 * 20
    assert not np.array_equal(smoothed, method(perplexity=5).embed(some.base, 2, rng=0))
    for data in (few, single):
        counted = method().embed(data.base, 2, rng=0, data=data)
        assert not hasattr(data, "asked")
        by_distance = method(perplexity=5).embed(data.base, 2, rng=0)
        assert np.array_equal(counted, by_distance)


def test_a_perplexity_is_heeded() -> None:
    data = Chain(20, 600)
    asked = TSNE(perplexity=4).embed(data.base, 2, rng=0, data=data)
    assert np.array_equal(asked, TSNE(perplexity=4).embed(data.base, 2, rng=0))
    assert not hasattr(data, "asked")
