"""Affinities by distance, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, squareform
from sklearn.manifold._t_sne import _joint_probabilities
from tests.embedding.conftest import float32_cloud as cloud

from bitfold.embedding.perplexity import _match_perplexity, perplexity_affinities


@pytest.mark.parametrize("perplexity", [2.0, 5.0, 30.0])
def test_affinities_equal_those_of_scikit_learn(perplexity: float) -> None:
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


def test_affinities_do_not_depend_on_origin_and_scale() -> None:
    # Enough for faiss to compute distances by matrix products.
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


def test_a_perplexity_that_cannot_be_reached_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="perplexity 5 cannot be reached with 5 base points"):
        P = perplexity_affinities(cloud(5), 5.0)
    np.testing.assert_allclose(P.toarray()[~np.eye(5, dtype=bool)], 1 / 20)
