"""Isomap of the base set: distances along the manifold, then classical scaling."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import shortest_path
from sklearn.preprocessing import KernelCenterer

from bitfold import _validation
from bitfold._linalg import graph, spectral
from bitfold._types import Float32Array, Float64Array, FloatingArray
from bitfold.embedding.base import Embedding, Given, Limit

ROUNDING = 1e-10
"""Eigenvalues below this part of the largest are rounding, not dimensions."""


def scalar_products(base: FloatingArray, n_neighbors: int) -> Float64Array:
    """Return the centered scalar products that belong to the distances along the graph."""
    geodesics = shortest_path(graph.neighbor_graph(base, n_neighbors), directed=False)
    products: Float64Array = KernelCenterer().fit_transform(-0.5 * np.square(geodesics))
    return (products + products.T) / 2


def isomap(base: FloatingArray, n_components: int, n_neighbors: int) -> Float64Array:
    """Place the base points so that straight distances are those along the graph."""
    values, vectors = spectral.largest(scalar_products(base, n_neighbors), n_components)
    real = int((values > max(ROUNDING * values[0], 0)).sum())
    why = f"the {real} real dimensions of its graph"
    _validation.check_integer(n_components, "n_bits", "Isomap", low=1, high=real, why=why)
    return vectors * np.sqrt(values)


class Isomap(Embedding):
    """Unroll the base set: distances along the neighbor graph become straight ones.

    Distances along a graph are seldom Euclidean, so that only some of the m - 1 dimensions are
    real; asking for more is an error that names their number.

    Parameters
    ----------
    n_neighbors
        Base points to which each base point is linked; at most all others. Components that stay
        apart are joined by their shortest edges.

    References
    ----------
    Tenenbaum, de Silva and Langford, A global geometric framework for nonlinear dimensionality
    reduction, Science 2000.
    """

    def __init__(self, n_neighbors: int = 5) -> None:
        self.n_neighbors = n_neighbors

    def limit(self, m: int, n_features: int) -> Limit:
        """All eigenvectors but the constant one."""
        return Limit(m - 1, f"m - 1 = {m - 1}")

    def _embed(self, base: Float32Array, n_components: int, given: Given) -> Float64Array:
        n_neighbors = _validation.check_integer(self.n_neighbors, "n_neighbors", "Isomap", low=1)
        return isomap(base, n_components, n_neighbors)
