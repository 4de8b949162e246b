"""The spectral embeddings of the base set, against oracles and in the corners."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist, pdist
from sklearn import datasets, decomposition, manifold
from sklearn.base import clone

from bitfold._linalg import graph, spectral
from bitfold.embedding.base import Embedding, Neighbors
from bitfold.embedding.diffusion import DiffusionMaps
from bitfold.embedding.isomap import Isomap
from bitfold.embedding.laplacian import LaplacianEigenmaps
from bitfold.embedding.lle import LLE
from bitfold.embedding.pca import PCA
from bitfold.embedding.relaxed_laplacian import RelaxedLaplacian, data_laplacian

RealArray = NDArray[np.float64]


@dataclass
class Hanging:
    """Training points on a base set, in blocks of 37."""

    sq_distances: RealArray
    bandwidth: float = 1.0
    k: int = 4

    def __len__(self) -> int:
        return len(self.sq_distances)

    def blocks(self, at_most: int | None = None) -> Iterator[Neighbors]:
        indices = np.argsort(self.sq_distances, axis=1)[:, : self.k].astype(np.int32)
        near = np.take_along_axis(self.sq_distances, indices, axis=1).astype(np.float32)
        for start in range(0, len(near), 37):
            yield Neighbors(indices[start : start + 37], near[start : start + 37])

    def dense(self) -> RealArray:
        """W_XB, n × m."""
        rank = self.sq_distances.argsort(axis=1).argsort(axis=1)
        weights = np.exp(-self.sq_distances / self.bandwidth**2)
        return np.where(rank < self.k, weights, 0.0)


def hang(base: RealArray, n: int = 200) -> Hanging:
    rng = np.random.default_rng(5)
    X = base[rng.integers(len(base), size=n)] + 0.3 * rng.standard_normal((n, base.shape[1]))
    # float32, as the base set and the distances are inside the library.
    return Hanging(cdist(X, base, "sqeuclidean").astype(np.float32).astype(np.float64))


def cloud(m: int = 60, d: int = 5, seed: int = 0) -> RealArray:
    return np.random.default_rng(seed).standard_normal((m, d)).astype(np.float32).astype(float)


def two_clusters(m: int = 40) -> RealArray:
    points = cloud(m, 3)
    points[m // 2 :] += 1e4
    return points


METHODS: list[Embedding] = [
    LaplacianEigenmaps(n_neighbors=4),
    RelaxedLaplacian(n_neighbors=4),
    LLE(n_neighbors=4),
    Isomap(n_neighbors=4),
    DiffusionMaps(),
    PCA(),
]
GRAPH_METHODS = METHODS[:5]
WHITE = METHODS[:3]


def name(method: Embedding) -> str:
    return type(method).__name__


def embed(method: Embedding, base: RealArray, n: int) -> RealArray:
    return method.embed(base, n, data=hang(base)).astype(np.float64)


def same_up_to_sign(left: RealArray, right: RealArray, tol: float = 1e-4) -> bool:
    left = left / np.linalg.norm(left, axis=0)
    right = right / np.linalg.norm(right, axis=0)
    return bool((np.abs((left * right).sum(axis=0)) > 1 - tol).all())


# The graph.


def test_graph_weights_are_gaussian_of_the_nearest() -> None:
    base = cloud(30)
    W = graph.gaussian_graph(base, 3).toarray()
    distances = cdist(base, base)
    np.fill_diagonal(distances, np.inf)
    kth = np.sort(distances, axis=1)[:, 2]
    linked = (distances <= kth[:, None]) | (distances <= kth)
    expected = np.where(linked, np.exp(-((distances / kth.mean()) ** 2)), 0)
    np.testing.assert_allclose(W, expected, atol=1e-12)


def test_graph_takes_the_given_bandwidth() -> None:
    base = cloud(10)
    W = graph.gaussian_graph(base, 99, bandwidth=2.0).toarray()
    expected = np.exp(-cdist(base, base, "sqeuclidean") / 4) - np.eye(10)
    np.testing.assert_allclose(W, expected, atol=1e-12)


def test_graph_far_from_the_origin_is_the_graph_at_the_origin() -> None:
    base = np.round(cloud(30) * 1024) / 1024
    near, far = (graph.find_neighbors(base + shift, 3).distances for shift in (0, 2.0**30))
    np.testing.assert_allclose(near, far, rtol=1e-6)


def test_components_are_joined_by_their_minimum_spanning_tree() -> None:
    line = np.array([0, 1, 2, 10, 11, 12, 30, 31, 32], float)[:, None]
    split = graph._link_neighbors(graph.find_neighbors(line, 2))
    joined = graph._connect(split, line)
    assert csgraph.connected_components(split)[0] == 3
    assert csgraph.connected_components(joined)[0] == 1
    bridges = {tuple(pair) for pair in np.argwhere((joined - split).toarray() > 0)}
    assert bridges == {(2, 3), (3, 2), (5, 6), (6, 5)}
    assert joined[2, 3] == pytest.approx(8)
    assert joined[5, 6] == pytest.approx(18)


def test_connected_graph_is_left_alone() -> None:
    base = cloud(30)
    whole = graph._link_neighbors(graph.find_neighbors(base, 8))
    assert graph._connect(whole, base) is whole


def test_duplicates_stay_linked() -> None:
    base = np.repeat(cloud(6), 4, axis=0)
    joined = graph.distance_graph(base, 2)
    assert csgraph.connected_components(joined)[0] == 1
    assert (graph.gaussian_graph(base, 2).diagonal() == 0).all()


def test_bandwidth_of_duplicates_is_of_the_scale_of_the_rest() -> None:
    base = np.repeat(cloud(6) + 100, 4, axis=0)
    assert graph.mean_neighbor_distance(graph.find_neighbors(base, 2)) == 1.0
    assert graph.mean_neighbor_distance(graph.find_neighbors(base, 5)) > 0.5
    # Three copies fill the neighborhood of most points, not of all.
    mixed = np.vstack([base, cloud(3, seed=1) + 100])
    assert 0.05 < graph.mean_neighbor_distance(graph.find_neighbors(mixed, 3)) < 10


def test_an_outlier_keeps_a_weight() -> None:
    base = np.vstack([cloud(20), np.full((1, 5), 1e6)])
    W = graph.gaussian_graph(base, 3)
    assert W.data.min() == graph.FAINTEST
    assert W[[20]].sum() > 0


# The eigenvectors.


def test_smallest_leaves_out_the_trivial_one_among_many_zeros() -> None:
    parts = np.kron(np.eye(3), np.ones((4, 4)))
    L = np.diag(parts.sum(axis=1)) - parts
    values, vectors = spectral.smallest_eigenvectors(L, 11, np.ones(12))
    np.testing.assert_allclose(values, [0] * 2 + [4] * 9, atol=1e-12)
    np.testing.assert_allclose(vectors.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(11), atol=1e-12)


def test_smallest_of_the_zero_matrix() -> None:
    values, vectors = spectral.smallest_eigenvectors(np.zeros((5, 5)), 4, np.ones(5))
    np.testing.assert_allclose(values, 0, atol=1e-12)
    np.testing.assert_allclose(vectors.sum(axis=0), 0, atol=1e-12)


def test_largest_falls_and_signs_are_fixed() -> None:
    A = np.diag([3.0, -7, 5, 1])
    values, vectors = spectral.largest_eigenvectors(A, 3)
    np.testing.assert_allclose(values, [5, 3, 1])
    np.testing.assert_allclose(vectors, np.eye(4)[:, [2, 0, 3]], atol=1e-12)
    flipped = spectral.fix_signs(np.array([[1.0, -3], [-2, 1]]))
    assert flipped.tolist() == [[-1, 3], [2, -1]]


# Oracles, one per method.


def test_laplacian_eigenmaps_is_the_dense_computation() -> None:
    base = cloud()
    W = graph.gaussian_graph(base, 6).toarray()
    _, vectors = eigh(np.diag(W.sum(axis=1)) - W)
    assert same_up_to_sign(embed(LaplacianEigenmaps(6), base, 10), vectors[:, 1:11])


def test_laplacian_eigenmaps_is_scikit_learns_unnormalized() -> None:
    base = cloud()
    W = graph.gaussian_graph(base, 6).toarray()
    theirs = manifold.spectral_embedding(
        W, n_components=5, norm_laplacian=False, drop_first=True, random_state=0
    )
    assert same_up_to_sign(embed(LaplacianEigenmaps(6), base, 5), theirs)


def test_laplacian_eigenmaps_of_a_line_is_cosines() -> None:
    line = np.arange(20.0)[:, None]
    Y = embed(LaplacianEigenmaps(n_neighbors=1, bandwidth=1.0), line, 3)
    i, frequency = np.arange(20)[:, None], np.arange(1, 4)
    assert same_up_to_sign(Y, np.cos(np.pi * frequency * (i + 0.5) / 20), 1e-6)


def test_t_is_the_dense_computation() -> None:
    base = cloud()
    data = hang(base)
    W = data.dense()
    W_bar = W / W.sum(axis=1, keepdims=True)
    T = np.diag(W.sum(axis=0)) - W_bar.T @ W
    ours = data_laplacian(data.blocks(), len(base), data.bandwidth)
    np.testing.assert_allclose(ours, T, atol=1e-5 * T.max())
    np.testing.assert_allclose(ours @ np.ones(len(base)), 0, atol=1e-9)


def test_relaxed_laplacian_is_the_dense_computation() -> None:
    base = cloud()
    data = hang(base)
    T = data_laplacian(data.blocks(), len(base), data.bandwidth)
    W = graph.gaussian_graph(base, 6).toarray()
    _, vectors = eigh(np.diag(W.sum(axis=1)) - W + 3 * T)
    Y = RelaxedLaplacian(n_neighbors=6, smoothness=3.0).embed(base, 10, data=data)
    assert same_up_to_sign(Y.astype(float), vectors[:, 1:11])


def test_relaxed_laplacian_minimizes_the_papers_objective() -> None:
    base = cloud()
    data = hang(base)
    Y = embed(RelaxedLaplacian(n_neighbors=6), base, 3)
    W_XB, W_B = data.dense(), graph.gaussian_graph(base, 6).toarray()

    def cost(Y_B: RealArray) -> float:
        induced = W_XB @ Y_B / W_XB.sum(axis=1, keepdims=True)
        # Each pair of base points stands once in trace(Yᵀ M Y), twice in the sum over i and j.
        within = (W_B * cdist(Y_B, Y_B, "sqeuclidean")).sum() / 2
        return float(within + 2.0 * (W_XB * cdist(induced, Y_B, "sqeuclidean")).sum())

    rng = np.random.default_rng(0)
    for _ in range(20):
        other = Y + 0.05 * rng.standard_normal(Y.shape)
        other -= other.mean(axis=0)
        other = np.sqrt(len(base)) * np.linalg.qr(other)[0]
        assert cost(Y) < cost(other)


def test_far_training_points_neither_break_nor_weigh() -> None:
    base = cloud()
    data = hang(base)
    T = data_laplacian(data.blocks(), len(base), data.bandwidth)
    far = Hanging(np.vstack([data.sq_distances, 1e6 + data.sq_distances[:50]]))
    with_far = data_laplacian(far.blocks(), len(base), far.bandwidth)
    np.testing.assert_allclose(with_far, T, atol=1e-9)


def test_relaxed_laplacian_without_data_is_a_clear_error() -> None:
    with pytest.raises(ValueError, match=r"data of RelaxedLaplacian must be .*, got None\."):
        RelaxedLaplacian().embed(cloud(), 3)


def test_lle_is_scikit_learns() -> None:
    base = cloud(80, 4)
    theirs = manifold.LocallyLinearEmbedding(
        n_neighbors=12, n_components=4, eigen_solver="dense"
    ).fit_transform(base)
    assert same_up_to_sign(embed(LLE(n_neighbors=12), base, 4), theirs)


def test_isomap_is_scikit_learns() -> None:
    base = cloud(80, 4)
    theirs = manifold.Isomap(n_neighbors=10, n_components=4).fit_transform(base)
    ours = embed(Isomap(n_neighbors=10), base, 4)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=2e-3 * np.abs(theirs).max())


def test_isomap_gives_a_flat_grid_back() -> None:
    grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    rotation = np.linalg.qr(cloud(7, 7))[0][:2]
    Y = embed(Isomap(n_neighbors=29), grid @ rotation, 2)
    np.testing.assert_allclose(pdist(Y), pdist(grid), rtol=1e-5)


def test_isomap_unrolls_the_swiss_roll() -> None:
    roll, angle = datasets.make_swiss_roll(600, random_state=0)
    Y = embed(Isomap(n_neighbors=6), roll, 2)
    # Arc length of the spiral r = angle.
    arc = (angle * np.sqrt(1 + angle**2) + np.arcsinh(angle)) / 2
    assert abs(np.corrcoef(Y[:, 0], arc)[0, 1]) > 0.99
    assert abs(np.corrcoef(PCA().embed(roll, 2)[:, 0], arc)[0, 1]) < 0.5


def test_isomap_names_the_dimensions_that_exist() -> None:
    line = np.arange(12.0)[:, None]
    with pytest.raises(ValueError, match=r"n_bits of Isomap must be at most the 1 real .*got 2\."):
        Isomap(n_neighbors=2).embed(line, 2)


def test_pca_is_scikit_learns() -> None:
    base = cloud()
    theirs = decomposition.PCA(3, svd_solver="full").fit_transform(base)
    np.testing.assert_allclose(embed(PCA(), base, 3), theirs, atol=1e-5)


def test_diffusion_maps_is_the_dense_computation() -> None:
    base = cloud(40, 3)
    K = np.exp(-cdist(base, base, "sqeuclidean") / 4)
    q = K.sum(axis=1) ** 0.5
    K = K / np.outer(q, q)
    values, vectors = np.linalg.eig(K / K.sum(axis=1, keepdims=True))
    order = np.argsort(-values.real)[1:6]
    psi, factors = vectors.real[:, order], (values.real[order] / values.real[order[0]]) ** 3
    stationary = K.sum(axis=1) / K.sum()
    expected = psi / np.sqrt(stationary @ psi**2) * factors
    expected -= expected.mean(axis=0)
    ours = embed(DiffusionMaps(n_steps=3, alpha=0.5, bandwidth=2.0), base, 5)
    np.testing.assert_allclose(np.abs(ours), np.abs(expected), atol=1e-4)


def test_diffusion_maps_closes_a_circle() -> None:
    turn = np.linspace(0, 2 * np.pi, 50, endpoint=False)
    Y = embed(DiffusionMaps(), np.column_stack([np.cos(turn), np.sin(turn)]), 2)
    np.testing.assert_allclose(np.linalg.norm(Y, axis=1), np.sqrt(2), rtol=1e-4)


def test_diffusion_maps_keeps_the_sign_of_faded_coordinates() -> None:
    Y = DiffusionMaps(n_steps=2000).embed(cloud(), 30)
    assert (np.abs(Y).max(axis=0) > 0).all()


# Laws of every method.


@pytest.mark.parametrize("method", METHODS, ids=name)
def test_embeddings_are_centered_finite_and_repeat(method: Embedding) -> None:
    base = cloud()
    Y = method.embed(base, 4, data=hang(base))
    assert Y.shape == (60, 4)
    assert Y.dtype == np.float32
    assert np.isfinite(Y).all()
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-6)
    again = clone(method).embed(base.copy(), 4, data=hang(base))
    np.testing.assert_array_equal(Y, again)


@pytest.mark.parametrize("method", METHODS, ids=name)
def test_columns_vary_and_are_not_each_other(method: Embedding) -> None:
    Y = embed(method, cloud(60, 20), 16)
    assert (Y.std(axis=0) > 1e-6 * Y.std()).all()
    assert np.linalg.matrix_rank(Y / Y.std(axis=0)) == 16


@pytest.mark.parametrize("method", WHITE, ids=name)
@pytest.mark.parametrize("base", [cloud(), two_clusters()], ids=["cloud", "two clusters"])
def test_y_has_the_constraint_of_the_paper(method: Embedding, base: RealArray) -> None:
    Y = embed(method, base, 20)
    np.testing.assert_allclose(Y.T @ Y, len(base) * np.eye(20), atol=1e-4)
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-4)


@pytest.mark.parametrize("method", GRAPH_METHODS, ids=name)
def test_two_far_clusters_embed_and_come_apart(method: Embedding) -> None:
    Y = embed(method, two_clusters(), 8)
    assert Y.shape == (40, 8)
    assert np.isfinite(Y).all()
    assert (Y.std(axis=0) > 0).all()
    # The first coordinate tells the clusters apart: that is what varies least along the graph.
    assert len(np.unique(np.sign(Y[:20, 0]))) == 1
    assert (np.sign(Y[:20, 0]) == -np.sign(Y[20:, 0])).all()


@pytest.mark.parametrize("method", METHODS, ids=name)
def test_duplicates_embed_together(method: Embedding) -> None:
    base = np.vstack([cloud(30), cloud(30)[:6], cloud(30)[:6]])
    Y = embed(method, base, 4)
    assert np.isfinite(Y).all()
    spread = pdist(Y).mean()
    # LLE rebuilds a point from its copies alone; how near it then lies is not its concern.
    if not isinstance(method, LLE):
        assert np.linalg.norm(Y[:6] - Y[30:36], axis=1).max() < spread


@pytest.mark.parametrize("method", [m for m in METHODS if not isinstance(m, Isomap)], ids=name)
def test_one_point_many_times_stays_finite(method: Embedding) -> None:
    base = np.ones((7, 3))
    assert np.isfinite(embed(method, base, 3)).all()


def test_isomap_of_one_point_has_no_dimension() -> None:
    with pytest.raises(ValueError, match="at most the 0 real dimensions"):
        Isomap().embed(np.ones((7, 3)), 1)


@pytest.mark.parametrize("method", METHODS, ids=name)
def test_two_points_give_one_dimension(method: Embedding) -> None:
    base = np.array([[0.0, 0], [3, 4]])
    data = Hanging(np.array([[0.1, 24.0], [25, 0.2]]), k=2)
    Y = method.embed(base, 1, data=data)
    assert Y[0] == pytest.approx(-Y[1])
    assert abs(Y[0]) > 0.1


@pytest.mark.parametrize("method", METHODS, ids=name)
def test_scale_does_not_matter(method: Embedding) -> None:
    base = cloud()
    data = hang(base)
    Y = method.embed(base, 3, data=data).astype(float)
    for scale in (1e-12, 1e12):
        sq_distances = data.sq_distances * scale**2
        scaled = Hanging(sq_distances, bandwidth=scale)
        Z = method.embed(base * scale, 3, data=scaled).astype(float)
        assert same_up_to_sign(Y, Z)


@pytest.mark.parametrize("method", GRAPH_METHODS[:4], ids=name)
def test_more_neighbors_than_points_means_all(method: Embedding) -> None:
    base = cloud(20, 8)
    few, many = (clone(method).set_params(n_neighbors=k) for k in (19, 1000))
    np.testing.assert_array_equal(embed(few, base, 3), embed(many, base, 3))


@pytest.mark.parametrize("method", METHODS, ids=name)
def test_limit_is_named(method: Embedding) -> None:
    base = cloud(9, 20)
    sentence = rf"n_bits of {name(method)} must be at most m - 1 = 8, got 9\."
    with pytest.raises(ValueError, match=sentence):
        embed(method, base, 9)


@pytest.mark.parametrize("method", [m for m in METHODS if not isinstance(m, Isomap)], ids=name)
def test_limit_is_reached(method: Embedding) -> None:
    base = cloud(9, 20)
    Y = embed(method, base, 8)
    assert np.linalg.matrix_rank(Y / np.abs(Y).max(axis=0), tol=1e-4) == 8


def test_limit_of_pca_may_be_its_features() -> None:
    with pytest.raises(ValueError, match=r"n_bits of PCA must be at most n_features=5, got 6\."):
        PCA().embed(cloud(60, 5), 6)


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        (LaplacianEigenmaps(n_neighbors=0), "n_neighbors of LaplacianEigenmaps must be at least 1"),
        (LaplacianEigenmaps(bandwidth=0.0), "bandwidth of LaplacianEigenmaps must be a finite"),
        (RelaxedLaplacian(n_neighbors=0), "n_neighbors of RelaxedLaplacian must be at least 1"),
        (RelaxedLaplacian(smoothness=-1), "smoothness of RelaxedLaplacian must be a finite"),
        (RelaxedLaplacian(bandwidth=-1), "bandwidth of RelaxedLaplacian must be a finite"),
        (LLE(n_neighbors=0), "n_neighbors of LLE must be at least 1"),
        (LLE(regularization=0), "regularization of LLE must be a finite number above 0"),
        (Isomap(n_neighbors=-3), "n_neighbors of Isomap must be at least 1, got -3"),
        (DiffusionMaps(n_steps=0), "n_steps of DiffusionMaps must be at least 1"),
        (DiffusionMaps(alpha=1.5), "alpha of DiffusionMaps must be a number from 0 to 1, got 1.5"),
        (DiffusionMaps(bandwidth=-2.0), "bandwidth of DiffusionMaps must be a finite"),
    ],
)
def test_bad_parameters_are_named(method: Embedding, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        embed(method, cloud(), 2)
