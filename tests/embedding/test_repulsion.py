"""The estimated repulsion of many points against that of all pairs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from tests.embedding.conftest import FloatArray

from bitfold.embedding import elastic, perplexity_affinities, repulsion, sne, tsne
from bitfold.embedding.repulsion import build_neighbor_lists
from bitfold.embedding.stochastic import Objective, Schedule, descend


def spread(m: int = 1500, scale: float = 6.0) -> FloatArray:
    """Return clusters far from each other, as in a t-SNE of many dimensions."""
    Y, _ = make_blobs(
        m, 16, centers=60, cluster_std=0.4, center_box=(-scale, scale), random_state=0
    )
    wide: FloatArray = Y.astype(np.float32)
    return wide


def test_lists_contain_the_nearest_others() -> None:
    Y = spread(600)
    Y[5] = Y[6]
    distances = cdist(Y, Y)
    np.fill_diagonal(distances, np.inf)
    found = np.take_along_axis(distances, build_neighbor_lists(Y), axis=1)
    expected = np.sort(distances, axis=1)[:, : repulsion.N_LISTED]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_the_estimate_of_tsne_is_unbiased() -> None:
    # Over a whole round of samples, every pair is counted once.
    Y = spread(1536)
    exact = tsne.cauchy_repulsion(Y)
    near = build_neighbor_lists(Y)
    parts = np.random.default_rng(0).permutation(1536).reshape(3, 512)
    pushes = [tsne.cauchy_estimate(Y, near, part) for part in parts]
    Z = np.mean([np.exp(push.cost) for push in pushes])
    assert np.log(Z) == pytest.approx(exact.cost, rel=1e-5)
    force = sum(push.force * np.exp(push.cost) for push in pushes) / (3 * Z)
    np.testing.assert_allclose(force, exact.force, atol=1e-3 * np.abs(exact.force).max())


def test_the_estimate_of_the_elastic_embedding_is_unbiased() -> None:
    Y = spread(1536)
    exact = elastic.elastic_repulsion(Y, 2.0)
    near = build_neighbor_lists(Y)
    parts = np.random.default_rng(0).permutation(1536).reshape(3, 512)
    pushes = [elastic.elastic_estimate(Y, near, part, 2.0) for part in parts]
    assert np.mean([push.cost for push in pushes]) == pytest.approx(exact.cost, rel=1e-4)
    force = np.mean([push.force for push in pushes], axis=0)
    np.testing.assert_allclose(force, exact.force, atol=1e-3 * np.abs(exact.force).max())


METHODS: dict[str, Any] = {
    "t-SNE": (tsne.cauchy_repulsion, tsne.cauchy_estimate),
    "SNE": (sne.gaussian_repulsion, sne.gaussian_estimate),
    "EE": (
        partial(elastic.elastic_repulsion, strength=1.0),
        partial(elastic.elastic_estimate, strength=1.0),
    ),
}


@pytest.mark.parametrize("method", METHODS)
def test_neighbor_lists_reduce_the_error(method: str) -> None:
    Y = spread()
    all_pairs, estimate = METHODS[method]
    exact = all_pairs(Y)
    sample = np.random.default_rng(0).permutation(len(Y))[:512]

    def error(near: NDArray[np.int32]) -> float:
        return float(np.linalg.norm(estimate(Y, near, sample).force - exact.force))

    without = error(np.empty((len(Y), 0), np.int32))
    assert error(build_neighbor_lists(Y)) < 0.2 * without
    assert error(build_neighbor_lists(Y)) < 0.2 * np.linalg.norm(exact.force)
    assert estimate(Y, build_neighbor_lists(Y), sample).cost == pytest.approx(exact.cost, rel=0.01)


@pytest.mark.parametrize("method", METHODS)
def test_equal_points_need_no_lists(method: str) -> None:
    # As at the start, before lists are built; two points may be equal.
    Y = np.full((600, 16), 0.5, np.float32)
    Y[7:9] += 40
    all_pairs, estimate = METHODS[method]
    found = estimate(Y, np.empty((600, 0), np.int32), np.arange(512))
    assert found.cost == pytest.approx(all_pairs(Y).cost, rel=0.05)
    assert np.isfinite(estimate(Y, build_neighbor_lists(Y), np.arange(512)).force).all()


MINIMIZERS: dict[str, Any] = {
    "t-SNE": tsne.tsne,
    "SNE": sne.sne,
    "EE": partial(elastic.elastic_embedding, strength=1.0),
}


@pytest.mark.parametrize("method", MINIMIZERS)
def test_the_estimate_reaches_nearly_the_same_cost(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, _ = make_blobs(1200, 20, centers=60, random_state=0)
    P = perplexity_affinities(base.astype(np.float32), 5.0)
    minimize, schedule = MINIMIZERS[method], Schedule(200)
    exact = minimize(P, 16, np.random.default_rng(0), schedule)
    monkeypatch.setattr(repulsion, "MAX_EXACT_POINTS", 1000)
    found = minimize(P, 16, np.random.default_rng(0), schedule)
    assert not np.array_equal(found.Y, exact.Y)
    is_student = method == "t-SNE"
    constant = tsne.kl_divergence(P, np.random.default_rng(0)).constant if is_student else 0.0
    objective = Objective(METHODS[method][0], is_student, constant)
    cost = descend(P, objective, found.Y, Schedule(1)).cost
    assert cost < 1.03 * exact.cost
    assert found.cost == pytest.approx(cost, rel=0.05)
    again = minimize(P, 16, np.random.default_rng(0), schedule)
    np.testing.assert_array_equal(again.Y, found.Y)


def test_plain_tsne_computes_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    base, _ = make_blobs(1100, 20, centers=60, random_state=0)
    P = perplexity_affinities(base.astype(np.float32), 5.0)
    plain = Schedule(10, tolerance=None)
    exact = tsne.tsne(P, 16, np.random.default_rng(0), plain)
    monkeypatch.setattr(repulsion, "MAX_EXACT_POINTS", 1000)
    found = tsne.tsne(P, 16, np.random.default_rng(0), plain)
    np.testing.assert_array_equal(found.Y, exact.Y)


def test_a_huge_learning_rate_does_not_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repulsion, "MAX_EXACT_POINTS", 600)
    base, _ = make_blobs(700, 20, centers=80, random_state=0)
    P = perplexity_affinities(base.astype(np.float32), 5.0)
    absurd = Schedule(60, learning_rate=1e30)
    found = tsne.tsne(P, 16, np.random.default_rng(0), absurd)
    assert np.isfinite(found.Y).all()
    assert np.isfinite(found.cost)
