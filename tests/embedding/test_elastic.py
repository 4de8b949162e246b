"""The elastic embedding: its scale, and the weights of its repulsion."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from tests.embedding.conftest import float32_cloud as cloud

from bitfold.embedding import ElasticEmbedding, repulsion
from bitfold.embedding.elastic import RepulsionWeights, elastic_estimate, elastic_repulsion
from bitfold.embedding.repulsion import build_neighbor_lists
from bitfold.errors import ParameterError

EVERY = slice(None)


def test_strength_determines_the_scale() -> None:
    sizes = [
        np.abs(ElasticEmbedding(strength=strength).embed(cloud(50), 16, rng=0)).mean()
        for strength in (0.5, 5.0, 50.0)
    ]
    assert sizes == sorted(sizes)


def expected_weights(base: NDArray[np.float32]) -> NDArray[np.float64]:
    distances = cdist(base, base, "sqeuclidean")
    return np.asarray(distances / distances[~np.eye(len(base), dtype=bool)].mean())


@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_weights_are_relative_squared_distances(shift: float) -> None:
    base = cloud(40) * 7 + np.float32(shift)
    found = RepulsionWeights(base).between(EVERY, EVERY)
    np.testing.assert_allclose(found, expected_weights(base), atol=1e-4)


def test_weights_of_parts_are_those_of_all_pairs() -> None:
    weights = RepulsionWeights(cloud(60))
    whole = weights.between(EVERY, EVERY)
    rows, columns = slice(8, 20), np.array([3, 8, 50])
    np.testing.assert_allclose(weights.between(rows, columns), whole[rows, columns], atol=1e-6)
    lists = build_neighbor_lists(cloud(60, 16))
    listed = np.take_along_axis(whole, lists.astype(np.int64), axis=1)[rows]
    np.testing.assert_allclose(weights.listed(rows, lists), listed, atol=1e-5)


def test_weights_of_many_wide_points_are_nearly_those_of_all_directions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    directions = np.random.default_rng(1).standard_normal((20, 300)).astype(np.float32)
    base = cloud(120, 20) @ directions + np.float32(0.1) * cloud(120, 300, 2)
    monkeypatch.setattr(repulsion, "MAX_EXACT_POINTS", 100)
    found = RepulsionWeights(base).between(EVERY, EVERY)
    apart = ~np.eye(120, dtype=bool)
    np.testing.assert_allclose(found[apart], expected_weights(base)[apart], rtol=0.01)


def test_force_is_a_quarter_of_the_negative_gradient() -> None:
    weights = expected_weights(cloud(12))
    Y = cloud(12, 3, 1).astype(np.float64)

    def cost(Y: NDArray[np.float64]) -> float:
        pushes = weights * np.exp(-cdist(Y, Y, "sqeuclidean"))
        return float(2.5 * pushes[~np.eye(12, dtype=bool)].mean())

    found = elastic_repulsion(Y.astype(np.float32), 2.5, weights.astype(np.float32))
    assert found.cost == pytest.approx(cost(Y), rel=1e-5)
    slope = numeric_gradient(cost, Y)
    np.testing.assert_allclose(-4 * found.force, slope, atol=1e-4 * np.abs(slope).max())


def numeric_gradient(
    cost: Callable[[NDArray[np.float64]], float], Y: NDArray[np.float64]
) -> NDArray[np.float64]:
    slope = np.empty_like(Y)
    for at in np.ndindex(*Y.shape):
        step = np.zeros_like(Y)
        step[at] = 1e-5
        slope[at] = (cost(Y + step) - cost(Y - step)) / 2e-5
    return slope


def test_weighted_estimate_is_unbiased() -> None:
    Y, weights = cloud(1536, 16), RepulsionWeights(cloud(1536, 8, 1))
    exact = elastic_repulsion(Y, 2.0, weights.between(EVERY, EVERY))
    near = build_neighbor_lists(Y)
    parts = np.random.default_rng(0).permutation(1536).reshape(3, 512)
    pushes = [elastic_estimate(Y, near, part, 2.0, weights) for part in parts]
    assert np.mean([push.cost for push in pushes]) == pytest.approx(exact.cost, rel=1e-4)
    force = np.mean([push.force for push in pushes], axis=0)
    np.testing.assert_allclose(force, exact.force, atol=1e-3 * np.abs(exact.force).max())


@pytest.mark.parametrize("max_exact", [4096, 60])
def test_weights_change_the_embedding_but_the_scale_of_the_data_does_not(
    max_exact: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repulsion, "MAX_EXACT_POINTS", max_exact)
    monkeypatch.setattr(repulsion, "N_SAMPLED", 40)

    def embed(scale: float, kind: str) -> NDArray[np.float32]:
        method = ElasticEmbedding(max_iter=60, perplexity=5, repulsion=kind)
        return method.embed(np.float32(scale) * cloud(80), 16, rng=0)

    # A power of two does not round.
    np.testing.assert_allclose(embed(64, "distance"), embed(1, "distance"), atol=1e-4)
    assert np.abs(embed(1, "uniform") - embed(1, "distance")).max() > 0.01


def test_unknown_weights_raise() -> None:
    with pytest.raises(ParameterError, match=r"repulsion of ElasticEmbedding .* 'strong'"):
        ElasticEmbedding(repulsion="strong").embed(cloud(20), 4, rng=0)
