"""Eigenvectors, signs, whitening and inverse roots."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer

from bitfold._linalg import spectral
from bitfold._linalg.spectral import inverse_root, whiten_columns, whiten_covariance

X = load_digits().data


def test_whiten_singular_covariance() -> None:
    covariance = np.cov(X[:40].T, bias=True)
    assert np.linalg.matrix_rank(covariance) < 64
    ridge = 1e-3 * np.trace(covariance) / 64 * np.eye(64)
    W = whiten_covariance(covariance, 1e-3)
    np.testing.assert_allclose(W.T @ (covariance + ridge) @ W, np.eye(64), atol=1e-9)
    assert np.isfinite(whiten_covariance(np.zeros((3, 3)), 1e-3)).all()


def test_whitened_columns_are_orthogonal() -> None:
    K = rbf_kernel(X[:300], X[300:340], 1e-3)
    Z = K @ whiten_columns(K, 1e-7)
    np.testing.assert_allclose(Z.T @ Z, 300 * np.eye(Z.shape[1]), atol=1e-5)
    repeated = np.hstack([K, K])
    assert whiten_columns(repeated, 1e-7).shape == (80, Z.shape[1])


def test_inverse_root_inverts_on_its_range() -> None:
    K = KernelCenterer().fit_transform(rbf_kernel(X[:60], gamma=1e-3))
    root = inverse_root(K, 1e-6)
    np.testing.assert_allclose(root, root.T, atol=1e-9)
    # Centered kernels of 60 points span 59 directions.
    np.testing.assert_allclose(root @ K @ root, np.eye(60) - 1 / 60, atol=1e-4)
    np.testing.assert_allclose(root.sum(axis=0), 0, atol=1e-3)


def test_the_trivial_eigenvector_is_excluded_among_many_zeros() -> None:
    parts = np.kron(np.eye(3), np.ones((4, 4)))
    L = np.diag(parts.sum(axis=1)) - parts
    values, vectors = spectral.smallest_eigenvectors(L, 11, np.ones(12))
    np.testing.assert_allclose(values, [0] * 2 + [4] * 9, atol=1e-12)
    np.testing.assert_allclose(vectors.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(11), atol=1e-12)


def test_smallest_eigenvectors_of_the_zero_matrix() -> None:
    values, vectors = spectral.smallest_eigenvectors(np.zeros((5, 5)), 4, np.ones(5))
    np.testing.assert_allclose(values, 0, atol=1e-12)
    np.testing.assert_allclose(vectors.sum(axis=0), 0, atol=1e-12)


def test_largest_eigenvalues_descend_and_signs_are_fixed() -> None:
    A = np.diag([3.0, -7, 5, 1])
    values, vectors = spectral.largest_eigenvectors(A, 3)
    np.testing.assert_allclose(values, [5, 3, 1])
    np.testing.assert_allclose(vectors, np.eye(4)[:, [2, 0, 3]], atol=1e-12)
    flipped = spectral.fix_signs(np.array([[1.0, -3], [-2, 1]]))
    assert flipped.tolist() == [[-1, 3], [2, -1]]


def test_signs_are_one_above_zero_only() -> None:
    assert spectral.signs(np.array([-1.0, -0.0, 0.0, 1e-300])).tolist() == [-1, -1, -1, 1]
