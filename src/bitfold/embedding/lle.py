"""Locally linear embedding of the base set."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from bitfold import _validation
from bitfold._linalg import graph, spectral
from bitfold._types import AnyArray, Float32Array, Float64Array, FloatingArray, IntpArray
from bitfold.embedding.base import EmbeddingContext, SpectralEmbedding


class LLE(SpectralEmbedding):
    """Reconstruct each base point from its neighbors, with the weights of the input space.

    The weights are those of scikit-learn's standard LLE. The constant vector is removed before
    the eigenvectors are computed, so that a graph of several components can be embedded as well.

    Parameters
    ----------
    n_neighbors
        Number of neighbors that reconstruct a base point; at most all others.
    regularization
        Added to the diagonal of each local Gram matrix, relative to its trace.

    References
    ----------
    Roweis and Saul, *Nonlinear dimensionality reduction by locally linear embedding*, Science 2000.

    Examples
    --------
    >>> LLE(n_neighbors=2).embed([[0.0], [1.0], [2.0], [4.0]], 1).shape
    (4, 1)
    """

    def __init__(self, n_neighbors: int = 20, regularization: float = 1e-3) -> None:
        self.n_neighbors = n_neighbors
        self.regularization = regularization

    def _embed(self, base: Float32Array, n_components: int, context: EmbeddingContext) -> AnyArray:
        owner = type(self).__name__
        n_neighbors = _validation.check_integer(self.n_neighbors, "n_neighbors", owner, low=1)
        regularization = _validation.check_positive(self.regularization, "regularization", owner)
        return locally_linear_embedding(base, n_components, n_neighbors, regularization)


def locally_linear_embedding(
    base: FloatingArray, n_components: int, n_neighbors: int, regularization: float = 1e-3
) -> Float64Array:
    """Return the smallest eigenvectors of (I - W)ᵀ(I - W), except the constant one."""
    neighbors = graph.find_neighbors(base, n_neighbors).indices
    weights = reconstruction_weights(graph.center_points(base), neighbors, regularization)
    W = graph.sparse_rows(neighbors, weights, len(neighbors))
    residual = sparse.eye_array(len(neighbors), format="csr") - W
    return spectral.minimize_trace((residual.T @ residual).toarray(), n_components)


def reconstruction_weights(
    points: Float64Array, neighbors: IntpArray, regularization: float
) -> Float64Array:
    """Return the weights, summing to one, that best reconstruct each point from its neighbors."""
    weights = np.empty(neighbors.shape)
    for i, near in enumerate(neighbors):
        offsets = points[near] - points[i]
        gram = offsets @ offsets.T
        # With more neighbors than dimensions the weights are not unique; prefer even ones.
        gram.flat[:: len(near) + 1] += regularization * (np.trace(gram) or 1.0)
        weights[i] = np.linalg.solve(gram, np.ones(len(near)))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights
