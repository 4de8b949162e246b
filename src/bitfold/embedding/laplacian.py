"""Laplacian eigenmaps of the base set alone: the paper's LE_B."""

from __future__ import annotations

from bitfold import _validation
from bitfold._linalg import graph, spectral
from bitfold._types import AnyArray, Float32Array, Float64Array, FloatingArray
from bitfold.embedding.base import EmbeddingContext, SpectralEmbedding


class LaplacianEigenmaps(SpectralEmbedding):
    """Keep near base points near: Eq. (1) on the base set, without its binary constraint.

    The components are the eigenvectors of L = D - W that vary least along the graph of nearest
    base points, except the constant one, scaled to YᵀY = mI.

    Parameters
    ----------
    n_neighbors
        Number of base points to which each base point is linked; at most all others. Separate
        components are joined by their shortest edges.
    bandwidth
        σ of the weights exp(-d²/σ²); None is the mean distance to the farthest neighbor.

    References
    ----------
    Belkin and Niyogi, *Laplacian eigenmaps and spectral techniques for embedding and clustering*,
    NIPS 2001.

    Examples
    --------
    >>> import numpy as np
    >>> angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    >>> circle = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> Y = LaplacianEigenmaps(n_neighbors=2).embed(circle, 2)
    >>> np.allclose(np.linalg.norm(Y, axis=1), np.sqrt(2))
    True
    """

    def __init__(self, n_neighbors: int = 10, bandwidth: float | None = None) -> None:
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth

    def _embed(self, base: Float32Array, n_components: int, context: EmbeddingContext) -> AnyArray:
        owner = type(self).__name__
        n_neighbors = _validation.check_integer(self.n_neighbors, "n_neighbors", owner, low=1)
        if self.bandwidth is not None:
            _validation.check_positive(self.bandwidth, "bandwidth", owner)
        return laplacian_eigenmaps(base, n_components, n_neighbors, self.bandwidth)


def laplacian_eigenmaps(
    base: FloatingArray, n_components: int, n_neighbors: int, bandwidth: float | None = None
) -> Float64Array:
    """Return the eigenvectors of L = D - W with the smallest eigenvalues, except the constant."""
    W = graph.gaussian_graph(base, n_neighbors, bandwidth)
    return spectral.minimize_trace(graph.laplacian(W), n_components)
