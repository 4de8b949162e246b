"""t-SNE against scikit-learn, and exaggeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn import manifold
from sklearn.datasets import make_blobs
from tests.embedding.conftest import FloatArray
from tests.embedding.conftest import float32_cloud as cloud

from bitfold.embedding import TSNE, perplexity_affinities
from bitfold.embedding.stochastic import Schedule
from bitfold.embedding.tsne import split_schedule, tsne


def test_the_divergence_is_as_low_as_that_of_scikit_learn() -> None:
    base = cloud(60)
    P = perplexity_affinities(base, 5.0, n_neighbors=59)
    ours = tsne(P, 16, np.random.default_rng(0), Schedule(500)).cost
    theirs = manifold.TSNE(
        16, perplexity=5.0, method="exact", init="random", max_iter=500, random_state=0
    )
    theirs.fit(base)
    assert ours < 1.1 * theirs.kl_divergence_


def test_exaggeration_tightens_clusters() -> None:
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
    np.testing.assert_array_equal(embedded(None), plain)


@pytest.mark.parametrize(("m", "expected"), [(400, 1.0), (1000, 1.0), (64_000, 2.0)])
def test_exaggeration_grows_with_the_base_set(m: int, expected: float) -> None:
    assert TSNE()._choose_exaggeration(m, 49) == pytest.approx(expected)
    # With affinities by distance, or reliable counts, there is none.
    assert TSNE()._choose_exaggeration(m, None) == TSNE()._choose_exaggeration(m, 50) == 1


def test_a_split_schedule_reports_the_whole() -> None:
    steps: list[tuple[int, int]] = []
    schedule = Schedule(100, 3.0, on_step=lambda *step: steps.append(step))
    first, last = split_schedule(schedule, 0.2)
    assert (first.max_iter, last.max_iter, last.learning_rate) == (80, 20, 3.0)
    assert first.on_step is not None
    assert last.on_step is not None
    first.on_step(50, 80)
    last.on_step(20, 20)
    assert steps == [(50, 100), (100, 100)]
