"""Co-occurrence affinities against a plain count, and the descent against exact objectives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.special import logsumexp, xlogy
from tests.embedding.conftest import FloatArray, RealArray, find_neighbors
from tests.embedding.conftest import float32_cloud as cloud

from bitfold import _threads
from bitfold._validation import make_generator
from bitfold.embedding import TSNE, perplexity_affinities, stochastic
from bitfold.embedding.elastic import elastic_embedding, elastic_repulsion
from bitfold.embedding.sne import gaussian_repulsion, sne
from bitfold.embedding.stochastic import (
    MOMENTUM,
    DescentResult,
    Objective,
    Phase,
    Repulsion,
    Schedule,
    affinity_rule,
    cooccurrence_affinities,
    noise_level,
    random_start,
)
from bitfold.embedding.tsne import cauchy_repulsion, kl_divergence, tsne
from bitfold.neighbors import NeighborBlocks, Neighbors

STRENGTH = 3.0

# Affinities


def line(m: int, n: int, k: int = 4) -> tuple[FloatArray, NeighborBlocks]:
    """Return base points on a line, and the neighbors of points between them, except in a gap."""
    base = np.arange(m, dtype=np.float32)[:, None]
    x = np.random.default_rng(0).uniform(0, m - 1, (n, 1))
    x = x[(x[:, 0] < m / 2 - 0.9) | (x[:, 0] > m / 2 - 0.1)]
    return base, find_neighbors(x, base.astype(np.float64), k)


def naive(
    indices: NDArray[np.int32], m: int, n_neighbors: int, power: float, steps: int
) -> RealArray:
    counts, sizes = np.zeros((m, m)), np.ones(m)
    for row in indices.tolist():
        sizes[row[0]] += 1
        for other in row[1:4]:
            counts[row[0], other] += 1
            counts[other, row[0]] += 1
    links = counts / np.sqrt(np.outer(sizes, sizes))
    if steps > 1:
        walk = links / np.maximum(links.sum(axis=1, keepdims=True), 1e-300)
        links = np.linalg.matrix_power(walk, steps)
    links = links + links.T
    np.fill_diagonal(links, 0)
    P = np.zeros((m, m))
    for i in range(m):
        best = sorted((-links[i, j], j) for j in range(m) if links[i, j])[:n_neighbors]
        total = sum((-c) ** power for c, _ in best)
        for c, j in best:
            P[i, j] += (-c) ** power / total
            P[j, i] += (-c) ** power / total
    normalized: RealArray = P / P.sum()
    return normalized


@pytest.mark.parametrize(("n_neighbors", "power"), [(12, 2.0), (3, 1.0), (1, 1.5)])
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("steps", [1, 3])
def test_affinities_equal_a_plain_count(n_neighbors: int, power: float, k: int, steps: int) -> None:
    _, neighbors = line(20, 3000, k)
    P = cooccurrence_affinities(neighbors, 20, n_neighbors, power, steps).toarray()
    indices = np.concatenate([block.indices for block in neighbors])
    np.testing.assert_allclose(P, naive(indices, 20, n_neighbors, power, steps), atol=1e-12)
    np.testing.assert_allclose(P, P.T)
    assert P.sum() == pytest.approx(1)
    assert not P.diagonal().any()


@pytest.mark.parametrize(
    ("points_per_base", "n_neighbors", "power", "steps"),
    [
        (None, 40, 1.0, 3),
        (14.9, 40, 1.0, 3),
        (15, 12, 2.0, 1),
        (49.9, 12, 2.0, 1),
        (50, 12, 3.0, 1),
    ],
)
def test_more_points_give_sharper_affinities(
    points_per_base: float | None, n_neighbors: int, power: float, steps: int
) -> None:
    _, neighbors = line(20, 1000)
    P = affinity_rule(points_per_base)(neighbors, 20).toarray()
    indices = np.concatenate([block.indices for block in neighbors])
    assert np.allclose(P, naive(indices, 20, n_neighbors, power, steps), atol=1e-12)


def test_the_noise_level_is_the_unexplained_variance() -> None:
    rng = np.random.default_rng(0)
    base = rng.standard_normal((50, 3)).astype(np.float32)
    nearest = rng.integers(0, 50, 4000)
    points = base[nearest] + 0.05 * rng.standard_normal((4000, 3))
    distances = ((points[:, None] - base) ** 2).sum(axis=2)
    blocks = [
        Neighbors(
            distances.argmin(axis=1)[:, None].astype(np.int32), distances.min(axis=1)[:, None]
        )
    ]
    expected = distances.min(axis=1).mean() / points.var(axis=0).sum()
    assert noise_level(blocks, base) == pytest.approx(expected * (50 / 4000) ** (1 / 6), rel=0.02)
    same = [Neighbors(np.zeros((5, 1), np.int32), np.zeros((5, 1)))]
    assert noise_level(same, np.ones((2, 3), np.float32)) == 0


def test_a_gap_in_the_data_is_a_gap_in_the_graph() -> None:
    # Base points 9 and 10 are as near as any two, but no point has them as its nearest two.
    base, neighbors = line(20, 3000, k=2)
    P = cooccurrence_affinities(neighbors, 20).toarray()
    by_distance = perplexity_affinities(base, 3.0).toarray()
    assert by_distance[9, 10] > 0.5 * by_distance[4, 5]
    assert P[9, 10] < 0.2 * P[4, 5]


def test_a_base_point_without_data_has_no_links() -> None:
    indices = np.tile(np.array([[0, 1]], np.int32), (50, 1))
    P = cooccurrence_affinities([Neighbors(indices, np.zeros(indices.shape))], 3).toarray()
    assert P[2].sum() == 0
    assert P[0, 1] == pytest.approx(0.5)


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


def elastic(P: csr_array, n: int, rng: Any, schedule: Schedule) -> DescentResult:
    return elastic_embedding(P, n, rng, schedule, STRENGTH)


def repulsion_of_elastic(Y: FloatArray) -> Repulsion:
    return elastic_repulsion(Y, STRENGTH)


SOLVERS = pytest.mark.parametrize(
    ("minimize", "cost"),
    [(tsne, tsne_cost), (sne, sne_cost), (elastic, elastic_cost)],
    ids=["tsne", "sne", "elastic"],
)
OBJECTIVES = pytest.mark.parametrize(
    ("repulsion", "is_student", "cost"),
    [
        (cauchy_repulsion, True, tsne_cost),
        (gaussian_repulsion, False, sne_cost),
        (repulsion_of_elastic, False, elastic_cost),
    ],
    ids=["tsne", "sne", "elastic"],
)


def difference_quotients(
    cost: Callable[..., float], P: RealArray, Y: RealArray, step: float = 1e-5
) -> RealArray:
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
def test_gradients_equal_difference_quotients(
    repulsion: Callable[[FloatArray], Repulsion],
    is_student: bool,
    cost: Callable[..., float],
    scale: float,
    n_components: int,
) -> None:
    P = perplexity_affinities(cloud(25), 5.0)
    Y = scale * cloud(25, n_components, 1)
    constant = kl_divergence(P, np.random.default_rng(0)).constant if is_student else 0.0
    objective = Objective(repulsion, is_student, constant)
    gradient = np.empty_like(Y)
    got = objective.make_gradient(P, 1.0)(Y, gradient)
    exact = Y.astype(np.float64)
    assert got == pytest.approx(cost(P.toarray(), exact), rel=1e-5)
    slope = difference_quotients(cost, P.toarray(), exact)
    np.testing.assert_allclose(gradient, slope, atol=1e-4 * np.abs(slope).max())


def naive_push(Y: RealArray, weights: RealArray) -> RealArray:
    return np.asarray(weights.sum(axis=1)[:, None] * Y - weights @ Y)


@pytest.mark.parametrize("m", [1024, 1300])
def test_threads_compute_the_exact_repulsion(m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (stochastic, _threads):
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
            repulsion_of_elastic(Y),
            naive_push(exact, G) * STRENGTH / (m * (m - 1)),
            STRENGTH * G.sum() / (m * (m - 1)),
        ),
    ):
        np.testing.assert_allclose(push.force, force, atol=2e-5 * np.abs(force).max())
        assert push.cost == pytest.approx(cost, rel=1e-5)


def test_threads_do_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    Y = cloud(1300, 16)
    got = []
    for n in (1, 2):
        for module in (stochastic, _threads):
            monkeypatch.setattr(module, "count_threads", lambda n=n: n)
        with _threads.serial_blas():
            got.append([push(Y) for push in (cauchy_repulsion, gaussian_repulsion)])
    for one, two in zip(*got, strict=True):
        np.testing.assert_array_equal(one.force, two.force)
        assert one.cost == two.cost


def test_far_points_have_valid_weights() -> None:
    # |y|² is so large that distances are lost in rounding, but weights must stay in (0, 1].
    Y = 1e4 + cloud(50, 16)
    push = cauchy_repulsion(Y)
    assert np.isfinite(push.force).all()
    assert push.cost <= np.log(50 * 49) + 1e-6


# The descent


@SOLVERS
@pytest.mark.parametrize("n_components", [2, 16, 64, 128])
def test_the_cost_falls_and_belongs_to_the_result(
    minimize: Callable[..., DescentResult], cost: Callable[..., float], n_components: int
) -> None:
    P = perplexity_affinities(cloud(60), 5.0)
    start = random_start(60, n_components, np.random.default_rng(0)).astype(np.float64)
    before = cost(P.toarray(), start)
    found = minimize(P, n_components, np.random.default_rng(0), Schedule(200))
    assert found.Y.shape == (60, n_components)
    after = cost(P.toarray(), found.Y.astype(np.float64))
    assert found.cost == pytest.approx(after, rel=1e-4)
    assert after < 0.9 * before


@SOLVERS
@pytest.mark.parametrize("max_iter", [1, 2, 5, 6, 49, 50, 51, 300])
@pytest.mark.parametrize("learning_rate", [None, 1e3, 1e6])
def test_no_learning_rate_increases_the_cost(
    minimize: Callable[..., DescentResult],
    cost: Callable[..., float],
    max_iter: int,
    learning_rate: float | None,
) -> None:
    P = perplexity_affinities(cloud(40), 5.0)
    start = random_start(40, 16, np.random.default_rng(0)).astype(np.float64)
    schedule = Schedule(max_iter, learning_rate)
    found = minimize(P, 16, np.random.default_rng(0), schedule)
    assert np.isfinite(found.Y).all()
    assert found.n_iter <= max_iter
    after = cost(P.toarray(), found.Y.astype(np.float64))
    assert after <= cost(P.toarray(), start) * (1 + 1e-5)


@SOLVERS
def test_a_huge_learning_rate_does_not_overflow(
    minimize: Callable[..., DescentResult], cost: Callable[..., float]
) -> None:
    P = perplexity_affinities(cloud(40), 5.0)
    for max_iter in (1, 5, 300):
        found = minimize(P, 16, np.random.default_rng(0), Schedule(max_iter, 1e30))
        assert np.isfinite(found.Y).all()
        assert np.isfinite(found.cost)


def test_overflow_on_threads_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (stochastic, _threads):
        monkeypatch.setattr(module, "count_threads", lambda: 2)
    P = perplexity_affinities(cloud(1100), 5.0)
    found = tsne(P, 4, np.random.default_rng(0), Schedule(6, 1e30))
    assert np.isfinite(found.Y).all()


@pytest.mark.parametrize("learning_rate", [1e3, 1e6])
def test_the_learning_rate_does_not_change_the_minimum(learning_rate: float) -> None:
    P = perplexity_affinities(cloud(40), 5.0)
    usual, fast = (
        elastic(P, 16, np.random.default_rng(0), Schedule(500, rate)).cost
        for rate in (None, learning_rate)
    )
    assert fast == pytest.approx(usual, rel=0.02)


def test_more_iterations_lower_the_cost() -> None:
    P = perplexity_affinities(cloud(80), 5.0)
    costs = [
        tsne(P, 16, np.random.default_rng(0), Schedule(max_iter, tolerance=0)).cost
        for max_iter in (1, 10, 50, 100, 500)
    ]
    assert costs == sorted(costs, reverse=True)


def test_the_descent_stops_when_the_cost_stops_falling() -> None:
    P = perplexity_affinities(cloud(40), 5.0)
    patient = elastic(P, 16, np.random.default_rng(0), Schedule(3000))
    assert patient.n_iter < 1000
    longer = elastic(P, 16, np.random.default_rng(0), Schedule(3000, tolerance=0))
    assert longer.cost == pytest.approx(patient.cost, rel=1e-2)


@pytest.mark.parametrize("rise", [1e-3, 0.1])
def test_a_rising_cost_shortens_the_steps_and_does_not_end_the_descent(rise: float) -> None:
    # The cost rises to a level that is below the limit of the steps between two checks.
    costs = iter([1.0, *[1.0 + rise] * 10, *np.linspace(1, 0.5, 40), *[0.5] * 1000])
    schedule = Schedule(400)

    def push(Y: FloatArray) -> Repulsion:
        return Repulsion(np.zeros_like(Y), 0.0)

    class Costs(Objective):
        def make_gradient(self, P: csr_array, factor: float) -> Any:
            def measure(Y: FloatArray, out: FloatArray, with_cost: bool = True) -> float:
                out[:] = 0
                return float(next(costs)) if with_cost else 0.0

            return measure

    P = perplexity_affinities(cloud(10), 3.0)
    found = stochastic.descend(
        P, Costs(push, is_student=False), np.ones((10, 2), np.float32), schedule
    )
    assert found.n_iter > 50
    assert found.cost == 0.5


# The schedule, and t-SNE as the authors of the paper ran it

PUBLISHED: dict[str, Any] = {
    "max_iter": 1000,
    "learning_rate": 500.0,
    "early_exaggeration": 4.0,
    "n_exaggerated_iter": 100,
    "early_momentum": 0.5,
    "tolerance": None,
}
"""The schedule of the paper's authors."""


