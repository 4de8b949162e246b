"""Whitening and inverse roots of symmetric matrices."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer

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
