"""The relaxed Laplacian against dense computations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from tests.embedding.conftest import (
    RealArray,
    cloud,
    embed,
    find_neighbors,
    same_up_to_sign,
    training_points,
)

from bitfold._linalg import graph
from bitfold.embedding import RelaxedLaplacian
from bitfold.embedding.relaxed_laplacian import data_laplacian
from bitfold.errors import DataError
from bitfold.neighbors import Neighbors, mean_kth_distance


def dense_weights(X: RealArray, base: RealArray, bandwidth: float, k: int = 4) -> RealArray:
    """Return W_XB, (n, m)."""
    sq_distances = cdist(X, base, "sqeuclidean")
    rank = sq_distances.argsort(axis=1).argsort(axis=1)
    return np.where(rank < k, np.exp(-sq_distances / bandwidth**2), 0.0)


def test_t_equals_the_dense_computation() -> None:
    base = cloud()
    X = training_points(base).astype(np.float32).astype(np.float64)
    W = dense_weights(X, base, 1.0)
    W_bar = W / W.sum(axis=1, keepdims=True)
    T = np.diag(W.sum(axis=0)) - W_bar.T @ W
    ours = data_laplacian(find_neighbors(X, base), len(base), 1.0)
    np.testing.assert_allclose(ours, T, atol=1e-5 * T.max())
    np.testing.assert_allclose(ours @ np.ones(len(base)), 0, atol=1e-9)


def test_t_does_not_depend_on_the_blocks() -> None:
    base = cloud()
    (whole,) = find_neighbors(training_points(base), base)
    parts = [
        Neighbors(whole.indices[i : i + 37], whole.sq_distances[i : i + 37])
        for i in range(0, len(whole.indices), 37)
    ]
    expected = data_laplacian([whole], len(base), 1.0)
    np.testing.assert_allclose(data_laplacian(parts, len(base), 1.0), expected, atol=1e-12)


def test_the_bandwidth_is_the_mean_distance_to_the_farthest_neighbor() -> None:
    base = cloud()
    X = training_points(base)
    farthest = np.sort(cdist(X, base), axis=1)[:, 3]
    assert mean_kth_distance(find_neighbors(X, base)) == pytest.approx(farthest.mean(), rel=1e-5)
    assert mean_kth_distance(find_neighbors(base, base, k=1)) == 1.0


def test_it_equals_the_dense_computation() -> None:
    base = cloud()
    neighbors = find_neighbors(training_points(base), base)
    T = data_laplacian(neighbors, len(base), mean_kth_distance(neighbors))
    W = graph.gaussian_graph(base, 6).toarray()
    _, vectors = eigh(np.diag(W.sum(axis=1)) - W + 3 * T)
    Y = RelaxedLaplacian(n_neighbors=6, smoothness=3.0).embed(base, 10, neighbors=neighbors)
    assert same_up_to_sign(Y.astype(float), vectors[:, 1:11])


def test_it_minimizes_the_objective_of_the_paper() -> None:
    base = cloud()
    X = training_points(base)
    Y = embed(RelaxedLaplacian(n_neighbors=6), base, 3)
    W_B = graph.gaussian_graph(base, 6).toarray()
    W_XB = dense_weights(X, base, mean_kth_distance(find_neighbors(X, base)))

    def cost(Y_B: RealArray) -> float:
        induced = W_XB @ Y_B / W_XB.sum(axis=1, keepdims=True)
        # trace(Yᵀ M Y) contains each pair of base points once, the sum over i and j twice.
        within = (W_B * cdist(Y_B, Y_B, "sqeuclidean")).sum() / 2
        return float(within + 2.0 * (W_XB * cdist(induced, Y_B, "sqeuclidean")).sum())

    rng = np.random.default_rng(0)
    for _ in range(20):
        other = Y + 0.05 * rng.standard_normal(Y.shape)
        other -= other.mean(axis=0)
        other = np.sqrt(len(base)) * np.linalg.qr(other)[0]
        assert cost(Y) < cost(other)


def test_far_training_points_have_no_influence() -> None:
    base = cloud()
    (near,) = find_neighbors(training_points(base), base)
    far = Neighbors(near.indices[:50], near.sq_distances[:50] + 1e6)
    expected = data_laplacian([near], len(base), 1.0)
    np.testing.assert_allclose(data_laplacian([near, far], len(base), 1.0), expected, atol=1e-9)


def test_training_data_are_required() -> None:
    with pytest.raises(DataError, match="RelaxedLaplacian needs training data"):
        RelaxedLaplacian().embed(cloud(), 3)


def test_small_eigenvalues_are_left_out() -> None:
    base = cloud()
    X = training_points(base)
    W = graph.gaussian_graph(base, 6).toarray()
    T = data_laplacian(
        find_neighbors(X, base), len(base), mean_kth_distance(find_neighbors(X, base))
    )
    values, vectors = eigh(np.diag(W.sum(axis=1)) - W + 2 * T)
    bound = (values[4] + values[5]) / 2
    Y = embed(RelaxedLaplacian(n_neighbors=6, min_eigenvalue=bound), base, 7)
    assert same_up_to_sign(Y, vectors[:, 5:12])
    tiny = embed(RelaxedLaplacian(n_neighbors=6, min_eigenvalue=values[1] / 2), base, 7)
    np.testing.assert_array_equal(tiny, embed(RelaxedLaplacian(n_neighbors=6), base, 7))


def test_too_few_eigenvalues_are_an_error() -> None:
    with pytest.raises(DataError, match="Only 0 eigenvectors"):
        embed(RelaxedLaplacian(n_neighbors=6, min_eigenvalue=1e9), cloud(), 3)
