"""Overall weights (Sec. III-C): definitions by brute force, and when centers win."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reproduction.overall_weights import overall_weights, weigh_clusters
from reproduction.prototype import induction_weights
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from bitfold.errors import ParameterError


def test_overall_weight_is_the_sum_over_all_queries() -> None:
    X = np.random.default_rng(0).normal(size=(600, 3))  # more than one block
    O = overall_weights(X, 8, 0.7)  # noqa: E741  the paper's name
    expected = sum(induction_weights(X[q : q + 1], X, 8, 0.7)[0] for q in range(600))
    np.testing.assert_allclose(O, expected)
    assert O.sum() == pytest.approx(600)


def test_points_in_the_middle_have_the_largest_overall_weight() -> None:
    X = np.linspace(-1, 1, 41)[:, None]
    weights = overall_weights(X, 41, 1.0)
    assert weights.argmax() == 20
    assert (np.diff(weights[:21]) > 0).all()


def test_weights_of_clusters_by_brute_force() -> None:
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(30, 2)), np.arange(30) % 3
    found = weigh_clusters(X, labels, 0.8)
    for j in range(3):
        own = X[labels == j]
        center = sum(np.exp(-np.sum((own.mean(axis=0) - x) ** 2) / 0.64) for x in own)
        members = [sum(np.exp(-np.sum((x - z) ** 2) / 0.64) for x in own) for z in own]
        assert found.center[j] == pytest.approx(center)
        assert found.best_member[j] == pytest.approx(max(members))


@settings(max_examples=60, deadline=None)
@given(n=st.integers(2, 12), d=st.integers(1, 4), seed=st.integers(0, 2**32))
def test_center_wins_above_the_sufficient_bandwidth(n: int, d: int, seed: int) -> None:
    X = np.random.default_rng(seed).standard_cauchy((n, d))
    X /= cdist(X, X).max()
    labels = np.zeros(n, int)
    bandwidth = weigh_clusters(X, labels, 1.0).sufficient_bandwidth[0] * 1.001
    if np.isfinite(bandwidth) and bandwidth < 100:  # beyond, both are n except for rounding
        found = weigh_clusters(X, labels, bandwidth)
        assert found.center[0] > found.best_member[0]
        assert found.fraction_won == 1


def test_statement_of_the_paper_holds_for_wide_kernels_only() -> None:
    X = load_digits().data
    labels = KMeans(40, n_init=1, random_state=0).fit_predict(X)
    radius = np.sqrt(np.mean([X[labels == j].var(axis=0).sum() for j in range(40)]))
    won = [weigh_clusters(X, labels, scale * radius).fraction_won for scale in (0.3, 0.6, 1.3)]
    assert won[0] < 0.2 < won[1] < won[2] == 1


def test_member_at_the_center_is_a_tie() -> None:
    found = weigh_clusters([[0.0], [1.0], [2.0]], [0, 0, 0], 5.0)
    assert found.center[0] == found.best_member[0]
    assert found.sufficient_bandwidth[0] == np.inf
    assert found.fraction_won == 1


def test_one_label_per_point_is_needed() -> None:
    with pytest.raises(ParameterError, match="labels of weigh_clusters"):
        weigh_clusters([[0.0], [1.0]], [0], 1.0)
