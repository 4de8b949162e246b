"""K-means base sets: quality, clusters without points, and projection of many centers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from tests.base_set.conftest import cloud, inertia, n_used, repeated

from bitfold.base_set import KMeansBase
from bitfold.base_set import kmeans as kmeans_module
from bitfold.base_set.kmeans import kmeans


@pytest.mark.parametrize("offset", [0, 1e4])
def test_inertia_is_close_to_that_of_scikit_learn(offset: float) -> None:
    X, _ = make_blobs(2500, 64, centers=30, cluster_std=5.0, random_state=0)
    X = (X + offset).astype(np.float32)
    bases = [KMeansBase(60).choose(X, rng=seed).points for seed in range(3)]
    assert all(n_used(X, base) == 60 for base in bases)
    ours = np.mean([inertia(X, base) for base in bases])
    theirs = np.mean(
        [
            KMeans(60, init="random", n_init=1, max_iter=20, random_state=seed).fit(X).inertia_
            for seed in range(3)
        ]
    )
    assert ours < 1.05 * theirs


def test_centers_are_means_of_their_clusters() -> None:
    X = cloud(200, 2)
    centers = KMeansBase(5, max_iter=60).choose(X, rng=0).points
    nearest = cdist(X, centers).argmin(axis=1)
    means = np.array([X[nearest == j].mean(axis=0) for j in range(5)])
    np.testing.assert_allclose(centers, means, atol=1e-5)


def test_more_iterations_lower_the_inertia() -> None:
    X = cloud(2000, 8)
    costs = [
        inertia(X, KMeansBase(30, max_iter).choose(X, rng=0).points) for max_iter in (1, 2, 5, 20)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < 0.99 * costs[0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("offset", [0, 100])
@pytest.mark.parametrize("m", [20, 55, 59])
def test_no_cluster_is_empty_despite_duplicates(m: int, offset: float, seed: int) -> None:
    X = repeated(cloud(60, seed=seed) + np.float32(offset), 1000, seed)
    centers = KMeansBase(m).choose(X, rng=seed).points
    assert n_used(X, centers) == m


@pytest.mark.parametrize("n", [3, 50, 51, 100])
def test_no_cluster_is_empty_with_few_points(n: int) -> None:
    X = cloud(n)
    for m in {1, 2, n // 2, n - 2, n - 1} - {0}:
        assert n_used(X, KMeansBase(m).choose(X, rng=0).points) == m


def test_constant_columns_change_nothing() -> None:
    X = np.concatenate([cloud(), np.full((400, 3), 1e4, np.float32)], axis=1)
    centers = KMeansBase(50).choose(X, rng=0).points
    assert n_used(X, centers) == 50
    np.testing.assert_array_equal(centers[:, 6:], 1e4)
    assert inertia(X, centers) == pytest.approx(
        inertia(cloud(), KMeansBase(50).choose(cloud(), rng=0).points), rel=0.1
    )


def test_points_are_not_changed() -> None:
    X = cloud() + np.float32(1e4)
    kept = X.copy()
    kmeans(X, 10, 3, np.random.default_rng(0))
    np.testing.assert_array_equal(X, kept)


def test_many_centers_are_found_along_principal_directions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((6000, 20)) @ rng.standard_normal((20, 150))).astype(np.float32)
    X += 0.1 * rng.standard_normal(X.shape).astype(np.float32)
    monkeypatch.setattr(kmeans_module, "_MAX_UNPROJECTED_CENTERS", 100)
    projected = kmeans(X, 200, 10, np.random.default_rng(0))
    monkeypatch.setattr(kmeans_module, "_MAX_UNPROJECTED_CENTERS", 1000)
    plain = kmeans(X, 200, 10, np.random.default_rng(0))
    assert not np.array_equal(projected, plain)
    assert inertia(X, projected) < 1.03 * inertia(X, plain)
    assert n_used(X, projected) == 200
