"""The settings of the paper's authors: each step against a plain computation of its definition."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

import bitfold as bf
from bitfold import embedding as e
from bitfold.base_set import KMeansBase
from bitfold.errors import ParameterError
from bitfold.hashers import AGH, IMH, SupervisedIMH
from bitfold.hashers.strategies import EMBEDDINGS

Array = NDArray[Any]

M, K, N_BITS = 60, 5, 12


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Use one thread: on busy cores, the threads of a small problem wait for each other."""
    with threadpool_limits(1):
        yield


@cache
def digits() -> Array:
    return np.asarray(load_digits().data[:700])


def unit_digits() -> Array:
    X = digits()
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


@cache
def fitted_imh(embedding: str) -> IMH:
    return IMH.as_published(N_BITS, embedding=embedding, n_base_points=M, random_state=0).fit(
        digits()
    )


@cache
def fitted_agh() -> AGH:
    return AGH.as_published(N_BITS, n_base_points=M, random_state=0).fit(digits())


def weights(X: Array, base: Array, k: int, sigma: float) -> Array:
    """Return exp(-d²/σ²) between points and their k nearest base points."""
    distances = cdist(X, base)
    rank = distances.argsort(axis=1, kind="stable").argsort(axis=1)
    return np.where(rank < k, np.exp(-(distances**2) / sigma**2), 0.0)


def kth_distance(X: Array, base: Array, k: int) -> float:
    return float(np.sort(cdist(X, base), axis=1)[:, k - 1].mean())


def bits_of(X: Array, base: Array, embedded: Array, sigma: float) -> Array:
    W = weights(X, base, K, sigma)
    return np.asarray((W / W.sum(axis=1, keepdims=True)) @ embedded > 0)


def agreement(left: Array, right: Array) -> float:
    """Return the smallest cosine between columns; their signs are arbitrary."""
    left, right = (v / np.linalg.norm(v, axis=0) for v in (left, right))
    return float(np.abs((left * right).sum(axis=0)).min())


@pytest.mark.parametrize("fitted", [lambda: fitted_imh("tsne"), fitted_agh])
def test_the_bandwidth_is_the_mean_distance_to_the_kth_base_point(fitted: Any) -> None:
    hasher = fitted()
    expected = kth_distance(unit_digits(), hasher.base_points_, K)
    assert hasher.bandwidth_ == pytest.approx(expected, rel=1e-5)


def test_the_graph_of_le_is_the_authors() -> None:
    """20 neighbors with each point itself, σ their mean distance, λ = 2, no tiny eigenvalues."""
    hasher, X = fitted_imh("le"), unit_digits()
    base = hasher.base_points_
    W_B = weights(base, base, 20, kth_distance(base, base, 20))
    W_B = np.maximum(W_B, W_B.T)
    W = weights(X, base, K, kth_distance(X, base, K))
    T = np.diag(W.sum(axis=0)) - (W / W.sum(axis=1, keepdims=True)).T @ W
    values, vectors = eigh(np.diag(W_B.sum(axis=1)) - W_B + 2 * T)
    expected = vectors[:, values > 1e-3][:, :N_BITS]
    assert agreement(hasher.base_embedding_, expected) > 0.999
    bits = bits_of(X, base, hasher.base_embedding_, hasher.bandwidth_)
    assert np.mean(bits != hasher.transform(digits())) < 1e-3


def test_the_eigenvectors_of_agh_are_the_authors() -> None:
    hasher, X = fitted_agh(), unit_digits()
    Z = weights(X, hasher.base_points_, K, hasher.bandwidth_)
    Z /= Z.sum(axis=1, keepdims=True)
    root = Z.sum(axis=0) ** -0.5
    values, vectors = eigh(root[:, None] * (Z.T @ Z) * root)
    kept = values < 1 - 1e-3
    W = root[:, None] * vectors[:, kept][:, ::-1] / np.sqrt(values[kept][::-1])
    assert agreement(hasher.bit_embedding_, W[:, :N_BITS]) > 0.999


