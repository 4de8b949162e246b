"""Laplacian eigenmaps that also consider the training data: the paper's IMH-LE."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy import sparse

from bitfold import _validation
from bitfold._linalg import graph, spectral
from bitfold._types import AnyArray, Float32Array, Float64Array, FloatingArray
from bitfold.embedding.base import EmbeddingContext, SpectralEmbedding
from bitfold.errors import DataError
from bitfold.neighbors import NeighborBlocks, Neighbors, mean_kth_distance

N_BANDWIDTH_ROWS = 10_000
"""Training rows that determine the bandwidth of W_XB."""


class RelaxedLaplacian(SpectralEmbedding):
    """Keep base points near each other and near the training points around them.

    Minimizes trace(Yᵀ(M + λT)Y) subject to YᵀY = mI (Sec. III-E). M = D_B - W_B measures smoothness
    within the base set, T = D_BX - W̄_XBᵀ W_XB smoothness between the base set and the training
    data, where each training point is the weighted mean of its nearest base points.

    Parameters
    ----------
    n_neighbors
        Number of base points to which each base point is linked in W_B; at most all others.
        Eq. (1) sums over all pairs, which is why the default is large.
    smoothness
        λ, the weight of the training data relative to the base set.
    bandwidth
        σ of W_B; None is the mean distance to the farthest neighbor.
    min_eigenvalue
        Eigenvectors with eigenvalues of M + λT up to this number are left out: they hardly vary
        within a part of the data that is nearly separate. None leaves out the constant one only.

    References
    ----------
    Shen et al., *Hashing on Nonlinear Manifolds*, TIP 2015, Sec. III-E.

    Examples
    --------
    It needs training data, and is used through IMH:

    >>> import numpy as np
    >>> from bitfold import IMH, KMeansBase
    >>> X = np.random.default_rng(0).random((200, 3))
    >>> hasher = IMH(8, base=KMeansBase(20), embedding=RelaxedLaplacian(), random_state=0)
    >>> hasher.fit(X).encode(X)
    Codes(200 x 8 bits)
    """

    def __init__(
        self,
        n_neighbors: int = 200,
        smoothness: float = 2.0,
        bandwidth: float | None = None,
        min_eigenvalue: float | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothness = smoothness
        self.bandwidth = bandwidth
        self.min_eigenvalue = min_eigenvalue

    def _embed(self, base: Float32Array, n_components: int, context: EmbeddingContext) -> AnyArray:
        owner = type(self).__name__
        n_neighbors = _validation.check_integer(self.n_neighbors, "n_neighbors", owner, low=1)
        smoothness = _validation.check_positive(self.smoothness, "smoothness", owner)
        if self.bandwidth is not None:
            _validation.check_positive(self.bandwidth, "bandwidth", owner)
        if self.min_eigenvalue is not None:
            _validation.check_positive(self.min_eigenvalue, "min_eigenvalue", owner)
        if context.neighbors is None:
            raise DataError(f"{owner} needs training data; pass neighbors to embed.")
        return relaxed_laplacian(
            base,
            n_components,
            context.neighbors,
            n_neighbors,
            smoothness,
            self.bandwidth,
            self.min_eigenvalue,
        )


def relaxed_laplacian(
    base: FloatingArray,
    n_components: int,
    neighbors: NeighborBlocks,
    n_neighbors: int,
    smoothness: float = 2.0,
    bandwidth: float | None = None,
    min_eigenvalue: float | None = None,
) -> Float64Array:
    """Return the smallest eigenvectors of M + λT, except the constant one.

    σ of W_XB differs from the bandwidth of induction, where the distance to the nearest base
    point cancels. Here that bandwidth would leave all but the closest training points without
    weight.
    """
    M = graph.laplacian(graph.gaussian_graph(base, n_neighbors, bandwidth))
    sigma = mean_kth_distance(neighbors.sample(N_BANDWIDTH_ROWS))
    T = data_laplacian(neighbors, len(base), sigma)
    return spectral.minimize_trace(M + smoothness * T, n_components, min_eigenvalue)


def data_laplacian(blocks: Iterable[Neighbors], m: int, bandwidth: float) -> Float64Array:
    """Return T = D_BX - W̄_XBᵀ W_XB of Sec. III-E, (m, m), block by block.

    With s_i the sum of row i of W_XB, and p_i row i of W̄_XB, which sums to one,
    T = Σ_i s_i (diag(p_i) - p_i p_iᵀ): W_XB is never held as a whole.
    """
    degrees = np.zeros(m)
    products = sparse.csr_array((m, m))
    for block in blocks:
        shares, sums = gaussian_shares(block, bandwidth)
        W_bar = graph.sparse_rows(block.indices, shares, m)
        W = graph.sparse_rows(block.indices, shares * sums, m)
        degrees += W.sum(axis=0)
        products = products + W_bar.T @ W
    T: Float64Array = np.diag(degrees) - products.toarray()
    return (T + T.T) / 2


def gaussian_shares(block: Neighbors, bandwidth: float) -> tuple[Float64Array, Float64Array]:
    """Return the rows of W̄_XB and, as a column, the row sums of W_XB.

    Subtracting the smallest exponent of a row does not change W̄ and avoids 0/0. The sums get the
    factor back, because in W it would give far points the weight of near ones. A point so far
    away that its sum underflows has no influence on T.
    """
    exponents = np.asarray(block.sq_distances, np.float64) / bandwidth / bandwidth
    closest = exponents.min(axis=1, keepdims=True)
    weights = np.exp(closest - exponents)
    sums = weights.sum(axis=1, keepdims=True)
    return weights / sums, sums * np.exp(-closest)
