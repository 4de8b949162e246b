"""t-SNE along a wide graph gives the gradient and the cost of the general one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from bitfold.embedding.perplexity import perplexity_affinities
from bitfold.embedding.stochastic import Objective
from bitfold.embedding.tsne import cauchy_repulsion, is_wide, kl_divergence
from bitfold.embedding.wide import WideObjective


def make_points(m: int, n_features: int, scale: float = 1.0) -> np.ndarray:
    points: np.ndarray = scale * make_blobs(m, n_features, random_state=0)[0]
    return points.astype(np.float32)


@pytest.mark.parametrize(
    ("m", "factor", "scale"), [(300, 1.0, 1e-4), (300, 4.0, 0.3), (1100, 1.0, 1)]
)
def test_the_gradient_is_the_general_one(m: int, factor: float, scale: float) -> None:
    P = perplexity_affinities(make_points(m, 5), 10.0, m // 3)
    wide = kl_divergence(P, np.random.default_rng(0))
    assert isinstance(wide, WideObjective)
    general = Objective(cauchy_repulsion, is_student=True, constant=wide.constant)
    Y = make_points(m, 7, scale)
    got, expected = np.empty_like(Y), np.empty_like(Y)
    cost = wide.make_gradient(P, factor)(Y, got)
    assert cost == pytest.approx(general.make_gradient(P, factor)(Y, expected), rel=1e-5)
    np.testing.assert_allclose(got, expected, atol=1e-4 * np.abs(expected).max())


def test_points_that_are_too_far_apart_have_an_infinite_cost() -> None:
    P = perplexity_affinities(make_points(30, 3), 5.0)
    gradient = WideObjective(cauchy_repulsion, is_student=True).make_gradient(P, 1.0)
    Y = make_points(30, 3, 1e25)
    out = np.empty_like(Y)
    with np.errstate(all="ignore"):
        assert gradient(Y, out) == np.inf
    assert not out.any()


def test_narrow_small_and_large_graphs_are_not_wide() -> None:
    assert is_wide(perplexity_affinities(make_points(300, 3), 20.0))
    assert not is_wide(perplexity_affinities(make_points(200, 3), 20.0))
    assert not is_wide(perplexity_affinities(make_points(1000, 3), 10.0))
    assert not is_wide(perplexity_affinities(make_points(2100, 3), 10.0, 600))
