"""Isomap of the base set: distances along the manifold, then classical scaling."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import shortest_path
from sklearn.preprocessing import KernelCenterer

from bitfold import _validation
from bitfold._linalg import graph, spectral
from bitfold._types import AnyArray, Float32Array, Float64Array, FloatingArray
from bitfold.embedding.base import EmbeddingContext, SpectralEmbedding

RELATIVE_ZERO = 1e-10
"""Eigenvalues below this fraction of the largest are treated as zero."""


class Isomap(SpectralEmbedding):
    """Unroll the base set: distances along the neighbor graph become Euclidean distances.

    Distances along a graph are rarely Euclidean, so fewer than m - 1 dimensions may exist;
    asking for more is an error that names their number.

    Parameters
    ----------
    n_neighbors
        Number of base points to which each base point is linked; at most all others. Separate
        components are joined by their shortest edges.

    References
    ----------
    Tenenbaum, de Silva and Langford, *A global geometric framework for nonlinear dimensionality
    reduction*, Science 2000.

    Examples
    --------
    >>> Isomap(n_neighbors=2).embed([[0.0], [1.0], [2.0], [4.0]], 1).shape
    (4, 1)
    """

    def __init__(self, n_neighbors: int = 5) -> None:
        self.n_neighbors = n_neighbors

    def _embed(self, base: Float32Array, n_components: int, context: EmbeddingContext) -> AnyArray:
        n_neighbors = _validation.check_integer(self.n_neighbors, "n_neighbors", "Isomap", low=1)
        return isomap(base, n_components, n_neighbors)


def isomap(base: FloatingArray, n_components: int, n_neighbors: int) -> Float64Array:
    """Embed base points so that Euclidean distances equal those along the graph."""
    values, vectors = spectral.largest_eigenvectors(
        geodesic_products(base, n_neighbors), n_components
    )
    n_positive = int((values > max(RELATIVE_ZERO * values[0], 0)).sum())
    why = f"the {n_positive} dimensions of its graph"
    _validation.check_integer(n_components, "n_bits", "Isomap", low=1, high=n_positive, why=why)
    return vectors * np.sqrt(values)


def geodesic_products(base: FloatingArray, n_neighbors: int) -> Float64Array:
    """Return the centered inner products that belong to the distances along the graph."""
    geodesics = shortest_path(graph.distance_graph(base, n_neighbors), directed=False)
    products: Float64Array = KernelCenterer().fit_transform(-0.5 * np.square(geodesics))
    return (products + products.T) / 2
