"""The repulsion of many points, estimated, against all pairs; and late exaggeration."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest import MonkeyPatch
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from bitfold.embedding import TSNE, descent, elastic, sampled_repulsion, sne, tsne
from bitfold.embedding.affinity import perplexity_affinities
from bitfold.embedding.tsne import cauchy_repulsion

FloatArray = NDArray[np.float32]


def spread(m: int = 1500, scale: float = 6.0) -> FloatArray:
    """Clusters far from each other, as a t-SNE in many dimensions has them."""
    Y, _ = make_blobs(
        m, 16, centers=60, cluster_std=0.4, center_box=(-scale, scale), random_state=0
    )
    wide: FloatArray = Y.astype(np.float32)
    return wide


def test_the_nearest_others_are_listed() -> None:
    Y = spread(600)
    Y[5] = Y[6]
    distances = cdist(Y, Y)
    np.fill_diagonal(distances, np.inf)
    found = np.take_along_axis(distances, sampled_repulsion.listed(Y), axis=1)
    expected = np.sort(distances, axis=1)[:, : sampled_repulsion.NEAR]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_samples_are_right_in_the_mean() -> None:
    """Over a whole round of samples every pair has counted once: the estimate is exact."""
    Y = spread(1536)
    exact = cauchy_repulsion(Y)
    near = sampled_repulsion.listed(Y)
    parts = np.random.default_rng(0).permutation(1536).reshape(3, 512)
    pushes = [tsne.cauchy_estimate(Y, near, part) for part in parts]
    Z = np.mean([np.exp(push.cost) for push in pushes])
    assert np.log(Z) == pytest.approx(exact.cost, rel=1e-5)
    force = sum(push.force * np.exp(push.cost) for push in pushes) / (3 * Z)
    np.testing.assert_allclose(force, exact.force, atol=1e-3 * np.abs(exact.force).max())


def test_samples_of_the_elastic_embedding_are_right_in_the_mean() -> None:
    Y = spread(1536)
    exact = elastic.elastic_repulsion(Y, 2.0)
    near = sampled_repulsion.listed(Y)
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
def test_lists_make_a_sample_suffice(method: str) -> None:
    Y = spread()
    repulsion, estimate = METHODS[method]
    exact = repulsion(Y)
    sample = np.random.default_rng(0).permutation(len(Y))[:512]

    def error(near: NDArray[np.int32]) -> float:
        return float(np.linalg.norm(estimate(Y, near, sample).force - exact.force))

    without = error(np.empty((len(Y), 0), np.int32))
    assert error(sampled_repulsion.listed(Y)) < 0.2 * without
    assert error(sampled_repulsion.listed(Y)) < 0.2 * np.linalg.norm(exact.force)
    assert estimate(Y, sampled_repulsion.listed(Y), sample).cost == pytest.approx(
        exact.cost, rel=0.01
    )


@pytest.mark.parametrize("method", METHODS)
def test_of_points_in_one_place_a_sample_is_enough(method: str) -> None:
    """As at the start, before anything is listed; and two points may be the same."""
    Y = np.full((600, 16), 0.5, np.float32)
    Y[7:9] += 40
    repulsion, estimate = METHODS[method]
    found = estimate(Y, np.empty((600, 0), np.int32), np.arange(512))
    assert found.cost == pytest.approx(repulsion(Y).cost, rel=0.05)
    assert np.isfinite(estimate(Y, sampled_repulsion.listed(Y), np.arange(512)).force).all()


MINIMIZERS: dict[str, Any] = {
    "t-SNE": tsne.tsne,
    "SNE": sne.sne,
    "EE": partial(elastic.elastic_embedding, strength=1.0),
}


@pytest.mark.parametrize("method", MINIMIZERS)
def test_many_points_get_nearly_as_low_as_by_all_pairs(
    method: str, monkeypatch: MonkeyPatch
) -> None:
    base, _ = make_blobs(1200, 20, centers=60, random_state=0)
    P = perplexity_affinities(base.astype(np.float32), 5.0)
    minimize, schedule = MINIMIZERS[method], descent.Schedule(200)
    exact = minimize(P, 16, np.random.default_rng(0), schedule)
    monkeypatch.setattr(sampled_repulsion, "MANY", 1000)
    found = minimize(P, 16, np.random.default_rng(0), schedule)
    assert not np.array_equal(found.Y, exact.Y)
    student = method == "t-SNE"
    constant = descent.negative_entropy(P) if student else 0.0
    pull = descent.Objective(METHODS[method][0], student, constant)
    cost = descent.descend(P, pull, found.Y, descent.Schedule(1)).cost
    assert cost < 1.03 * exact.cost
    assert found.cost == pytest.approx(cost, rel=0.05)
    again = minimize(P, 16, np.random.default_rng(0), schedule)
    np.testing.assert_array_equal(again.Y, found.Y)


def test_many_points_that_are_flung_apart_come_back(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(sampled_repulsion, "MANY", 600)
    base, _ = make_blobs(700, 20, centers=80, random_state=0)
    P = perplexity_affinities(base.astype(np.float32), 5.0)
    absurd = descent.Schedule(60, learning_rate=1e30)
    found = tsne.tsne(P, 16, np.random.default_rng(0), absurd)
    assert np.isfinite(found.Y).all()
    assert np.isfinite(found.cost)


def test_late_exaggeration_closes_ranks() -> None:
    base, label = make_blobs(300, 20, centers=6, random_state=0)
    steps: list[int] = []

    def embedded(exaggeration: float | None) -> FloatArray:
        method = TSNE(perplexity=5, exaggeration=exaggeration)
        steps.clear()
        return method.embed(base, 8, rng=0, on_step=lambda done, total: steps.append(done))

    def looseness(Y: FloatArray) -> float:
        within = [cdist(Y[label == c], Y[label == c]).mean() for c in range(6)]
        return float(np.mean(within) / cdist(Y, Y).mean())

    plain, tight = embedded(1.0), embedded(3.0)
    assert steps == sorted(set(steps))
    assert looseness(tight) < 0.9 * looseness(plain)
    np.testing.assert_array_equal(embedded(None), plain)  # a perplexity asks for the paper's form


@pytest.mark.parametrize(("m", "expected"), [(400, 1.0), (1000, 1.0), (64_000, 2.0)])
def test_exaggeration_grows_with_the_base_set(m: int, expected: float) -> None:
    assert TSNE()._exaggeration(m, 49) == pytest.approx(expected)
    # Where neighbors are known by distance or surely counted ranks stay open.
    assert TSNE()._exaggeration(m, None) == TSNE()._exaggeration(m, 50) == 1
    with pytest.raises(ValueError, match="exaggeration of TSNE must be"):
        TSNE(exaggeration=0)._exaggeration(m, None)
