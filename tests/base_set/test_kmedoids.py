"""K-medoids base sets: the medoids minimize the total distance within their clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from tests.base_set.conftest import cloud

from bitfold.base_set import KMeansBase, KMedoidsBase


def test_medoids_have_the_least_total_distance() -> None:
    X = cloud(300, 3)
    medoids = KMedoidsBase(6, max_iter=100).choose(X, rng=0).points
    nearest = cdist(X, medoids).argmin(axis=1)
    for j, medoid in enumerate(medoids):
        members = X[nearest == j]
        total = cdist(members, members).sum(axis=1)
        assert cdist(medoid[None], members).sum() == pytest.approx(total.min(), rel=1e-4)


def test_medoids_are_not_worse_than_those_of_kmeans() -> None:
    # Points near the middle are the nearest to the means of many clusters.
    X = cloud(1000, 60) * np.random.default_rng(0).exponential(size=(1000, 1)).astype(np.float32)
    cluster = cdist(X, KMeansBase(50).choose(X, rng=0).points).argmin(axis=1)
    parts = [X[cluster == j] for j in range(50)]
    start = np.array([part[cdist(part, part).sum(axis=1).argmin()] for part in parts])
    found = KMedoidsBase(50).choose(X, rng=0).points
    assert cdist(X, found).min(axis=1).sum() <= 1.001 * cdist(X, start).min(axis=1).sum()


def test_medoids_of_large_clusters_are_estimated() -> None:
    # With more than 512 members, distances to a sample are summed.
    X = cloud(3000, 2)
    medoid = KMedoidsBase(1).choose(X, rng=0).points
    total = cdist(X, X).sum(axis=1)
    assert cdist(medoid, X).sum() < 1.03 * total.min()
