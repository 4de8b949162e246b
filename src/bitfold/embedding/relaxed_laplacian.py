"""Laplacian eigenmaps that also heed the training data: the paper's IMH-LE."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy import sparse

from bitfold import _validation
from bitfold._linalg import graph, spectral
from bitfold._types import Float32Array, Float64Array, FloatingArray
from bitfold.embedding.base import DataGraph, Embedding, Given, Limit, Neighbors


def data_laplacian(blocks: Iterable[Neighbors], m: int, bandwidth: float) -> Float64Array:
    """Return T = D_BX - W̄_XBᵀ W_XB of Sec. 3.5, m × m, without ever holding W_XB.

    With s_i the sum of row i of W_XB and p_i that row of W̄_XB, which sums to one,
    T = Σ_i s_i (diag(p_i) - p_i p_iᵀ): training points may come in any blocks.
    """
    degrees = np.zeros(m)
    products = sparse.csr_array((m, m))
    for block in blocks:
        shares, sums = row_weights(block, bandwidth)
        W_bar = graph.sparse_rows(block.indices, shares, m)
        W = graph.sparse_rows(block.indices, shares * sums, m)
        degrees += W.sum(axis=0)
        products = products + W_bar.T @ W
    T: Float64Array = np.diag(degrees) - products.toarray()
    return (T + T.T) / 2


def row_weights(block: Neighbors, bandwidth: float) -> tuple[Float64Array, Float64Array]:
    """Return the rows of W̄_XB and, as a column, the row sums of W_XB.

    Subtracting a row's smallest exponent leaves W̄ as it is and keeps it from 0/0; in W it would
    raise far points to the rank of near ones, so the sums get the factor back. A point so far
    away that its sum underflows rightly has no say in T.
    """
    exponents = np.asarray(block.sq_distances, np.float64) / bandwidth / bandwidth
    closest = exponents.min(axis=1, keepdims=True)
    weights = np.exp(closest - exponents)
    sums = weights.sum(axis=1, keepdims=True)
    return weights / sums, sums * np.exp(-closest)


def relaxed_laplacian(
    base: FloatingArray,
    n_components: int,
    data: DataGraph,
    n_neighbors: int,
    smoothness: float = 2.0,
    bandwidth: float | None = None,
) -> Float64Array:
    """Return the eigenvectors of M + λT with the smallest eigenvalues but the trivial one."""
    M = graph.laplacian(graph.gaussian_graph(base, n_neighbors, bandwidth))
    T = data_laplacian(data.blocks(), len(base), data.bandwidth)
    return spectral.smoothest(M + smoothness * T, n_components)


class RelaxedLaplacian(Embedding):
    """Keep base points near to each other and to the training points around them.

    Minimizes trace(Yᵀ(M + λT)Y) under YᵀY = mI (Sec. 3.5): M = D_B - W_B asks for smoothness
    within the base set, T = D_BX - W̄_XBᵀ W_XB for smoothness between the base set and the
    training data, each training point lying at the weighted mean of its nearest base points.

    Parameters
    ----------
    n_neighbors
        Base points to which each base point is linked in W_B; at most all others. Eq. (1) sums
        over all pairs, so that many suit it better than few.
    smoothness
        λ, the weight of the training data against the base set.
    bandwidth
        σ of W_B; ``None`` is the mean distance to the farthest neighbor.

    References
    ----------
    Shen et al., Hashing on Nonlinear Manifolds, TIP 2015, Sec. 3.5.
    """

    def __init__(
        self, n_neighbors: int = 200, smoothness: float = 2.0, bandwidth: float | None = None
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothness = smoothness
        self.bandwidth = bandwidth

    def limit(self, m: int, n_features: int) -> Limit:
        """All eigenvectors but the constant one."""
        return Limit(m - 1, f"m - 1 = {m - 1}")

    def _embed(self, base: Float32Array, n_components: int, given: Given) -> Float64Array:
        owner = type(self).__name__
        n_neighbors = _validation.check_integer(self.n_neighbors, "n_neighbors", owner, low=1)
        smoothness = _validation.check_positive(self.smoothness, "smoothness", owner)
        if self.bandwidth is not None:
            _validation.check_positive(self.bandwidth, "bandwidth", owner)
        if given.data is None:
            _validation.raise_invalid(
                "data", owner, "the training data's nearest base points", "None"
            )
        _validation.check_positive(given.data.bandwidth, "data.bandwidth", owner)
        return relaxed_laplacian(
            base, n_components, given.data, n_neighbors, smoothness, self.bandwidth
        )
