"""Extreme eigenvectors of symmetric matrices, whitening, and signs.

The matrices have at most a few thousand rows. Dense LAPACK takes seconds for them, always
converges, and gives the same vectors each time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from bitfold._types import Float64Array

_TINY = float(np.finfo(np.float32).tiny)


class Spectrum(NamedTuple):
    """Eigenvalues, and the unit eigenvectors as columns."""

    values: Float64Array
    vectors: Float64Array


def smallest_eigenvectors(matrix: Float64Array, n: int, trivial: Float64Array) -> Spectrum:
    """Return the n smallest eigenvalues, ascending, with eigenvectors orthogonal to ``trivial``.

    ``matrix`` has no negative eigenvalues, and ``trivial`` belongs to its eigenvalue 0. Raising
    that eigenvalue above all others excludes it even if several eigenvalues are close to 0.
    """
    direction = trivial / np.linalg.norm(trivial)
    # The largest row sum of a symmetric matrix bounds its eigenvalues.
    height = 2 * np.abs(matrix).sum(axis=1).max() or 1.0
    raised = matrix + height * np.outer(direction, direction)
    values, vectors = eigh(raised, subset_by_index=(0, n - 1), overwrite_a=True)
    return Spectrum(values, fix_signs(vectors))


def largest_eigenvectors(matrix: Float64Array, n: int) -> Spectrum:
    """Return the n largest eigenvalues, descending, with their eigenvectors."""
    m = len(matrix)
    values, vectors = eigh(matrix, subset_by_index=(m - n, m - 1))
    return Spectrum(values[::-1], fix_signs(vectors[:, ::-1]))


def minimize_trace(matrix: Float64Array, n: int) -> Float64Array:
    """Return the Y that minimizes trace(Yᵀ A Y) subject to YᵀY = mI and Yᵀ1 = 0, as in Eq. (1).

    ``matrix`` is A: a Laplacian, or another matrix without negative eigenvalues for which A1 = 0.
    """
    m = len(matrix)
    Y: Float64Array = np.sqrt(m) * smallest_eigenvectors(matrix, n, np.ones(m)).vectors
    return Y


def fix_signs(vectors: Float64Array) -> Float64Array:
    """Flip columns so that the entry of largest magnitude of each is positive."""
    extremes = np.abs(vectors).argmax(axis=0)
    fixed: Float64Array = vectors * np.sign(vectors[extremes, np.arange(vectors.shape[1])])
    return fixed


def signs(values: Float64Array) -> Float64Array:
    """Return 1 for positive values and -1 for others, as bits are defined."""
    return np.where(values > 0, 1.0, -1.0)


def whiten_covariance(covariance: Float64Array, ridge: float) -> Float64Array:
    """Return W for which Wᵀ (C + ridge · mean variance · I) W is the identity.

    Rounding may make eigenvalues of C negative, for which a Cholesky factorization would fail.
    """
    values, vectors = eigh(covariance)
    floor = ridge * max(float(values.mean()), _TINY)
    W: Float64Array = vectors / np.sqrt(np.maximum(values, 0) + floor)
    return W


def whiten_columns(K: Float64Array, relative_zero: float) -> Float64Array:
    """Return W for which Z = K W has ZᵀZ = nI.

    Directions whose eigenvalue is below ``relative_zero`` times the largest are left out, so KᵀK
    need not be invertible.
    """
    values, vectors = eigh(K.T @ K)
    kept = values > relative_zero * values[-1]
    W: Float64Array = vectors[:, kept] * np.sqrt(len(K) / values[kept])
    return W


def inverse_root(K: Float64Array, relative_zero: float) -> Float64Array:
    """Return K^(-1/2) of a matrix without negative eigenvalues; zero where K is zero.

    Eigenvalues below ``relative_zero`` times the largest count as zero.
    """
    values, vectors = eigh(K)
    kept = values > relative_zero * values[-1]
    left = vectors[:, kept]
    root: Float64Array = (left / np.sqrt(values[kept])) @ left.T
    return root