class Reference(NamedTuple):
    """An embedding, and its divergence."""

    Y: RealArray
    cost: float


def reference_affinities(points: RealArray, perplexity: float) -> RealArray:
    """Return Eq. (11) for all pairs, with β of each point found by a root finder."""
    P = np.zeros((len(points), len(points)))
    for i, row in enumerate(squareform(pdist(points, "sqeuclidean"))):
        others = np.delete(np.arange(len(points)), i)
        d = row[others] - row[others].min()

        def conditional(log_beta: float, d: RealArray = d) -> RealArray:
            p = np.exp(-np.exp(log_beta) * d)
            return np.asarray(p / p.sum())

        def excess(log_beta: float) -> float:
            p = conditional(log_beta)
            return float(-xlogy(p, p).sum() - np.log(perplexity))

        P[i, others] = conditional(brentq(excess, -20, 20))
    return (P + P.T) / (2 * len(points))


def reference_tsne(P: RealArray, Y: RealArray, schedule: Schedule) -> Reference:
    """Minimize KL(P || Q) with the authors' schedule, all pairs in float64."""
    assert schedule.learning_rate is not None
    velocity, gains = np.zeros_like(Y), np.ones_like(Y)
    for iteration in range(schedule.max_iter):
        factor = 4.0 if iteration < schedule.n_exaggerated_iter else 1.0
        momentum = 0.5 if iteration < 250 else 0.8
        w = 1 / (1 + squareform(pdist(Y, "sqeuclidean")))
        np.fill_diagonal(w, 0)
        L = (factor * P - w / w.sum()) * w
        gradient = 4 * (np.diag(L.sum(axis=1)) - L) @ Y
        uphill = (gradient > 0) == (velocity > 0)
        gains = np.maximum(np.where(uphill, 0.8 * gains, gains + 0.2), 0.01)
        velocity = momentum * velocity - schedule.learning_rate * gains * gradient
        Y = Y + velocity
    return Reference(Y - Y.mean(axis=0), divergence(P, Y))


