"""Locally linear embedding of the base set."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bitfold import _validation
from bitfold._linalg import graph, spectral
from bitfold.embedding.base import Embedding, FloatArray, Given, Limit

RealArray = NDArray[np.float64]


def reconstruction_weights(
    points: RealArray, neighbors: NDArray[np.intp], regularization: float
) -> RealArray:
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
    base: NDArray[np.floating[Any]],
    n_components: int,
    n_neighbors: int,
    regularization: float = 1e-3,
) -> RealArray:
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

    def _embed(self, base: FloatArray, n_components: int, given: Given) -> RealArray:
        owner = type(self).__name__
        n_neighbors = _validation.integer(self.n_neighbors, "n_neighbors", owner, low=1)
        regularization = _validation.positive(self.regularization, "regularization", owner)
        return locally_linear_embedding(base, n_components, n_neighbors, regularization)
