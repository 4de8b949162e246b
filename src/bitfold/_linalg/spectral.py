"""Extreme eigenvectors of symmetric matrices, whitening, and signs.

The matrices have at most a few thousand rows. Dense LAPACK takes seconds for them, always
converges, and gives the same vectors each time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, eigvalsh

from bitfold._types import Float64Array
from bitfold.errors import DataError

_TINY = float(np.finfo(np.float32).tiny)


class Spectrum(NamedTuple):
    """Eigenvalues, and the unit eigenvectors as columns."""

    values: Float64Array
    vectors: Float64Array


def smallest_eigenvectors(
    matrix: Float64Array, n: int, trivial: Float64Array, above: float | None = None
) -> Spectrum:
    """Return the n smallest eigenvalues, ascending, with eigenvectors orthogonal to ``trivial``.

    ``matrix`` has no negative eigenvalues, and ``trivial`` belongs to its eigenvalue 0. Raising
    that eigenvalue above all others excludes it even if several eigenvalues are close to 0.
    With ``above``, eigenvalues up to that number are left out as well; if fewer than n remain,
    this is an error.
    """
    direction = trivial / np.linalg.norm(trivial)
    # The largest row sum of a symmetric matrix bounds its eigenvalues.
    height = 2 * np.abs(matrix).sum(axis=1).max() or 1.0
    raised = matrix + height * np.outer(direction, direction)
    first = 0 if above is None else _count_dropped(raised, n, above)
    values, vectors = eigh(raised, subset_by_index=(first, first + n - 1), overwrite_a=True)
    return Spectrum(values, fix_signs(vectors))


def _count_dropped(raised: Float64Array, n: int, above: float) -> int:
    """Return the number of eigenvalues up to ``above``, if n others remain."""
    values = eigvalsh(raised)[:-1]  # the last one was raised
    n_dropped = int(np.sum(values <= above))
    if n_dropped + n > len(values):
        raise DataError(
            f"Only {len(values) - n_dropped} eigenvectors remain for {n} components, because "
            f"{n_dropped} of {len(values)} have eigenvalues that are too close to that of the "
            f"constant one. Use fewer components, or drop fewer eigenvalues."
        )
    return n_dropped


def largest_eigenvectors(matrix: Float64Array, n: int) -> Spectrum:
    """Return the n largest eigenvalues, descending, with their eigenvectors."""
    m = len(matrix)
    values, vectors = eigh(matrix, subset_by_index=(m - n, m - 1))
    return Spectrum(values[::-1], fix_signs(vectors[:, ::-1]))


def minimize_trace(matrix: Float64Array, n: int, above: float | None = None) -> Float64Array:
    """Return the Y that minimizes trace(Yᵀ A Y) subject to YᵀY = mI and Yᵀ1 = 0, as in Eq. (1).

    ``matrix`` is A: a Laplacian, or another matrix without negative eigenvalues for which A1 = 0.
    With ``above``, eigenvectors with eigenvalues up to that number are left out.
    """
    m = len(matrix)
    Y: Float64Array = np.sqrt(m) * smallest_eigenvectors(matrix, n, np.ones(m), above).vectors
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


def _nonzero_spectrum(A: Float64Array, relative_zero: float) -> Spectrum:
    """Return all eigenvalues but those below ``relative_zero`` times the largest."""
    values, vectors = eigh(A)
    kept = values > relative_zero * values[-1]
    return Spectrum(values[kept], vectors[:, kept])


def whiten_columns(K: Float64Array, relative_zero: float) -> Float64Array:
    """Return W for which Z = K W has ZᵀZ = nI.

    Directions whose eigenvalue is below ``relative_zero`` times the largest are left out, so KᵀK
    need not be invertible.
    """
    values, vectors = _nonzero_spectrum(K.T @ K, relative_zero)
    W: Float64Array = vectors * np.sqrt(len(K) / values)
    return W


def inverse_root(K: Float64Array, relative_zero: float) -> Float64Array:
    """Return K^(-1/2) of a matrix without negative eigenvalues; zero where K is zero.

    Eigenvalues below ``relative_zero`` times the largest count as zero.
    """
    values, vectors = _nonzero_spectrum(K, relative_zero)
    root: Float64Array = (vectors / np.sqrt(values)) @ vectors.T
    return root


def square_root(A: Float64Array, relative_zero: float) -> Float64Array:
    """Return the symmetric A^(1/2) of a matrix without negative eigenvalues, except by rounding.

    Eigenvalues below ``relative_zero`` times the largest count as zero.
    """
    values, vectors = _nonzero_spectrum(A, relative_zero)
    root: Float64Array = (vectors * np.sqrt(values)) @ vectors.T
    return root
