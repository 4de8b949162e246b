"""Self-taught hashing: a sample's codes by Laplacian eigenmaps, a linear machine for each bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from bitfold import _validation
from bitfold._kernels.machines import planes
from bitfold._linalg.graph import gaussian_graph
from bitfold._linalg.principal import DEFAULT_BITS
from bitfold._linalg.spectral import smallest, with_fixed_signs
from bitfold._threads import serial_blas
from bitfold._types import BoolArray, Float64Array, ProgressCallback, Seed
from bitfold.hashers.base.linear import LinearHasher
from bitfold.io.rows import Rows

_DENSE = 1000
"""Points up to which all of the graph's matrix is quicker than its edges."""


def laplacian_eigenvectors(weights: sparse.csr_array, n: int) -> Float64Array:
    """Return the n smallest solutions of L y = λ D y but the constant one, as columns.

    They are y = D^-1/2 v of the largest eigenvectors v of D^-1/2 W D^-1/2.
    """
    roots = np.sqrt(np.asarray(weights.sum(axis=1)).ravel())
    inverse = sparse.diags_array(1 / roots)
    N = (inverse @ weights @ inverse).tocsr()
    if len(roots) <= _DENSE or 4 * n > len(roots):
        vectors = smallest(np.eye(len(roots)) - N.toarray(), n, roots).vectors
    else:
        vectors = _by_edges(N, n, roots / np.linalg.norm(roots))
    Y: Float64Array = vectors / roots[:, None]
    return Y


def _by_edges(N: sparse.csr_array, n: int, trivial: Float64Array) -> Float64Array:
    """Return the n largest eigenvectors of a sparse matrix of norm 1, but for the trivial one."""

    def times(v: Float64Array) -> Float64Array:
        # The trivial eigenvalue, 1, goes below all others.
        lowered: Float64Array = N @ v - 2 * (trivial @ v) * trivial
        return lowered

    lowered_N = LinearOperator(N.shape, times, dtype=np.float64)
    start = np.cos(np.arange(len(trivial)))
    # Not on all cores: the sums would be rounded in another order, and the loops are short.
    with serial_blas():
        _, vectors = eigsh(lowered_N, n, v0=start, which="LA")
    return with_fixed_signs(vectors[:, ::-1])


def median_bits(Y: Float64Array) -> BoolArray:
    """Cut each column at its median, which gives as many ones as zeros."""
    bits: BoolArray = np.median(Y, axis=0) < Y
    return bits


class STH(LinearHasher):
    """Self-taught hashing: learn a sample's best codes first, and then to predict them.

    A random sample gets the smoothest balanced codes on the graph of its nearest neighbors:
    eigenvectors of the normalized Laplacian, cut at their medians. A linear support vector machine
    for each bit learns to give it to any point.

    Parameters
    ----------
    n_bits
        Length of the codes, at most the number of sampled rows less one; None is 64, or as many as
        there are.
    n_samples
        Rows to learn from, or all if there are no more.
    n_neighbors
        Nearest rows of the sample to which each of its rows is linked, with the weight
        exp(-d²/σ²), σ being the mean distance to the farthest of them.
    C
        What a machine pays for bits it gets wrong against a wide margin, with rows at a root mean
        squared length of 1.
    random_state
        Seed or generator.

    Notes
    -----
    The later an eigenvector, the faster it turns, and the less a plane can follow it. Of the bits
    of MNIST's sample the machines give back nine in ten with codes of 16 bits, four in five with
    64 (``make paper``); neither a larger C nor a wider graph changes that much. Short codes suit
    this method best.

    References
    ----------
    Zhang, Wang, Cai and Lu, *Self-taught hashing for fast similarity search*, SIGIR 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> STH(n_bits=32, n_samples=500, random_state=0).fit(X).encode(X)
    Codes(1797 x 32 bits)
    """

    def __init__(
        self,
        n_bits: int | None = None,
        *,
        n_samples: int = 5000,
        n_neighbors: int = 25,
        C: float = 10.0,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_samples = n_samples
        self.n_neighbors = n_neighbors
        self.C = C
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_samples = _validation.check_integer(self.n_samples, "n_samples", rows.owner, low=2)
        n_neighbors = _validation.check_integer(self.n_neighbors, "n_neighbors", rows.owner, low=1)
        C = _validation.check_positive(self.C, "C", rows.owner)
        n_bits = self._length(min(n_samples, len(rows)) - 1)
        sample = rows.sample(n_samples, _validation.make_generator(self.random_state)).astype(
            np.float64
        )
        length = float(np.sqrt(np.square(sample).sum(axis=1).mean()))
        if length == 0:
            _validation.raise_invalid("X", rows.owner, "at least 2 rows that differ", "equal ones")
        weights = gaussian_graph(sample, n_neighbors)
        progress("graph", 1, 1)
        bits = median_bits(laplacian_eigenvectors(weights, n_bits))
        progress("eigenvectors", 1, 1)
        return self._fitted_hyperplanes(*_machines(sample / length, bits, C, length, progress))

    def _length(self, most: int) -> int:
        n_bits = min(DEFAULT_BITS, most) if self.n_bits is None else self.n_bits
        why = f"sampled rows - 1 = {most}"
        return _validation.check_integer(
            n_bits, "n_bits", type(self).__name__, low=1, high=most, why=why
        )


def _machines(
    sample: Float64Array, bits: BoolArray, C: float, length: float, progress: ProgressCallback
) -> tuple[Float64Array, Float64Array]:
    """Return all bits' planes: directions as rows, for samples ``length`` times as long."""
    n_bits = bits.shape[1]
    directions, thresholds = np.empty((n_bits, sample.shape[1])), np.empty(n_bits)
    for bit, plane in enumerate(planes(sample, bits, C)):
        directions[bit] = plane[:-1] / length
        thresholds[bit] = -plane[-1]
        progress("machines", bit + 1, n_bits)
    return directions, thresholds