def test_agh_drops_eigenvectors_of_nearly_separate_parts() -> None:
    """Ten far clusters have ten eigenvalues of 1; only the constant one is dropped by default."""
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(10) * 50, 40, axis=0) + rng.standard_normal((400, 10))
    params: dict[str, Any] = {"n_layers": 1, "base": KMeansBase(60), "random_state": 0}

    def variation_within(hasher: AGH) -> Array:
        Y = hasher.fit(X).embed(X).reshape(10, 40, -1)
        return np.asarray(Y.std(axis=1).mean(axis=0))

    plain = variation_within(AGH(6, **params))
    dropped = variation_within(AGH(6, max_eigenvalue=1 - 1e-3, **params))
    assert plain.max() < 0.1 * dropped.min()


def test_tsne_has_the_settings_of_the_authors() -> None:
    tsne = IMH.as_published(64).embedding
    assert isinstance(tsne, e.TSNE)
    assert (tsne.perplexity, tsne.max_iter, tsne.learning_rate) == (10, 1000, 500)
    assert (tsne.early_exaggeration, tsne.n_exaggerated_iter, tsne.early_momentum) == (4, 100, 0.5)
    assert (tsne.tolerance, tsne.n_directions, tsne.exaggeration) == (None, "auto", 1)


def test_spectral_methods_have_the_settings_of_the_authors() -> None:
    le = IMH.as_published(64, embedding="le").embedding
    assert isinstance(le, e.RelaxedLaplacian)
    assert (le.n_neighbors, le.smoothness, le.min_eigenvalue) == (19, 2, 1e-3)
    assert AGH.as_published(64).max_eigenvalue == 1 - 1e-3


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_all_embeddings_share_the_base_set_and_the_rows(embedding: str) -> None:
    hasher = IMH.as_published(16, embedding=embedding, n_base_points=50, n_neighbors=2)
    assert isinstance(hasher.base, KMeansBase)
    assert (hasher.base.n_base_points, hasher.base.max_iter) == (50, 10)
    assert (hasher.bandwidth, hasher.normalize, hasher.n_neighbors) == ("kth_distance", True, 2)
    assert (hasher.rotation, hasher.n_directions) == (None, None)
    assert isinstance(hasher.embedding, EMBEDDINGS[embedding])


def test_the_defaults_are_those_of_the_paper() -> None:
    for hasher in (IMH.as_published(8), AGH.as_published(8)):
        assert isinstance(hasher.base, KMeansBase)
        assert (hasher.base.n_base_points, hasher.n_neighbors) == (400, 5)
    assert AGH.as_published(8).n_layers == 1


def test_codes_do_not_depend_on_the_length_of_rows() -> None:
    hasher = fitted_imh("tsne")
    assert hasher.encode(3 * digits()) == hasher.encode(digits())


def test_hashers_as_published_are_ordinary(tmp_path: Path) -> None:
    hasher = fitted_imh("tsne")
    hasher.save(tmp_path / "model.bitfold")
    loaded = bf.load(tmp_path / "model.bitfold")
    assert repr(loaded) == repr(hasher)
    assert loaded.encode(digits()) == hasher.encode(digits())
    assert repr(clone(hasher)) == repr(hasher)


def test_algorithm_2_has_the_same_settings() -> None:
    hasher = SupervisedIMH.as_published(9, n_base_points=100)
    assert isinstance(hasher, SupervisedIMH)
    params = IMH.as_published(9, n_base_points=100).get_params()
    assert {name: repr(hasher.get_params()[name]) for name in params} == {
        name: repr(value) for name, value in params.items()
    }


def test_an_unknown_embedding_is_an_error() -> None:
    with pytest.raises(ParameterError, match="'le_b'") as caught:
        SupervisedIMH.as_published(9, embedding="umap")
    assert (caught.value.name, caught.value.owner) == ("embedding", "SupervisedIMH")


@pytest.mark.parametrize("hasher", [IMH(8, bandwidth="mean"), AGH(8, bandwidth="mean")])
def test_an_unknown_bandwidth_rule_is_an_error(hasher: Any) -> None:
    with pytest.raises(ParameterError, match="kth_distance"):
        hasher.fit(digits()[:100])


@pytest.mark.parametrize("value", [1.0, -0.1, "most"])
def test_invalid_eigenvalues_are_an_error(value: Any) -> None:
    with pytest.raises(ValueError, match="max_eigenvalue of AGH"):
        AGH(8, base=KMeansBase(20), max_eigenvalue=value).fit(digits()[:100])
