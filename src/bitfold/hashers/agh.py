"""Anchor graph hashing: eigenvectors of a graph whose points are linked by shared anchors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from bitfold import _validation
from bitfold._linalg.graph import sparse_rows
from bitfold._linalg.spectral import smallest_eigenvectors
from bitfold._types import Float32Array, Float64Array, ProgressCallback, Seed
from bitfold.base_set import BaseStrategy
from bitfold.embedding.relaxed_laplacian import gaussian_shares
from bitfold.hashers._published import RELATIVE_ZERO, published_base_set
from bitfold.hashers.base.base_set import BaseSetHasher
from bitfold.hashers.strategies import BASE_STRATEGIES
from bitfold.induction import check_bandwidth_rule, choose_bandwidth
from bitfold.io.rows import Rows
from bitfold.neighbors import NeighborBlocks, Neighbors, index_base_points

N_SAMPLE_ROWS = 16384
"""Rows that the bandwidth is learned from."""

_ZERO = 1e-12
"""Eigenvalues and degrees below this are rounding errors."""


class AnchorGraph(NamedTuple):
    """ZᵀZ and the degrees Λ = diag(Zᵀ1) of Z, the weights of n rows on the anchors."""

    products: Float64Array
    degrees: Float64Array
    n: int


class Thresholds(NamedTuple):
    """Thresholds of the second bit of each eigenvector: b⁺ above zero and b⁻ below."""

    above: Float64Array
    below: Float64Array


def weight_blocks(
    blocks: Iterable[Neighbors], m: int, bandwidth: float
) -> Iterator[sparse.csr_array]:
    """Yield Z block by block: Gaussian weights of the nearest anchors, which sum to one."""
    for block in blocks:
        yield sparse_rows(block.indices, gaussian_shares(block, bandwidth)[0], m)


def anchor_graph(weights: Iterable[sparse.csr_array], m: int) -> AnchorGraph:
    """Sum up Z, in blocks of any length."""
    products, degrees, n = sparse.csr_array((m, m)), np.zeros(m), 0
    for Z in weights:
        products = products + Z.T @ Z
        degrees += Z.sum(axis=0)
        n += Z.shape[0]
    return AnchorGraph(products.toarray(), degrees, n)


def anchor_projection(
    graph: AnchorGraph, n_vectors: int, max_eigenvalue: float | None = None
) -> Float64Array:
    """Return W, for which Y = ZW are the eigenvectors of the graph except the constant one.

    They are scaled to YᵀY = nI. The affinity A = ZΛ⁻¹Zᵀ has the eigenvalues of the small matrix
    M = Λ^-1/2 ZᵀZ Λ^-1/2 and, with M = V Σ Vᵀ, the eigenvectors √n Z Λ^-1/2 V Σ^-1/2. The trivial
    eigenvector of M, of eigenvalue 1, is known and excluded, even if others share its eigenvalue.
    With ``max_eigenvalue``, eigenvectors of M with at least this eigenvalue are excluded as well.
    """
    # An anchor that no training point is near has no influence.
    scale = np.where(graph.degrees > _ZERO, graph.degrees, np.inf) ** -0.5
    M = scale[:, None] * graph.products * scale
    above = None if max_eigenvalue is None else 1 - max_eigenvalue
    values, V = smallest_eigenvectors(np.eye(len(M)) - M, n_vectors, np.sqrt(graph.degrees), above)
    sigma = np.maximum(1 - values, _ZERO)
    W: Float64Array = np.sqrt(graph.n) * scale[:, None] * V / np.sqrt(sigma)
    return W


def second_layer(
    weights: Iterable[sparse.csr_array], graph: AnchorGraph, W: Float64Array
) -> Thresholds:
    """Return the thresholds for which the second bit is balanced and smoothest on the graph.

    In the paper f = y - b⁺ where y > 0, and b⁻ - y elsewhere, minimizes fᵀLf subject to 1ᵀf = 0,
    with L = I - ZΛ⁻¹Zᵀ. With e = 1 where y > 0, L1 = 0, and ρ = |y|ᵀLe / eᵀLe, the solution is
    b⁺ = mean|y| + ρ share(y ≤ 0) and b⁻ = ρ share(y > 0) - mean|y|.
    """
    # Sums of |y| and of e over the points of each anchor, and inner products with e.
    Z_sizes, Z_marks = np.zeros(W.shape), np.zeros(W.shape)
    sizes, sizes_marked, marked = (np.zeros(W.shape[1]) for _ in range(3))
    for Z in weights:
        Y = Z @ W
        size, mark = np.abs(Y), (Y > 0).astype(np.float64)
        Z_sizes += Z.T @ size
        Z_marks += Z.T @ mark
        sizes += size.sum(axis=0)
        sizes_marked += (size * mark).sum(axis=0)
        marked += mark.sum(axis=0)
    inverse = 1 / np.where(graph.degrees > _ZERO, graph.degrees, np.inf)[:, None]
    cross = sizes_marked - (Z_sizes * inverse * Z_marks).sum(axis=0)
    cut = marked - (Z_marks * inverse * Z_marks).sum(axis=0)
    # If the graph is disconnected there, no edge is cut, and any ρ is equally good.
    rho = np.divide(cross, cut, out=np.zeros_like(cut), where=cut > _ZERO * graph.n)
    mean, share = sizes / graph.n, marked / graph.n
    return Thresholds(mean + rho * (1 - share), rho * share - mean)


class AGH(BaseSetHasher):
    """Anchor graph hashing: signs of the smoothest functions on a graph of all training points.

    Points are linked by the anchors (base points) that they share. The eigenvectors of this graph
    are weighted means over the anchors, so they extend to new points.

    Parameters
    ----------
    n_bits
        Length of the codes, at most ``n_layers`` times the number of anchors minus one; None is
        64, or that limit if it is smaller.
    n_layers
        With 1, a bit is the sign of an eigenvector. With 2, each eigenvector gives a second bit,
        which divides its positive and its negative side again. This replaces half of the
        eigenvectors, of which later ones carry less information; on MNIST it is better at all
        lengths. With an odd number of bits, the last eigenvector gives one bit.
    base
        How to choose the anchors: a strategy, or "kmeans", "kmedoids", "random". None is
        ``KMeansBase(300)``.
    n_neighbors
        Number of nearest anchors of a point.
    bandwidth
        σ of their weights exp(-d²/σ²). "kth_distance" is the mean distance to the k-th nearest
        anchor, the choice of the authors of IMH; None learns a smaller one.
    max_eigenvalue
        Eigenvectors whose eigenvalue of the affinity is at least this number, which is below 1,
        are left out: they hardly vary within a part of the data that is nearly separate. None
        leaves out the constant one only, whose eigenvalue is 1.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator.

    Attributes
    ----------
    bit_embedding_
        W of the eigenvectors y = Wᵀz, one row per anchor.
    thresholds_
        b⁺ and b⁻ of the second bit of each eigenvector.
    base_set_, bandwidth_, n_neighbors_
        The anchors, σ, and the number of nearest anchors, as in
        :class:`~bitfold.hashers.base.BaseSetHasher`.

    References
    ----------
    Liu, Wang, Kumar and Chang, *Hashing with graphs*, ICML 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> AGH(n_bits=32, random_state=0).fit(X).encode(X)
    Codes(1797 x 32 bits)
    """

    _fitted_arrays: ClassVar[dict[str, tuple[str, ...]]] = {
        **BaseSetHasher._fitted_arrays,
        "bit_embedding_": ("m", "n_vectors"),
        "thresholds_": ("n_vectors", "sides"),
    }

    thresholds_: Float32Array

    def __init__(
        self,
        n_bits: int | None = None,
        *,
        n_layers: int = 2,
        base: BaseStrategy | str | None = None,
        n_neighbors: int = 2,
        bandwidth: float | str | None = None,
        max_eigenvalue: float | None = None,
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_layers = n_layers
        self.base = base
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.max_eigenvalue = max_eigenvalue
        self.normalize = normalize
        self.random_state = random_state

    @classmethod
    def as_published(
        cls,
        n_bits: int,
        *,
        n_base_points: int = 400,
        n_neighbors: int = 5,
        random_state: Seed = None,
    ) -> Self:
        """Return the method as the authors of IMH ran it in their comparisons, not fitted.

        It has one layer, the anchors and bandwidth of :meth:`bitfold.hashers.IMH.as_published`,
        and no eigenvectors with eigenvalues of 0.999 or more.

        Parameters
        ----------
        n_bits
            Length of the codes.
        n_base_points
            Number of anchors. The paper has 400; 1,000 in classification and for a million rows.
        n_neighbors
            Number of nearest anchors of a point. The paper has 5; 2 for a million rows.
        random_state
            Seed or generator.

        Returns
        -------
        A hasher whose parameters can be changed with ``set_params``.

        Examples
        --------
        >>> AGH.as_published(32, random_state=0).n_layers
        1
        """
        return cls(
            n_bits,
            n_layers=1,
            max_eigenvalue=1 - RELATIVE_ZERO,
            random_state=random_state,
            **published_base_set(n_base_points, n_neighbors),
        )

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner, highest = type(self).__name__, self.max_eigenvalue
        n_layers = _validation.check_integer(self.n_layers, "n_layers", owner, low=1, high=2)
        n_neighbors = _validation.check_integer(self.n_neighbors, "n_neighbors", owner, low=1)
        if self.n_bits is not None:
            _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        bandwidth = check_bandwidth_rule(self.bandwidth, owner)
        if highest is not None:
            highest = _validation.check_fraction(highest, "max_eigenvalue", owner)
        base = _validation.check_strategy(
            self.base, "base", owner, BASE_STRATEGIES, BaseStrategy, n_base_points=300
        )
        base_rng, sample_rng = _validation.spawn_generators(self.random_state, 2)
        points = base.choose(rows, rng=base_rng, on_step=partial(progress, "base set")).points
        nearest = index_base_points(points, n_neighbors, owner)
        neighbors = nearest.find(rows.sample(N_SAMPLE_ROWS, sample_rng))
        sigma = choose_bandwidth(bandwidth, neighbors, len(points))
        limit = n_layers * (len(points) - 1)
        why = f"n_layers * (anchors - 1) = {limit}"
        n_bits = _validation.check_n_bits(self.n_bits, owner, limit, why)
        blocks = NeighborBlocks(rows, nearest)
        graph = anchor_graph(weight_blocks(blocks, len(points), sigma), len(points))
        W = anchor_projection(graph, -(-n_bits // n_layers), highest)
        progress("anchor graph", 1, 1)
        thresholds = np.zeros((W.shape[1], 2), np.float32)
        if n_layers == 2:
            cuts = second_layer(weight_blocks(blocks, len(points), sigma), graph, W)
            thresholds = np.stack(cuts, axis=1).astype(np.float32)
            progress("second layer", 1, 1)
        return {
            "n_bits_": n_bits,
            "base_set_": nearest.points,
            "bit_embedding_": np.ascontiguousarray(W, np.float32),
            "thresholds_": thresholds,
            "bandwidth_": sigma,
            "n_neighbors_": nearest.k,
        }

    def _embed_block(self, values: Float32Array) -> Float32Array:
        first = super()._embed_block(values)
        n_second = self.n_bits_ - first.shape[1]
        if n_second == 0:
            return first
        above, below = self.thresholds_[:n_second].T
        Y = first[:, :n_second]
        return np.concatenate([first, np.where(Y > 0, Y - above, below - Y)], axis=1)

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        owner = type(self).__name__
        n_vectors, n_sides = self.thresholds_.shape
        if n_sides != 2:
            _validation.raise_invalid("thresholds_", owner, "two per eigenvector", n_sides)
        if not n_vectors <= self.n_bits_ <= 2 * n_vectors:
            _validation.raise_invalid("n_bits_", owner, "one or two per eigenvector", self.n_bits_)
