"""Self-taught hashing: a linear classifier per bit predicts codes from Laplacian eigenmaps."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from bitfold import _validation
from bitfold._linalg.graph import cosine_graph, gaussian_graph
from bitfold._linalg.linear_svm import fit_linear_svms
from bitfold._linalg.spectral import fix_signs, smallest_eigenvectors
from bitfold._types import BoolArray, Float32Array, Float64Array, ProgressCallback, Seed
from bitfold.errors import DataError
from bitfold.hashers.base.linear import LinearHasher
from bitfold.io.rows import Rows

AFFINITIES = ("cosine", "gaussian")
"""The weights that links between neighbors can have; the first is the default."""

_MAX_DENSE_ROWS = 1000
"""Number of rows up to which the dense eigensolver is faster than the sparse one."""


def neighbor_graph(
    sample: Float64Array, center: Float32Array, n_neighbors: int, affinity: str
) -> sparse.csr_array:
    """Return the weights between neighbors.

    Parameters
    ----------
    sample
        Rows relative to a center.
    center
        The center; cosines are those of the rows as they were before it was subtracted.
    n_neighbors
        Number of neighbors of each row.
    affinity
        One of ``AFFINITIES``.

    Returns
    -------
    A symmetric matrix of weights.
    """
    if affinity == "cosine":
        return cosine_graph(sample + center, n_neighbors)
    return gaussian_graph(sample, n_neighbors)


def laplacian_eigenvectors(weights: sparse.csr_array, n: int) -> Float64Array:
    """Return the n smallest nontrivial solutions of L y = λ D y as columns.

    They are y = D^-1/2 v for the largest eigenvectors v of D^-1/2 W D^-1/2.

    Parameters
    ----------
    weights
        Symmetric weights W of the graph.
    n
        Number of eigenvectors.

    Returns
    -------
    One row per point of the graph, one column per eigenvector.
    """
    roots = np.sqrt(np.asarray(weights.sum(axis=1)).ravel())
    inverse = sparse.diags_array(1 / roots)
    N = (inverse @ weights @ inverse).tocsr()
    if len(roots) <= _MAX_DENSE_ROWS or 4 * n > len(roots):
        vectors = smallest_eigenvectors(np.eye(len(roots)) - N.toarray(), n, roots).vectors
    else:
        vectors = _largest_of_sparse(N, n, roots / np.linalg.norm(roots))
    Y: Float64Array = vectors / roots[:, None]
    return Y


def _largest_of_sparse(N: sparse.csr_array, n: int, trivial: Float64Array) -> Float64Array:
    """Return the n largest eigenvectors of a matrix of norm 1, without the trivial one."""

    def multiply(v: Float64Array) -> Float64Array:
        # Shifts the trivial eigenvalue from 1 to -1, below all others.
        product: Float64Array = N @ v - 2 * (trivial @ v) * trivial
        return product

    shifted = LinearOperator(N.shape, multiply, dtype=np.float64)
    start = np.cos(np.arange(len(trivial)))
    _, vectors = eigsh(shifted, n, v0=start, which="LA")
    return fix_signs(vectors[:, ::-1])


def median_bits(Y: Float64Array) -> BoolArray:
    """Threshold each column at its median, so that half of its bits are ones."""
    return np.median(Y, axis=0) < Y


class STH(LinearHasher):
    """Self-taught hashing: learn the codes of a sample first, then how to predict them.

    The codes of a random sample are eigenvectors of the normalized Laplacian of its neighbor
    graph, thresholded at their medians. A linear support vector machine per bit then learns to
    predict that bit for any vector.

    Parameters
    ----------
    n_bits
        Length of the codes, less than the number of sampled rows. None uses 64, or the maximum
        if that is smaller.
    n_samples
        Number of random rows to learn from; all rows if there are fewer.
    n_neighbors
        Number of nearest rows of the sample that each of its rows is linked to.
    affinity
        Weight of a link. ``"cosine"``: the cosine of the two rows as they are, as in the original;
        neighbors are nearest by cosine. ``"gaussian"``: exp(-d²/σ²), where σ is the mean distance
        to the farthest neighbor.
    C
        Penalty of the support vector machines for rows on the wrong side of their margin. Rows
        are first scaled to a root mean squared length of 1.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator of the sample.

    Attributes
    ----------
    directions_
        Normals of the hyperplanes, one per bit.
    thresholds_
        Offset of each hyperplane along its normal.

    Notes
    -----
    Each eigenvector oscillates faster than the one before, so that a hyperplane predicts it less
    well. On MNIST the machines reproduce nine of ten bits of the sample with codes of 16 bits,
    and four of five with 64 bits; a larger C or a wider graph changes little. The method works
    best with short codes.

    References
    ----------
    Zhang, Wang, Cai and Lu, *Self-taught hashing for fast similarity search*, SIGIR 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.hashers import STH
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
        affinity: str = "cosine",
        C: float = 10.0,
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_samples = n_samples
        self.n_neighbors = n_neighbors
        self.affinity = affinity
        self.C = C
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner = rows.owner
        n_samples = _validation.check_integer(self.n_samples, "n_samples", owner, low=2)
        n_neighbors = _validation.check_integer(self.n_neighbors, "n_neighbors", owner, low=1)
        affinity = _validation.check_choice(self.affinity, "affinity", owner, AFFINITIES)
        C = _validation.check_positive(self.C, "C", owner)
        rng = _validation.make_generator(self.random_state)
        limit = min(n_samples, len(rows)) - 1
        why = f"the number of sampled rows - 1 = {limit}"
        n_bits = _validation.check_n_bits(self.n_bits, owner, limit, why)
        sample = rows.sample(n_samples, rng).astype(np.float64)
        length = float(np.sqrt(np.square(sample).sum(axis=1).mean()))
        if length == 0:
            raise DataError(f"All rows of X are equal; {owner} needs at least 2 different ones.")
        weights = neighbor_graph(sample, rows.center, n_neighbors, affinity)
        progress("graph", 1, 1)
        bits = median_bits(laplacian_eigenvectors(weights, n_bits))
        progress("eigenvectors", 1, 1)
        directions, thresholds = np.empty((n_bits, rows.n_features)), np.empty(n_bits)
        for bit, weights in enumerate(fit_linear_svms(sample / length, bits, C)):
            directions[bit], thresholds[bit] = weights[:-1] / length, -weights[-1]
            progress("classifiers", bit + 1, n_bits)
        return self._fitted_hyperplanes(directions, thresholds)
