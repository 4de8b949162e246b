"""Curved sheets: only neighborhoods separate the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

from bitfold.datasets import manifold
from bitfold.datasets.manifold import SmoothFunctions
from bitfold.errors import ParameterError


@pytest.mark.parametrize("n_features", [10, 64])
def test_neighbors_separate_the_classes_and_linear_models_do_not(n_features: int) -> None:
    data = manifold(4000, n_features)

    def score(classifier: Any) -> float:
        fitted = classifier.fit(data.train, data.labels)
        return float(fitted.score(data.queries, data.query_labels))

    assert score(KNeighborsClassifier(5)) > 0.97
    assert score(NearestCentroid()) < 0.3
    assert score(LinearDiscriminantAnalysis()) < 0.3


@pytest.mark.parametrize("n_dims", [1, 2, 3])
def test_sheet_is_locally_flat_and_globally_curved(n_dims: int) -> None:
    rng = np.random.default_rng(1)
    sheet = SmoothFunctions.draw(n_dims, 40, rng)
    point = rng.random(n_dims)
    nearby = sheet(point + 1e-4 * rng.standard_normal((200, n_dims)))
    spread = np.linalg.svd(nearby - nearby.mean(axis=0), compute_uv=False)
    assert spread[n_dims] < 0.02 * spread[n_dims - 1]
    whole = sheet(rng.random((3000, n_dims)))
    variances = np.linalg.svd(whole - whole.mean(axis=0), compute_uv=False) ** 2
    assert np.searchsorted(np.cumsum(variances) / variances.sum(), 0.95) >= 2 * n_dims


def test_features_have_the_gaussian_kernel() -> None:
    rng = np.random.default_rng(2)
    points = np.array([[0.5, 0.5], [0.5, 0.8]])
    values = np.concatenate([SmoothFunctions.draw(2, 50, rng)(points) for _ in range(100)], axis=1)
    # The Gaussian kernel at one length scale: exp(-1/2).
    assert np.allclose(np.cov(values), [[1, np.exp(-0.5)], [np.exp(-0.5), 1]], atol=0.06)


def test_noise_and_seeds() -> None:
    clean, noisy = manifold(900, noise=0, seed=4), manifold(900, noise=0.3, seed=4)
    assert np.array_equal(clean.labels, noisy.labels)
    assert np.std(noisy.database - clean.database) == pytest.approx(0.3, rel=0.03)
    assert np.array_equal(noisy.queries, manifold(900, noise=0.3, seed=4).queries)
    assert not np.allclose(clean.queries, manifold(900, noise=0, seed=5).queries)
    assert clean.database.dtype == np.float32
    assert np.bincount(np.concatenate([clean.labels, clean.query_labels])).tolist() == [90] * 10


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n": 1}, "n of manifold must be at least 2"),
        ({"n_features": 0}, "n_features of manifold must be at least 1"),
        ({"n_dims": 0}, "n_dims of manifold must be at least 1"),
        ({"n_classes": 10_001}, "n_classes of manifold must be at most n=10000, got 10001"),
        ({"noise": -1}, "noise of manifold .* got -1"),
        ({"noise": np.nan}, "noise of manifold .* got nan"),
        ({"seed": -1}, "seed of manifold must be at least 0"),
        ({"n_queries": 10_000}, "n_queries of manifold must be at most 9999"),
    ],
)
def test_invalid_parameters_are_rejected(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        manifold(**wrong)
