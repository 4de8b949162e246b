"""Kernelized LSH: normals by the formula of the paper, nearly Gaussian."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA
from sklearn.preprocessing import KernelCenterer
from threadpoolctl import threadpool_limits

from bitfold.hashers import KLSH
from bitfold.hashers.base.kernel import gaussian_kernel, root_mean_sq_distance
from bitfold.hashers.klsh import compute_coefficients, draw_subsets
from bitfold.metrics import map_scorer

Array = NDArray[Any]
M = 60


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


@cache
def digits() -> Array:
    return np.ascontiguousarray(load_digits().data[:300], np.float32)


def kernels(rows: Array) -> Array:
    anchors = digits()[:M]
    return gaussian_kernel(rows, anchors, root_mean_sq_distance(anchors, anchors)).astype(
        np.float64
    )


def test_subsets_have_the_given_size_and_differ() -> None:
    chosen = draw_subsets(40, M, 7, np.random.default_rng(0))
    assert set(np.unique(chosen)) == {0, 1}
    np.testing.assert_array_equal(chosen.sum(axis=1), 7)
    assert len(np.unique(chosen, axis=0)) == 40


def test_embedding_follows_the_paper() -> None:
    # In the explicit feature space of kernel PCA, the formula of the paper is plain algebra.
    K = kernels(digits()[:M])
    space = KernelPCA(kernel="precomputed").fit(K)
    points = space.transform(K)
    ours = KLSH(24, n_anchors=M, n_subset=10, random_state=0).fit(digits()[:M])
    size = 10
    covariance = points.T @ points / M
    np.testing.assert_allclose(covariance, np.diag(covariance.diagonal()), atol=1e-6)
    whiten = 1 / np.sqrt(covariance.diagonal())
    chosen = draw_subsets(24, M, size, np.random.default_rng(0).spawn(2)[1])
    sums = np.sqrt(size) * (chosen @ points / size - points.mean(axis=0))
    normals = sums * whiten
    new = digits()[M:]
    expected = space.transform(kernels(new)) @ normals.T
    reals = ours.embed(new)
    # The factor √(M / size) does not change the signs.
    np.testing.assert_allclose(
        reals * np.sqrt(M / size), expected, atol=2e-3 * np.abs(expected).max()
    )


def test_normals_are_nearly_gaussian() -> None:
    K = KernelCenterer().fit_transform(kernels(digits()[:M]))
    values, vectors = np.linalg.eigh(K)
    chosen = draw_subsets(3000, M, 20, np.random.default_rng(0))
    w = compute_coefficients(K, chosen)
    # Coordinates of Σ w_i φ(a_i) along the leading axes of the feature space.
    normals = (w @ vectors[:, -10:]) * np.sqrt(values[-10:])
    spread = np.sqrt(20 * (M - 20) / (M * (M - 1)))
    np.testing.assert_allclose(normals.std(axis=0), spread, rtol=0.08)
    np.testing.assert_allclose(normals.mean(axis=0), 0, atol=0.05)
    assert np.abs(np.corrcoef(normals.T) - np.eye(10)).max() < 0.1
    distances = [kstest(column / spread, "norm").statistic for column in normals.T]
    assert max(distances) < 0.06


def test_subsets_contain_at_most_half_of_the_anchors() -> None:
    # The sum of all anchors does not define a direction.
    ours = KLSH(8, n_anchors=20, n_subset=20, random_state=0).fit(digits())
    half = KLSH(8, n_anchors=20, n_subset=10, random_state=0).fit(digits())
    np.testing.assert_array_equal(ours.coefficients_, half.coefficients_)
    assert np.abs(ours.coefficients_).max() > 0.1


def test_longer_codes_are_better() -> None:
    X, y = load_digits(return_X_y=True)
    scores = [map_scorer(KLSH(b, random_state=0).fit(X), X[:500], y[:500]) for b in (8, 64)]
    assert scores[1] > scores[0] + 0.1
