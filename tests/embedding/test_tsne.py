"""t-SNE against scikit-learn, and exaggeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn import manifold
from sklearn.datasets import load_digits, make_blobs
from tests.embedding.conftest import FloatArray
from tests.embedding.conftest import float32_cloud as cloud
from threadpoolctl import threadpool_limits

from bitfold._validation import make_generator
from bitfold.embedding import TSNE, perplexity_affinities
from bitfold.embedding.stochastic import Schedule
from bitfold.embedding.tsne import split_schedule, tsne
from bitfold.errors import ParameterError


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


def test_early_exaggeration_untangles_the_plane() -> None:
    """In two dimensions, points block each other's way; without it, divergence is higher."""
    X = load_digits().data[:500]
    P = perplexity_affinities(X.astype(np.float32), 10.0).toarray()

    def divergences(factor: float | None) -> FloatArray:
        Y = [TSNE(10, early_exaggeration=factor).embed(X, 2, rng=seed) for seed in range(3)]
        return np.array([kl(P, y) for y in Y])

    plain, early = divergences(1.0), divergences(None)
    assert early.mean() < 0.97 * plain.mean()
    np.testing.assert_array_equal(early, divergences(4.0))


def kl(P: FloatArray, Y: FloatArray) -> float:
    w = 1 / (1 + cdist(Y, Y, "sqeuclidean"))
    np.fill_diagonal(w, 0)
    seen = P > 0
    return float((P[seen] * np.log(P[seen] / (w / w.sum())[seen])).sum())


@pytest.mark.parametrize(("n_components", "factor"), [(1, 4), (2, 4), (3, 4), (4, 1), (64, 1)])
def test_attraction_is_exaggerated_at_first_in_few_dimensions(
    n_components: int, factor: float
) -> None:
    assert TSNE()._check_schedule(n_components).early_exaggeration == factor
    assert TSNE(early_exaggeration=2)._check_schedule(n_components).early_exaggeration == 2


def test_the_defaults_are_the_plain_descent() -> None:
    base = cloud(80)
    P = perplexity_affinities(base, 5.0)
    with threadpool_limits(1):
        Y = tsne(P, 16, make_generator(0), Schedule(200)).Y.astype(np.float64)
    expected = (Y - Y.mean(axis=0)).astype(np.float32)
    np.testing.assert_array_equal(TSNE(5, max_iter=200).embed(base, 16, rng=0), expected)


@pytest.mark.parametrize(
    "params",
    [
        {"early_exaggeration": 4},
        {"early_exaggeration": 4, "n_exaggerated_iter": 50},
        {"early_momentum": 0.5},
        {"tolerance": 0.1},
        {"n_directions": 3},
        {"n_neighbors": 40},
    ],
)
def test_every_parameter_has_an_effect(params: dict[str, float]) -> None:
    base = cloud(60)
    plain = TSNE(5, max_iter=150).embed(base, 8, rng=0)
    other = TSNE(5, max_iter=150, **params).embed(base, 8, rng=0)  # type: ignore[arg-type]
    assert np.abs(plain - other).max() > 1e-3
    if "n_exaggerated_iter" in params:
        longer = TSNE(5, max_iter=150, early_exaggeration=4).embed(base, 8, rng=0)
        assert np.abs(longer - other).max() > 1e-3


def test_directions_beyond_those_of_the_base_set_change_nothing() -> None:
    base = cloud(30, 6)
    all_directions = TSNE(5, n_directions=6)._distance_affinities(base, 2).toarray()
    for n in (7, 1000, "auto"):
        got = TSNE(5, n_directions=n)._distance_affinities(base, 2).toarray()
        np.testing.assert_array_equal(got, all_directions)


def test_directions_by_an_unknown_name_are_an_error() -> None:
    with pytest.raises(ParameterError, match='"auto"'):
        TSNE(5, n_directions="all").embed(cloud(20), 2)