def divergence(P: RealArray, Y: RealArray) -> float:
    w = 1 / (1 + squareform(pdist(Y, "sqeuclidean")))
    np.fill_diagonal(w, 0)
    Q = w / w.sum() + np.eye(len(Y))
    return float((xlogy(P, P) - P * np.log(Q)).sum())


def test_the_affinities_along_principal_directions_equal_the_definition() -> None:
    base = cloud(70, 40)
    method = TSNE(10, n_directions=20, n_neighbors=69)
    centered = base.astype(np.float64) - base.mean(axis=0, dtype=np.float64)
    directions = np.linalg.svd(centered, full_matrices=False)[2][:20]
    expected = reference_affinities(centered @ directions.T, 10)
    got = method._distance_affinities(base, 8).toarray()
    np.testing.assert_allclose(got, expected, atol=1e-6)


@pytest.mark.parametrize(("rate", "n_iter"), [(500.0, 5), (5.0, 30)])
@pytest.mark.parametrize("n_components", [2, 8])
def test_the_steps_equal_those_of_the_authors_schedule(
    n_components: int, rate: float, n_iter: int
) -> None:
    """Later, rounding errors grow; with the authors' rate, within ten steps."""
    P = perplexity_affinities(cloud(70), 10.0, n_neighbors=69)
    changes = {"max_iter": n_iter, "learning_rate": rate, "n_exaggerated_iter": 15}
    schedule = Schedule(**PUBLISHED | changes)
    got = tsne(P, n_components, np.random.default_rng(0), schedule).Y
    start = random_start(70, n_components, np.random.default_rng(0)).astype(np.float64)
    expected = reference_tsne(P.toarray(), start, schedule).Y
    np.testing.assert_allclose(got - got.mean(axis=0), expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize(("n_components", "rate", "rel"), [(2, 5.0, 0.05), (8, 500.0, 0.01)])
def test_the_divergence_equals_that_of_the_authors_schedule(
    n_components: int, rate: float, rel: float
) -> None:
    """In the plane there are many minima, and in eight dimensions nearly one.

    With the authors' rate, a run of either program may end elsewhere, so medians are compared.
    """
    base = cloud(70, 40)
    params = PUBLISHED | {"learning_rate": rate}
    method = TSNE(10, n_directions="auto", n_neighbors=69, **params)
    P = method._distance_affinities(base, n_components).toarray()
    costs, expected = np.empty(3), np.empty(3)
    for seed in range(3):
        Y = method.embed(base, n_components, rng=seed).astype(np.float64)
        costs[seed] = divergence(P, Y)
        start = random_start(70, n_components, make_generator(seed)).astype(np.float64)
        expected[seed] = reference_tsne(P, start, Schedule(**params)).cost
    assert np.median(costs) == pytest.approx(np.median(expected), rel=rel)


def test_the_phases_of_the_authors_schedule() -> None:
    assert Schedule(**PUBLISHED).phases == [
        Phase(100, 0.5, 4.0),
        Phase(150, 0.5, 1.0),
        Phase(750, MOMENTUM, 1.0),
    ]
    assert Schedule(400).phases == [Phase(400, MOMENTUM, 1.0)]


@given(
    max_iter=st.integers(1, 600),
    factor=st.sampled_from([1.0, 4.0]),
    n_exaggerated=st.integers(0, 700),
    momentum=st.sampled_from([0.5, MOMENTUM]),
)
def test_phases_cover_all_iterations(
    max_iter: int, factor: float, n_exaggerated: int, momentum: float
) -> None:
    schedule = Schedule(
        max_iter,
        early_exaggeration=factor,
        n_exaggerated_iter=n_exaggerated,
        early_momentum=momentum,
    )
    steps = [phase for phase in schedule.phases for _ in range(phase.n_iter)]
    expected = [
        (momentum if i < 250 else MOMENTUM, factor if i < n_exaggerated else 1.0)
        for i in range(max_iter)
    ]
    assert [(step.momentum, step.exaggeration) for step in steps] == expected


@pytest.mark.parametrize("max_iter", [1, 7, 100, 101, 260])
def test_steps_that_are_too_long_are_taken_back_in_every_phase(max_iter: int) -> None:
    P = perplexity_affinities(cloud(60), 10.0)
    start = random_start(60, 4, np.random.default_rng(0)).astype(np.float64)
    schedule = Schedule(
        max_iter,
        learning_rate=1e30,
        early_exaggeration=4,
        n_exaggerated_iter=100,
        early_momentum=0.5,
    )
    found = tsne(P, 4, np.random.default_rng(0), schedule)
    assert np.isfinite(found.Y).all()
    assert found.cost <= divergence(P.toarray(), start) * (1 + 1e-5)
    assert found.n_iter <= max_iter


@pytest.mark.parametrize("max_iter", [1, 4, 300])
def test_steps_that_overflow_are_always_taken_back(max_iter: int) -> None:
    P = perplexity_affinities(cloud(60), 10.0)
    schedule = Schedule(**PUBLISHED | {"max_iter": max_iter, "learning_rate": 1e30})
    found = tsne(P, 4, np.random.default_rng(0), schedule)
    assert np.isfinite(found.Y).all()
    assert np.isfinite(found.cost)


def test_all_iterations_are_made_without_a_tolerance() -> None:
    done: list[tuple[int, int]] = []

    def embed(**params: Any) -> None:
        done.clear()
        TSNE(5, max_iter=2000, **params).embed(
            cloud(40), 8, rng=0, on_step=lambda *step: done.append(step)
        )

    embed()
    assert done[-1][0] < 2000
    embed(tolerance=None, early_exaggeration=4, early_momentum=0.5)
    assert done == [(n, 2000) for n in range(50, 2001, 50)]
