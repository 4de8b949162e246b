"""Neighbors that are found once are those that every hasher would find."""

from __future__ import annotations

import numpy as np
import pytest
from reproduction.experiments.neighbor_cache import NeighborCache, share_neighbors

import bitfold as bf
from bitfold.neighbors import NearestBasePoints
from reproduction.experiments import neighbor_cache

X = np.random.default_rng(0).standard_normal((500, 40)).astype(np.float32)


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> NeighborCache:
    cache = NeighborCache()
    monkeypatch.setattr(neighbor_cache, "CACHE", cache)
    monkeypatch.setattr(NearestBasePoints, "find", NearestBasePoints.find)  # put back afterwards
    share_neighbors()
    return cache


def fit_and_encode(n_bits: int) -> bytes:
    hasher = bf.IMH.as_published(n_bits, n_base_points=30, random_state=0).fit(X)
    return hasher.encode(X).packed.tobytes()


def test_codes_are_the_same_and_other_lengths_search_nothing(
    cache: NeighborCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(NearestBasePoints, "find", neighbor_cache._find)
        expected = [fit_and_encode(n_bits) for n_bits in (8, 16)]
    assert not cache.blocks
    found = [fit_and_encode(8)]
    n_blocks = len(cache.blocks)
    found.append(fit_and_encode(16))
    assert found == expected
    assert len(cache.blocks) == n_blocks > 0


@pytest.mark.parametrize(
    "other",
    [
        NearestBasePoints(X[:20], 3),
        NearestBasePoints(X[1:21], 2),
        NearestBasePoints(X[:20, :10].copy(), 2, np.eye(40, dtype=np.float32)[:10]),
    ],
)
def test_other_base_sets_have_other_neighbors(
    cache: NeighborCache, other: NearestBasePoints
) -> None:
    NearestBasePoints(X[:20], 2).find(X)
    found, expected = other.find(X), neighbor_cache._find(other, X)
    assert np.array_equal(found.indices, expected.indices)
    assert np.array_equal(found.sq_distances, expected.sq_distances)


def test_the_oldest_are_dropped(cache: NeighborCache, monkeypatch: pytest.MonkeyPatch) -> None:
    base = NearestBasePoints(X[:20], 2)
    monkeypatch.setattr(neighbor_cache, "MAX_BYTES", 3 * 100 * 2 * 12)
    for first in range(0, 500, 100):
        base.find(X[first : first + 100])
    assert len(cache.blocks) == 3
    assert cache.n_bytes == 3 * 100 * 2 * 12
