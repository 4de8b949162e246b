"""t-SNE, SNE and the elastic embedding: affinities, gradients and the descent, against oracles."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from bitfold.embedding.affinity import _match_perplexity, perplexity_affinities
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, squareform
from scipy.special import logsumexp
from sklearn import manifold
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.manifold._t_sne import _joint_probabilities

from bitfold import _threads
from bitfold.embedding import descent
from bitfold.embedding.elastic import ElasticEmbedding, elastic_embedding, elastic_repulsion
from bitfold.embedding.sne import SNE, gaussian_repulsion, sne
from bitfold.embedding.stochastic import Stochastic
from bitfold.embedding.tsne import TSNE, cauchy_repulsion, tsne

RealArray = NDArray[np.float64]
FloatArray = NDArray[np.float32]

STRENGTH = 3.0
EVERY = pytest.mark.parametrize("method", [TSNE, SNE, ElasticEmbedding])


def cloud(m: int, d: int = 10, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).standard_normal((m, d)).astype(np.float32)


# The objectives as the papers state them, in float64


def off_diagonal(m: int) -> NDArray[np.bool_]:
    return ~np.eye(m, dtype=bool)


def tsne_cost(P: RealArray, Y: RealArray) -> float:
    """KL(P || Q) with q_ij ∝ 1 / (1 + d²) over all pairs."""
    W = off_diagonal(len(Y)) / (1 + cdist(Y, Y, "sqeuclidean"))
    Q, some = W / W.sum(), P > 0
    return float((P[some] * np.log(P[some] / Q[some])).sum())


def sne_cost(P: RealArray, Y: RealArray) -> float:
    """Mean over i of the cross entropy of p_j|i and q_j|i ∝ exp(-d²)."""
    D = cdist(Y, Y, "sqeuclidean")
    log_Z = logsumexp(np.where(off_diagonal(len(Y)), -D, -np.inf), axis=1)
    return float((P * D).sum() + log_Z.mean())


def elastic_cost(P: RealArray, Y: RealArray) -> float:
    """Σ p_ij d² and λ times the mean of exp(-d²)."""
    D = cdist(Y, Y, "sqeuclidean")
    return float((P * D).sum() + STRENGTH * np.exp(-D[off_diagonal(len(Y))]).mean())


def elastic(P: csr_array, n: int, rng: Any, schedule: descent.Schedule) -> descent.Descent:
    return elastic_embedding(P, n, rng, schedule, STRENGTH)


def push_of_elastic(Y: FloatArray) -> descent.Push:
    return elastic_repulsion(Y, STRENGTH)


Cost = Callable[[RealArray, RealArray], float]
Minimize = Callable[..., descent.Descent]
Repulsion = Callable[[FloatArray], descent.Push]

SOLVERS = pytest.mark.parametrize(
    ("minimize", "cost"),
    [(tsne, tsne_cost), (sne, sne_cost), (elastic, elastic_cost)],
    ids=["tsne", "sne", "elastic"],
)
OBJECTIVES = pytest.mark.parametrize(
    ("repulsion", "student", "cost"),
    [
        (cauchy_repulsion, True, tsne_cost),
        (gaussian_repulsion, False, sne_cost),
        (push_of_elastic, False, elastic_cost),
    ],
    ids=["tsne", "sne", "elastic"],
)


def difference_quotients(cost: Cost, P: RealArray, Y: RealArray, step: float = 1e-5) -> RealArray:
    slope = np.empty_like(Y)
    for at in np.ndindex(*Y.shape):
        up, down = Y.copy(), Y.copy()
        up[at] += step
        down[at] -= step
        slope[at] = (cost(P, up) - cost(P, down)) / (2 * step)
    return slope


@OBJECTIVES
@pytest.mark.parametrize("scale", [0.01, 0.5, 3.0])
@pytest.mark.parametrize("n_components", [2, 9])
def test_gradients_are_difference_quotients(
    repulsion: Repulsion, student: bool, cost: Cost, scale: float, n_components: int
) -> None:
    P = perplexity_affinities(cloud(25), 5.0)
    Y = scale * cloud(25, n_components, 1)
    constant = descent.negative_entropy(P) if student else 0.0
    objective = descent.Objective(repulsion, student, constant)
    edges = (P.indptr.astype(np.int32), P.indices.astype(np.int32), P.data.astype(np.float32))
    gradient = np.empty_like(Y)
    got = descent._gradient(Y, edges, objective, gradient)
    exact = Y.astype(np.float64)
    assert got == pytest.approx(cost(P.toarray(), exact), rel=1e-5)
    slope = difference_quotients(cost, P.toarray(), exact)
    np.testing.assert_allclose(gradient, slope, atol=1e-4 * np.abs(slope).max())


def naive_push(Y: RealArray, weights: RealArray) -> RealArray:
    return np.asarray(weights.sum(axis=1)[:, None] * Y - weights @ Y)


@pytest.mark.parametrize("m", [1024, 1300])
def test_blocks_on_threads_push_as_one(m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (descent, _threads):
        monkeypatch.setattr(module, "count_threads", lambda: 2)
    Y = 2 * cloud(m, 5)
    exact = Y.astype(np.float64)
    D = cdist(exact, exact, "sqeuclidean")
    W = off_diagonal(m) / (1 + D)
    G = off_diagonal(m) * np.exp(-D)
    Q = G / G.sum(axis=1, keepdims=True)
    for push, force, cost in (
        (cauchy_repulsion(Y), naive_push(exact, W**2) / W.sum(), np.log(W.sum())),
        (
            gaussian_repulsion(Y),
            naive_push(exact, Q + Q.T) / (2 * m),
            np.log(G.sum(axis=1)).mean(),
        ),
        (
            push_of_elastic(Y),
            naive_push(exact, G) * STRENGTH / (m * (m - 1)),
            STRENGTH * G.sum() / (m * (m - 1)),
        ),
    ):
        np.testing.assert_allclose(push.force, force, atol=2e-5 * np.abs(force).max())
        assert push.cost == pytest.approx(cost, rel=1e-5)


def test_one_thread_and_two_agree_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    Y = cloud(1300, 16)
    got = []
    for n in (1, 2):
        for module in (descent, _threads):
            monkeypatch.setattr(module, "count_threads", lambda n=n: n)
        with _threads.serial_blas():
            got.append([push(Y) for push in (cauchy_repulsion, gaussian_repulsion)])
    for one, two in zip(*got, strict=True):
        np.testing.assert_array_equal(one.force, two.force)
        assert one.cost == two.cost


def test_far_out_points_keep_their_distances() -> None:
    # |y|² is so large that nothing is left of a distance, but no weight may leave (0, 1].
    Y = 1e4 + cloud(50, 16)
    push = cauchy_repulsion(Y)
    assert np.isfinite(push.force).all()
    assert push.cost <= np.log(50 * 49) + 1e-6


# Affinities


@pytest.mark.parametrize("perplexity", [2.0, 5.0, 30.0])
def test_affinities_are_scikit_learns_when_all_neighbors_count(perplexity: float) -> None:
    base = cloud(80)
    P = perplexity_affinities(base, perplexity, n_neighbors=79)
    condensed = _joint_probabilities(cdist(base, base, "sqeuclidean"), perplexity, 0)
    np.testing.assert_allclose(P.toarray(), squareform(condensed), rtol=2e-3, atol=1e-9)


@pytest.mark.parametrize("perplexity", [2.0, 5.0, 10.0])
def test_far_neighbors_hardly_count(perplexity: float) -> None:
    base = cloud(100)
    near = perplexity_affinities(base, perplexity)
    every = perplexity_affinities(base, perplexity, n_neighbors=99)
    assert near.nnz < every.nnz
    assert np.abs(near - every).sum() < 0.15


@pytest.mark.parametrize("perplexity", [1.0, 1.5, 5.0, 29.0])
@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_the_perplexity_is_reached(perplexity: float, scale: float) -> None:
    rng = np.random.default_rng(0)
    sq_distances = np.sort(scale * rng.gamma(2.0, size=(50, 30)), axis=1)
    p = _match_perplexity(sq_distances, perplexity)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    entropy = -np.sum(p * np.log2(p, out=np.zeros_like(p), where=p > 0), axis=1)
    np.testing.assert_allclose(2**entropy, perplexity, rtol=1e-6)
    assert (np.diff(p, axis=1) <= 0).all()


def test_affinities_are_symmetric_and_sum_to_one() -> None:
    P = perplexity_affinities(cloud(60), 5.0)
    assert P.sum() == pytest.approx(1)
    assert abs(P - P.T).max() < 1e-15
    assert not P.diagonal().any()
    assert P.has_sorted_indices


def test_affinities_do_not_depend_on_place_and_scale() -> None:
    # Enough of them for faiss to measure distances by matrix products.
    base = np.asarray(np.round(cloud(400, 400) * 64) / 64, np.float32)
    expected = perplexity_affinities(base, 5.0).toarray()
    for moved in (base + np.float32(1e4), base * np.float32(1e-25), base * np.float32(1e25)):
        got = perplexity_affinities(moved, 5.0).toarray()
        np.testing.assert_allclose(got, expected, atol=1e-5)


def test_duplicates_have_affinities_to_others_only() -> None:
    base = np.repeat(cloud(6), 20, axis=0)
    P = perplexity_affinities(base, 5.0)
    assert not P.diagonal().any()
    assert P.sum() == pytest.approx(1)
    assert np.isfinite(P.data).all()
    # All of its 15 nearest are copies of the point itself.
    same = np.repeat(np.arange(6), 20)
    assert P.toarray()[same[:, None] == same].sum() == pytest.approx(1)


def test_perplexity_out_of_reach_is_said() -> None:
    with pytest.warns(UserWarning) as caught:
        P = perplexity_affinities(cloud(5), 5.0)
    assert [str(w.message) for w in caught] == [
        "perplexity 5 is out of reach with 5 base points; all 4 neighbors of a point count alike."
    ]
    np.testing.assert_allclose(P.toarray()[off_diagonal(5)], 1 / 20)


# The descent


@SOLVERS
@pytest.mark.parametrize("n_components", [2, 16, 64, 128])
def test_the_cost_falls_and_is_that_of_the_result(
    minimize: Minimize, cost: Cost, n_components: int
) -> None:
    P = perplexity_affinities(cloud(60), 5.0)
    start = descent.random_start(60, n_components, np.random.default_rng(0)).astype(np.float64)
    before = cost(P.toarray(), start)
    found = minimize(P, n_components, np.random.default_rng(0), descent.Schedule(200))
    assert found.Y.shape == (60, n_components)
    after = cost(P.toarray(), found.Y.astype(np.float64))
    assert found.cost == pytest.approx(after, rel=1e-4)
    assert after < 0.9 * before


@SOLVERS
@pytest.mark.parametrize("max_iter", [1, 2, 5, 6, 49, 50, 51, 300])
@pytest.mark.parametrize("learning_rate", [None, 1e3, 1e6])
def test_no_learning_rate_makes_it_worse(
    minimize: Minimize, cost: Cost, max_iter: int, learning_rate: float | None
) -> None:
    P = perplexity_affinities(cloud(40), 5.0)
    start = descent.random_start(40, 16, np.random.default_rng(0)).astype(np.float64)
    schedule = descent.Schedule(max_iter, learning_rate)
    found = minimize(P, 16, np.random.default_rng(0), schedule)
    assert np.isfinite(found.Y).all()
    assert found.n_iter <= max_iter
    after = cost(P.toarray(), found.Y.astype(np.float64))
    assert after <= cost(P.toarray(), start) * (1 + 1e-5)


@SOLVERS
def test_not_even_an_absurd_one_overflows(minimize: Minimize, cost: Cost) -> None:
    P = perplexity_affinities(cloud(40), 5.0)
    for max_iter in (1, 5, 300):
        found = minimize(P, 16, np.random.default_rng(0), descent.Schedule(max_iter, 1e30))
        assert np.isfinite(found.Y).all()
        assert np.isfinite(found.cost)


def test_overflow_on_threads_is_as_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (descent, _threads):
        monkeypatch.setattr(module, "count_threads", lambda: 2)
    P = perplexity_affinities(cloud(1100), 5.0)
    found = tsne(P, 4, np.random.default_rng(0), descent.Schedule(6, 1e30))
    assert np.isfinite(found.Y).all()


@pytest.mark.parametrize("learning_rate", [1e3, 1e6])
def test_springs_find_their_length_at_any_rate(learning_rate: float) -> None:
    P = perplexity_affinities(cloud(40), 5.0)
    usual, fast = (
        elastic(P, 16, np.random.default_rng(0), descent.Schedule(500, rate)).cost
        for rate in (None, learning_rate)
    )
    assert fast == pytest.approx(usual, rel=0.02)


def test_more_iterations_do_not_cost_more() -> None:
    P = perplexity_affinities(cloud(80), 5.0)
    costs = [
        tsne(P, 16, np.random.default_rng(0), descent.Schedule(max_iter, tolerance=0)).cost
        for max_iter in (1, 10, 50, 100, 500)
    ]
    assert costs == sorted(costs, reverse=True)


def test_it_stops_when_nothing_is_gained() -> None:
    P = perplexity_affinities(cloud(40), 5.0)
    patient = elastic(P, 16, np.random.default_rng(0), descent.Schedule(3000))
    assert patient.n_iter < 1000
    longer = elastic(P, 16, np.random.default_rng(0), descent.Schedule(3000, tolerance=0))
    assert longer.cost == pytest.approx(patient.cost, rel=1e-2)


def test_the_divergence_is_as_low_as_scikit_learns() -> None:
    base = cloud(60)
    P = perplexity_affinities(base, 5.0, n_neighbors=59)
    ours = tsne(P, 16, np.random.default_rng(0), descent.Schedule(500)).cost
    theirs = manifold.TSNE(
        16, perplexity=5.0, method="exact", init="random", max_iter=500, random_state=0
    )
    theirs.fit(base)
    assert ours < 1.1 * theirs.kl_divergence_


# The estimators


@EVERY
@pytest.mark.parametrize("n_components", [1, 2, 16, 128])
@pytest.mark.parametrize("m", [2, 3, 10, 50])
def test_any_number_of_points_and_dimensions(
    method: type[Stochastic], m: int, n_components: int
) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "perplexity 5 is out of reach")
        Y = method(max_iter=60).embed(cloud(m), n_components, rng=0)
    assert Y.shape == (m, n_components)
    assert Y.dtype == np.float32
    assert np.isfinite(Y).all()
    assert len(np.unique(Y, axis=0)) == m
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-4)


@EVERY
@pytest.mark.parametrize(
    "base",
    [np.repeat(cloud(6), 20, axis=0), np.ones((30, 4)), np.eye(40)],
    ids=["copies", "one place", "equally far"],
)
def test_duplicates_and_ties_are_embedded(method: type[Stochastic], base: RealArray) -> None:
    Y = method(max_iter=100).embed(base, 16, rng=0)
    assert np.isfinite(Y).all()
    assert Y.std() > 1e-6


@EVERY
def test_blobs_stay_together(method: type[Stochastic]) -> None:
    base, labels = make_blobs(120, 20, centers=4, cluster_std=1.0, random_state=0)
    Y = method().embed(base, 16, rng=0)
    near = np.argsort(cdist(Y, Y), axis=1)[:, 1:6]
    assert (labels[near] == labels[:, None]).mean() > 0.99


@EVERY
def test_a_seed_decides_and_the_input_stays(method: type[Stochastic]) -> None:
    base = cloud(50)
    base.flags["W"] = False
    kept = base.copy()
    first, again, other = (method(max_iter=100).embed(base, 16, rng=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    np.testing.assert_array_equal(base, kept)


@EVERY
def test_on_step_tells_the_progress_and_changes_nothing(method: type[Stochastic]) -> None:
    steps: list[tuple[int, int]] = []
    heard = method().embed(cloud(50), 16, rng=0, on_step=lambda *step: steps.append(step))
    np.testing.assert_array_equal(heard, method().embed(cloud(50), 16, rng=0))
    assert steps
    assert all(total == 500 for _, total in steps)
    assert [done for done, _ in steps] == sorted({done for done, _ in steps})
    assert all(1 <= done <= 500 for done, _ in steps)


@EVERY
def test_the_stored_type_does_not_matter(method: type[Stochastic]) -> None:
    base = np.round(cloud(50) * 8)
    expected = method(max_iter=50).embed(base, 16, rng=0)
    for dtype in (np.float64, np.int32):
        np.testing.assert_array_equal(
            method(max_iter=50).embed(base.astype(dtype), 16, rng=0), expected
        )


def test_strength_sets_the_scale() -> None:
    sizes = [
        np.abs(ElasticEmbedding(strength=strength).embed(cloud(50), 16, rng=0)).mean()
        for strength in (0.5, 5.0, 50.0)
    ]
    assert sizes == sorted(sizes)


@EVERY
def test_they_are_scikit_learn_objects(method: type[Stochastic]) -> None:
    made = method(perplexity=7.0, max_iter=30, learning_rate=10.0)
    parameters = clone(made).get_params()
    assert parameters == {
        "perplexity": 7.0,
        "max_iter": 30,
        "learning_rate": 10.0,
        **({"strength": 1.0} if method is ElasticEmbedding else {}),
        **({"exaggeration": None} if method is TSNE else {}),
    }


@EVERY
@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"perplexity": 0.5}, "perplexity of {} must be at least 1, got 0.5."),
        ({"perplexity": -1}, "perplexity of {} must be a finite number above 0, got -1."),
        ({"max_iter": 0}, "max_iter of {} must be at least 1, got 0."),
        ({"learning_rate": 0.0}, "learning_rate of {} must be a finite number above 0, got 0.0."),
    ],
)
def test_error_sentences(
    method: type[Stochastic], parameters: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError) as caught:
        method(**parameters).embed(cloud(20), 4)
    assert str(caught.value) == sentence.format(method.__name__)


@EVERY
def test_error_sentences_of_the_input(method: type[Stochastic]) -> None:
    name = method.__name__
    base: Any
    for base, sentence in (
        (
            cloud(1),
            f"base of {name} has 1 sample(s) (shape=(1, 10)) while a minimum of 2 is required.",
        ),
        (np.full((3, 2), np.nan), f"base of {name} must be finite, got NaN in row 0."),
    ):
        with pytest.raises(ValueError) as caught:
            method().embed(base, 4)
        assert str(caught.value) == sentence
    with pytest.raises(ValueError) as caught:
        method().embed(cloud(20), 0)
    assert str(caught.value) == f"n_bits of {name} must be at least 1, got 0."


def test_strength_must_be_positive() -> None:
    with pytest.raises(ValueError) as caught:
        ElasticEmbedding(strength=0).embed(cloud(20), 4)
    assert str(caught.value) == (
        "strength of ElasticEmbedding must be a finite number above 0, got 0."
    )
