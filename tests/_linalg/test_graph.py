"""Neighbor graphs: weights, connected components, duplicates, outliers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist

from bitfold._linalg import graph

RealArray = NDArray[np.float64]


def cloud(m: int = 60, d: int = 5, seed: int = 0) -> RealArray:
    return np.random.default_rng(seed).standard_normal((m, d)).astype(np.float32).astype(float)


def test_graph_weights_are_gaussian_of_the_nearest() -> None:
    base = cloud(30)
    W = graph.gaussian_graph(base, 3).toarray()
    distances = cdist(base, base)
    np.fill_diagonal(distances, np.inf)
    kth = np.sort(distances, axis=1)[:, 2]
    linked = (distances <= kth[:, None]) | (distances <= kth)
    expected = np.where(linked, np.exp(-((distances / kth.mean()) ** 2)), 0)
    np.testing.assert_allclose(W, expected, atol=1e-12)


def test_the_bandwidth_is_used() -> None:
    base = cloud(10)
    W = graph.gaussian_graph(base, 99, bandwidth=2.0).toarray()
    expected = np.exp(-cdist(base, base, "sqeuclidean") / 4) - np.eye(10)
    np.testing.assert_allclose(W, expected, atol=1e-12)


def test_cosine_graph_links_the_largest_cosines() -> None:
    points = cloud(30) + 1
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    cosines = unit @ unit.T - 9 * np.eye(30)
    third = -np.sort(-cosines, axis=1)[:, 2]
    linked = (cosines >= third[:, None]) | (cosines >= third)
    W = graph.cosine_graph(points, 3).toarray()
    expected = np.where(linked, np.maximum(cosines, graph.MIN_WEIGHT), 0)
    np.testing.assert_allclose(W, expected, atol=1e-9)
    lengths = np.arange(1, 31)[:, None]
    np.testing.assert_allclose(graph.cosine_graph(lengths * points, 3).toarray(), W, atol=1e-9)


def test_cosines_that_are_not_positive_have_the_smallest_weight() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 2.0]])
    W = graph.cosine_graph(points, 3).toarray()
    np.testing.assert_allclose(W, graph.MIN_WEIGHT * (1 - np.eye(4)), atol=1e-12)


def test_distances_do_not_depend_on_the_origin() -> None:
    base = np.round(cloud(30) * 1024) / 1024
    near, far = (graph.find_neighbors(base + shift, 3).distances for shift in (0, 2.0**30))
    np.testing.assert_allclose(near, far, rtol=1e-6)


def test_components_are_joined_by_their_minimum_spanning_tree() -> None:
    line = np.array([0, 1, 2, 10, 11, 12, 30, 31, 32], float)[:, None]
    split = graph._link_neighbors(graph.find_neighbors(line, 2))
    joined = graph._connect(split, line)
    assert csgraph.connected_components(split)[0] == 3
    assert csgraph.connected_components(joined)[0] == 1
    bridges = {tuple(pair) for pair in np.argwhere((joined - split).toarray() > 0)}
    assert bridges == {(2, 3), (3, 2), (5, 6), (6, 5)}
    assert joined[2, 3] == pytest.approx(8)
    assert joined[5, 6] == pytest.approx(18)


def test_a_connected_graph_is_unchanged() -> None:
    base = cloud(30)
    whole = graph._link_neighbors(graph.find_neighbors(base, 8))
    assert graph._connect(whole, base) is whole


def test_duplicates_stay_linked() -> None:
    base = np.repeat(cloud(6), 4, axis=0)
    joined = graph.distance_graph(base, 2)
    assert csgraph.connected_components(joined)[0] == 1
    assert (graph.gaussian_graph(base, 2).diagonal() == 0).all()


def test_bandwidth_of_duplicates() -> None:
    base = np.repeat(cloud(6) + 100, 4, axis=0)
    assert graph.mean_neighbor_distance(graph.find_neighbors(base, 2)) == 1.0
    assert graph.mean_neighbor_distance(graph.find_neighbors(base, 5)) > 0.5
    # Three copies fill the neighborhood of most points, not of all.
    mixed = np.vstack([base, cloud(3, seed=1) + 100])
    assert 0.05 < graph.mean_neighbor_distance(graph.find_neighbors(mixed, 3)) < 10


def test_an_outlier_keeps_a_weight() -> None:
    base = np.vstack([cloud(20), np.full((1, 5), 1e6)])
    W = graph.gaussian_graph(base, 3)
    assert W.data.min() == graph.MIN_WEIGHT
    assert W[[20]].sum() > 0
