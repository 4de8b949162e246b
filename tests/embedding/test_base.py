"""What all embeddings have in common."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.datasets import make_blobs
from tests.embedding.conftest import (
    RealArray,
    cloud,
    embed,
    find_neighbors,
    float32_cloud,
    same_up_to_sign,
    two_clusters,
)

from bitfold.embedding import (
    LLE,
    PCA,
    SNE,
    TSNE,
    DiffusionMaps,
    ElasticEmbedding,
    Embedding,
    Isomap,
    LaplacianEigenmaps,
    RelaxedLaplacian,
    StochasticEmbedding,
)
from bitfold.errors import DataError, ParameterError
from bitfold.neighbors import NeighborBlocks

SPECTRAL: list[Embedding] = [
    LaplacianEigenmaps(n_neighbors=4),
    RelaxedLaplacian(n_neighbors=4),
    LLE(n_neighbors=4),
    Isomap(n_neighbors=4),
    DiffusionMaps(),
    PCA(),
]
GRAPH_METHODS = SPECTRAL[:5]
WHITE = SPECTRAL[:3]
STOCHASTIC = pytest.mark.parametrize("method", [TSNE, SNE, ElasticEmbedding])


def name(method: Embedding) -> str:
    return type(method).__name__


# Spectral methods


@pytest.mark.parametrize("method", SPECTRAL, ids=name)
def test_embeddings_are_centered_finite_and_repeat(method: Embedding) -> None:
    base = cloud()
    Y = embed(method, base, 4)
    assert Y.shape == (60, 4)
    assert np.isfinite(Y).all()
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_array_equal(Y, embed(clone(method), base.copy(), 4))


@pytest.mark.parametrize("method", SPECTRAL, ids=name)
def test_columns_vary_and_are_independent(method: Embedding) -> None:
    Y = embed(method, cloud(60, 20), 16)
    assert (Y.std(axis=0) > 1e-6 * Y.std()).all()
    assert np.linalg.matrix_rank(Y / Y.std(axis=0)) == 16


@pytest.mark.parametrize("method", WHITE, ids=name)
@pytest.mark.parametrize("base", [cloud(), two_clusters()], ids=["cloud", "two clusters"])
def test_columns_are_orthogonal(method: Embedding, base: RealArray) -> None:
    Y = embed(method, base, 20)
    np.testing.assert_allclose(Y.T @ Y, len(base) * np.eye(20), atol=1e-4)
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-4)


@pytest.mark.parametrize("method", GRAPH_METHODS, ids=name)
def test_two_far_clusters_are_separated(method: Embedding) -> None:
    Y = embed(method, two_clusters(), 8)
    assert Y.shape == (40, 8)
    assert np.isfinite(Y).all()
    assert (Y.std(axis=0) > 0).all()
    # The first coordinate separates the clusters, because it varies least along the graph.
    assert len(np.unique(np.sign(Y[:20, 0]))) == 1
    assert (np.sign(Y[:20, 0]) == -np.sign(Y[20:, 0])).all()


@pytest.mark.parametrize("method", SPECTRAL, ids=name)
def test_duplicates_embed_together(method: Embedding) -> None:
    base = np.vstack([cloud(30), cloud(30)[:6], cloud(30)[:6]])
    Y = embed(method, base, 4)
    assert np.isfinite(Y).all()
    spread = pdist(Y).mean()
    # LLE reconstructs a point from its copies alone, wherever they are.
    if not isinstance(method, LLE):
        assert np.linalg.norm(Y[:6] - Y[30:36], axis=1).max() < spread


@pytest.mark.parametrize("method", [m for m in SPECTRAL if not isinstance(m, Isomap)], ids=name)
def test_equal_points_give_finite_embeddings(method: Embedding) -> None:
    base = np.ones((7, 3))
    assert np.isfinite(embed(method, base, 3)).all()


@pytest.mark.parametrize("method", SPECTRAL, ids=name)
def test_two_points_give_one_component(method: Embedding) -> None:
    base = np.array([[0.0, 0], [3, 4]])
    neighbors = find_neighbors(np.array([[0.1, 0.2], [3.1, 4]]), base, k=2)
    Y = method.embed(base, 1, neighbors=neighbors)
    assert Y[0] == pytest.approx(-Y[1])
    assert abs(Y[0]) > 0.1


@pytest.mark.parametrize("method", SPECTRAL, ids=name)
def test_scale_does_not_matter(method: Embedding) -> None:
    base = cloud()
    Y = embed(method, base, 3)
    for scale in (1e-12, 1e12):
        assert same_up_to_sign(Y, embed(method, base * scale, 3))


@pytest.mark.parametrize("method", GRAPH_METHODS[:4], ids=name)
def test_too_many_neighbors_are_all_points(method: Embedding) -> None:
    base = cloud(20, 8)
    few, many = (clone(method).set_params(n_neighbors=k) for k in (19, 1000))
    np.testing.assert_array_equal(embed(few, base, 3), embed(many, base, 3))


@pytest.mark.parametrize("method", [m for m in SPECTRAL if not isinstance(m, Isomap)], ids=name)
def test_the_largest_number_of_components_works(method: Embedding) -> None:
    base = cloud(9, 20)
    Y = embed(method, base, 8)
    assert np.linalg.matrix_rank(Y / np.abs(Y).max(axis=0), tol=1e-4) == 8


@pytest.mark.parametrize("method", SPECTRAL, ids=name)
def test_too_many_components_are_an_error(method: Embedding) -> None:
    with pytest.raises(ParameterError, match="base points - 1 = 8") as caught:
        embed(method, cloud(9, 20), 9)
    assert (caught.value.name, caught.value.owner) == ("n_bits", name(method))
    assert caught.value.value == 9


@pytest.mark.parametrize(
    ("method", "parameter"),
    [
        (LaplacianEigenmaps(n_neighbors=0), "n_neighbors"),
        (LaplacianEigenmaps(bandwidth=0.0), "bandwidth"),
        (RelaxedLaplacian(n_neighbors=0), "n_neighbors"),
        (RelaxedLaplacian(smoothness=-1), "smoothness"),
        (RelaxedLaplacian(bandwidth=-1), "bandwidth"),
        (RelaxedLaplacian(min_eigenvalue=0), "min_eigenvalue"),
        (LLE(n_neighbors=0), "n_neighbors"),
        (LLE(regularization=0), "regularization"),
        (Isomap(n_neighbors=-3), "n_neighbors"),
        (DiffusionMaps(n_steps=0), "n_steps"),
        (DiffusionMaps(alpha=1.5), "alpha"),
        (DiffusionMaps(bandwidth=-2.0), "bandwidth"),
        (TSNE(perplexity=0.5), "perplexity"),
        (TSNE(perplexity=-1), "perplexity"),
        (SNE(max_iter=0), "max_iter"),
        (ElasticEmbedding(learning_rate=0.0), "learning_rate"),
        (ElasticEmbedding(strength=0), "strength"),
        (TSNE(exaggeration=0), "exaggeration"),
        (TSNE(early_exaggeration=0), "early_exaggeration"),
        (TSNE(n_exaggerated_iter=-1), "n_exaggerated_iter"),
        (TSNE(early_momentum=1), "early_momentum"),
        (TSNE(early_momentum=-0.1), "early_momentum"),
        (TSNE(tolerance=-1e-3), "tolerance"),
        (TSNE(tolerance=float("nan")), "tolerance"),
        (TSNE(n_directions=0), "n_directions"),
        (TSNE(n_neighbors=0), "n_neighbors"),
    ],
)
def test_invalid_parameters(method: Embedding, parameter: str) -> None:
    with pytest.raises(ParameterError) as caught:
        method.embed(cloud(), 2)
    assert (caught.value.name, caught.value.owner) == (parameter, name(method))
    assert str(caught.value.value) == str(getattr(method, parameter))


@STOCHASTIC
def test_invalid_base_sets(method: type[Embedding]) -> None:
    with pytest.raises(DataError, match=r"1 sample\(s\).*minimum of 2"):
        method().embed(cloud(1), 4)
    with pytest.raises(DataError, match="NaN in row 0"):
        method().embed(np.full((3, 2), np.nan), 4)
    with pytest.raises(ParameterError, match="n_bits"):
        method().embed(cloud(20), 0)


# Stochastic methods


@STOCHASTIC
@pytest.mark.parametrize("n_components", [1, 2, 16, 128])
@pytest.mark.parametrize("m", [2, 3, 10, 50])
def test_any_number_of_points_and_dimensions(
    method: type[StochasticEmbedding], m: int, n_components: int
) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "perplexity 5 cannot be reached")
        Y = method(max_iter=60).embed(float32_cloud(m), n_components, rng=0)
    assert Y.shape == (m, n_components)
    assert Y.dtype == np.float32
    assert np.isfinite(Y).all()
    assert len(np.unique(Y, axis=0)) == m
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-4)


@STOCHASTIC
@pytest.mark.parametrize(
    "base",
    [np.repeat(float32_cloud(6), 20, axis=0), np.ones((30, 4)), np.eye(40)],
    ids=["copies", "one place", "equally far"],
)
def test_duplicates_and_ties_are_embedded(
    method: type[StochasticEmbedding], base: RealArray
) -> None:
    Y = method(max_iter=100).embed(base, 16, rng=0)
    assert np.isfinite(Y).all()
    assert Y.std() > 1e-6


@STOCHASTIC
def test_blobs_stay_together(method: type[StochasticEmbedding]) -> None:
    base, labels = make_blobs(120, 20, centers=4, cluster_std=1.0, random_state=0)
    Y = method().embed(base, 16, rng=0)
    near = np.argsort(cdist(Y, Y), axis=1)[:, 1:6]
    assert (labels[near] == labels[:, None]).mean() > 0.99


@STOCHASTIC
def test_the_seed_determines_the_embedding(method: type[StochasticEmbedding]) -> None:
    base = float32_cloud(50)
    base.flags["W"] = False
    kept = base.copy()
    first, again, other = (method(max_iter=100).embed(base, 16, rng=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    np.testing.assert_array_equal(base, kept)


@STOCHASTIC
def test_on_step_reports_the_progress(method: type[StochasticEmbedding]) -> None:
    steps: list[tuple[int, int]] = []
    heard = method().embed(float32_cloud(50), 16, rng=0, on_step=lambda *step: steps.append(step))
    np.testing.assert_array_equal(heard, method().embed(float32_cloud(50), 16, rng=0))
    assert steps
    assert all(total == 400 for _, total in steps)
    assert [done for done, _ in steps] == sorted({done for done, _ in steps})
    assert all(1 <= done <= 400 for done, _ in steps)


@STOCHASTIC
def test_the_stored_type_does_not_matter(method: type[StochasticEmbedding]) -> None:
    base = np.round(float32_cloud(50) * 8)
    expected = method(max_iter=50).embed(base, 16, rng=0)
    for dtype in (np.float64, np.int32):
        np.testing.assert_array_equal(
            method(max_iter=50).embed(base.astype(dtype), 16, rng=0), expected
        )


@STOCHASTIC
def test_methods_are_scikit_learn_estimators(method: type[StochasticEmbedding]) -> None:
    made = method(perplexity=7.0, max_iter=30, learning_rate=10.0)
    parameters = clone(made).get_params()
    assert (
        parameters
        == made.get_params()
        == method().get_params()
        | {
            "perplexity": 7.0,
            "max_iter": 30,
            "learning_rate": 10.0,
        }
    )


class RecordedNeighbors(NeighborBlocks):
    """Neighbors that record the size of the sample that was taken."""

    sampled: list[int]

    def sample(self, n_rows: int) -> Any:
        self.sampled.append(n_rows)
        return super().sample(n_rows)


def line(n: int, k: int = 4) -> tuple[RealArray, RecordedNeighbors]:
    """Return 20 base points on a line, and the neighbors of n points between them."""
    base = np.arange(20.0)[:, None]
    found = find_neighbors(np.random.default_rng(0).uniform(0, 19, (n, 1)), base, k)
    recorded = RecordedNeighbors(found.rows, found.base)
    object.__setattr__(recorded, "sampled", [])
    return base, recorded


@STOCHASTIC
@pytest.mark.parametrize("n", [100, 250, 600])
def test_affinities_are_counted_in_enough_training_data(
    method: type[StochasticEmbedding], n: int
) -> None:
    base, neighbors = line(n)
    counted = method().embed(base, 2, rng=0, neighbors=neighbors)
    assert neighbors.sampled == [1 << 17]
    assert not np.array_equal(counted, method(perplexity=5).embed(base, 2, rng=0))


@STOCHASTIC
@pytest.mark.parametrize(("n", "k"), [(99, 4), (600, 1)])
def test_affinities_are_not_counted_in_too_few_data(
    method: type[StochasticEmbedding], n: int, k: int
) -> None:
    base, neighbors = line(n, k)
    got = method().embed(base, 2, rng=0, neighbors=neighbors)
    assert neighbors.sampled == []
    np.testing.assert_array_equal(got, method(perplexity=5).embed(base, 2, rng=0))


def test_a_perplexity_is_used() -> None:
    base, neighbors = line(600)
    got = TSNE(perplexity=4).embed(base, 2, rng=0, neighbors=neighbors)
    np.testing.assert_array_equal(got, TSNE(perplexity=4).embed(base, 2, rng=0))
    assert neighbors.sampled == []
