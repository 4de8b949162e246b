"""Eigenvectors at either end of a symmetric matrix, free of the trivial one.

The matrices are m × m with m base points, some thousands at most: dense LAPACK takes seconds
there, never fails to converge and gives the same vectors each time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from bitfold._threads import serial_blas
from bitfold._types import Float64Array


class Spectrum(NamedTuple):
    """Eigenvalues, and the unit eigenvectors as columns."""

    values: Float64Array
    vectors: Float64Array


def smallest(matrix: Float64Array, n: int, trivial: Float64Array) -> Spectrum:
    """Return the n smallest eigenvalues, rising, with eigenvectors orthogonal to ``trivial``.

    ``matrix`` has no negative eigenvalue and ``trivial`` belongs to its eigenvalue 0. Lifting
    that above all others leaves nothing to guess when more eigenvalues are near 0.
    """
    direction = trivial / np.linalg.norm(trivial)
    # The largest row sum of a symmetric matrix bounds its eigenvalues.
    height = 2 * np.abs(matrix).sum(axis=1).max() or 1.0
    lifted = matrix + height * np.outer(direction, direction)
    values, vectors = eigh(lifted, subset_by_index=(0, n - 1), overwrite_a=True)
    return Spectrum(values, with_fixed_signs(vectors))


def largest(matrix: Float64Array, n: int) -> Spectrum:
    """Return the n largest eigenvalues, falling, with their eigenvectors."""
    m = len(matrix)
    # On one core, or the last digits would depend on how many there are.
    with serial_blas():
        values, vectors = eigh(matrix, subset_by_index=(m - n, m - 1))
    return Spectrum(values[::-1], with_fixed_signs(vectors[:, ::-1]))


def with_fixed_signs(vectors: Float64Array) -> Float64Array:
    """Turn each column so that its entry of largest magnitude is positive."""
    extremes = np.abs(vectors).argmax(axis=0)
    turned: Float64Array = vectors * np.sign(vectors[extremes, np.arange(vectors.shape[1])])
    return turned


def smoothest(matrix: Float64Array, n: int) -> Float64Array:
    """Return Y_B minimizing trace(Yᵀ A Y) under YᵀY = mI and Yᵀ1 = 0, the relaxed Eq. (1).

    ``matrix`` is a Laplacian, or another matrix A without negative eigenvalues for which A1 = 0.
    """
    m = len(matrix)
    Y: Float64Array = np.sqrt(m) * smallest(matrix, n, np.ones(m)).vectors
    return Y
