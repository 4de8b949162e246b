"""Locally linear embedding of the base set."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from bitfold import _validation
from bitfold._linalg import graph, spectral
from bitfold._types import Float32Array, Float64Array, FloatingArray, IntpArray
from bitfold.embedding.base import Embedding, Given, Limit


def reconstruction_weights(
    points: Float64Array, neighbors: IntpArray, regularization: float
) -> Float64Array:
    """Return for each point the weights, summing to one, that best rebuild it from neighbors."""
    weights = np.empty(neighbors.shape)
    for i, near in enumerate(neighbors):
        offsets = points[near] - points[i]
        gram = offsets @ offsets.T
        # With more neighbors than dimensions many weights rebuild the point; take the evenest.
        gram.flat[:: len(near) + 1] += regularization * (np.trace(gram) or 1.0)
        weights[i] = np.linalg.solve(gram, np.ones(len(near)))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def locally_linear_embedding(
    base: FloatingArray,
    n_components: int,
    n_neighbors: int,
    regularization: float = 1e-3,
) -> Float64Array:
    """Return the eigenvectors of (I - W)ᵀ(I - W) with the smallest eigenvalues but the trivial."""
    near = graph.nearest(base, n_neighbors).indices
    weights = reconstruction_weights(graph.centered(base), near, regularization)
    W = graph.sparse_rows(near, weights, len(near))
    residual = sparse.eye_array(len(near), format="csr") - W
    return spectral.smoothest((residual.T @ residual).toarray(), n_components)


class LLE(Embedding):
    """Rebuild each base point from its neighbors by the same weights as in the input space.

    The weights are scikit-learn's standard LLE's. The constant vector is taken out before the
    eigenvectors are sought, so that a neighbor graph in several parts embeds as well.

    Parameters
    ----------
    n_neighbors
        Neighbors that rebuild each base point; at most all others.
    regularization
        What is added to the diagonal of each local Gram matrix, relative to its trace.

    References
    ----------
    Roweis and Saul, Nonlinear dimensionality reduction by locally linear embedding, Science 2000.
    """

    def __init__(self, n_neighbors: int = 20, regularization: float = 1e-3) -> None:
        self.n_neighbors = n_neighbors
        self.regularization = regularization

    def limit(self, m: int, n_features: int) -> Limit:
        """All eigenvectors but the constant one."""
        return Limit(m - 1, f"m - 1 = {m - 1}")

    def _embed(self, base: Float32Array, n_components: int, given: Given) -> Float64Array:
        owner = type(self).__name__
        n_neighbors = _validation.check_integer(self.n_neighbors, "n_neighbors", owner, low=1)
        regularization = _validation.check_positive(self.regularization, "regularization", owner)
        return locally_linear_embedding(base, n_components, n_neighbors, regularization)
