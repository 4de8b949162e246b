"""Anchor graph hashing: eigenvectors of a graph in which points are tied by shared anchors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from bitfold import _validation
from bitfold._linalg.graph import sparse_rows
from bitfold._linalg.principal import DEFAULT_BITS
from bitfold._linalg.spectral import smallest
from bitfold._types import Float32Array, Float64Array, ProgressCallback, Seed
from bitfold.base_set import BaseStrategy, KMeansBase
from bitfold.embedding import Neighbors
from bitfold.embedding.relaxed_laplacian import row_weights
from bitfold.hashers.base.base_set import BaseSetHasher, DataGraph
from bitfold.hashers.strategies import base_strategy
from bitfold.io.rows import Rows

SAMPLE = 16384
"""Rows that the bandwidth is learned from."""

_ROUNDING = 1e-12
"""Eigenvalues and degrees below this are zero but for rounding."""


class AnchorGraph(NamedTuple):
    """What is kept of Z, the data's weights on the anchors: ZᵀZ and Λ = diag(Zᵀ1)."""

    products: Float64Array
    degrees: Float64Array
    n: int


class Thresholds(NamedTuple):
    """Where the second layer cuts each eigenvector: b⁺ above zero and b⁻ below."""

    above: Float64Array
    below: Float64Array


def weight_blocks(
    blocks: Iterable[Neighbors], m: int, bandwidth: float
) -> Iterator[sparse.csr_array]:
    """Yield the rows of Z, block by block: Gaussian weights of the nearest anchors, sum one."""
    for block in blocks:
        yield sparse_rows(block.indices, row_weights(block, bandwidth)[0], m)


def anchor_graph(weights: Iterable[sparse.csr_array], m: int) -> AnchorGraph:
    """Sum up Z, which may come in any blocks."""
    products, degrees, n = sparse.csr_array((m, m)), np.zeros(m), 0
    for Z in weights:
        products = products + Z.T @ Z
        degrees += Z.sum(axis=0)
        n += Z.shape[0]
    return AnchorGraph(products.toarray(), degrees, n)


def anchor_projection(graph: AnchorGraph, n_vectors: int) -> Float64Array:
    """Return W, for which Y = ZW are the graph's eigenvectors but the constant, of YᵀY = nI.

    The affinity A = ZΛ⁻¹Zᵀ has the eigenvalues of the small M = Λ^-1/2 ZᵀZ Λ^-1/2, and with
    M = V Σ Vᵀ the eigenvectors √n Z Λ^-1/2 V Σ^-1/2. M's trivial eigenvector, of eigenvalue 1, is
    known, and taken out however many others share that eigenvalue.
    """
    # An anchor that carries no training point has no say.
    scale = np.where(graph.degrees > _ROUNDING, graph.degrees, np.inf) ** -0.5
    M = scale[:, None] * graph.products * scale
    values, V = smallest(np.eye(len(M)) - M, n_vectors, np.sqrt(graph.degrees))
    sigma = np.maximum(1 - values, _ROUNDING)
    W: Float64Array = np.sqrt(graph.n) * scale[:, None] * V / np.sqrt(sigma)
    return W


def second_layer(
    weights: Iterable[sparse.csr_array], graph: AnchorGraph, W: Float64Array
) -> Thresholds:
    """Return the thresholds for which the second bit is smoothest on the graph, and balanced.

    The paper's f = y - b⁺ where y > 0, b⁻ - y elsewhere, is to minimize fᵀLf under 1ᵀf = 0, with
    L = I - ZΛ⁻¹Zᵀ. As L1 = 0 only Le counts of it, e marking where y > 0: with ρ = |y|ᵀLe / eᵀLe
    the solution is b⁺ = mean|y| + ρ share(y ≤ 0) and b⁻ = ρ share(y > 0) - mean|y|.
    """
    # Of |y| and of e: sums over each anchor's points, and inner products with e.
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
    inverse = 1 / np.where(graph.degrees > _ROUNDING, graph.degrees, np.inf)[:, None]
    cross = sizes_marked - (Z_sizes * inverse * Z_marks).sum(axis=0)
    cut = marked - (Z_marks * inverse * Z_marks).sum(axis=0)
    # No edge is cut where the graph falls apart: then any ρ is as good.
    rho = np.divide(cross, cut, out=np.zeros_like(cut), where=cut > _ROUNDING * graph.n)
    mean, share = sizes / graph.n, marked / graph.n
    return Thresholds(mean + rho * (1 - share), rho * share - mean)


class AGH(BaseSetHasher):
    """Anchor graph hashing: signs of the smoothest functions on a graph of all training points.

    Points are alike if they lie near the same few anchors, which makes a graph that need never
    be held, with eigenvectors that extend to new points as weighted means over their anchors.

    Parameters
    ----------
    n_bits
        Length of the codes, at most ``layers`` for each anchor but one; None is 64, or as many as
        there are.
    n_layers
        With 1 a bit is the sign of an eigenvector. With 2 each eigenvector gives another bit, that
        cuts its positive and its negative side again, in place of one more eigenvector, of which
        later ones tell less and less: on MNIST that is better at all lengths. Of an odd number
        of bits the last eigenvector gives one.
    base
        How to choose the anchors: a strategy, or "kmeans", "kmedoids", "random". None is
        ``KMeansBase(300)``.
    n_neighbors
        Nearest anchors of a point.
    bandwidth
        σ of their weights exp(-d²/σ²); None learns it.
    random_state
        Seed or generator.

    Attributes
    ----------
    bit_embedding_
        W of the eigenvectors y = Wᵀz, one row an anchor.
    thresholds_
        b⁺ and b⁻ of each eigenvector's second bit.

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
        bandwidth: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.n_layers = n_layers
        self.base = base
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner = type(self).__name__
        layers = _validation.check_integer(self.n_layers, "n_layers", owner, low=1, high=2)
        if self.n_bits is not None:
            _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        base = base_strategy(self.base, owner, KMeansBase(300))
        for_base, for_sample = _validation.spawn_generators(self.random_state, 2)
        points = base.choose(rows, rng=for_base, on_step=partial(progress, "base set"))
        self._settle_base(points, rows.sample(SAMPLE, for_sample))
        self.n_bits_ = self._length(layers * (len(points) - 1))
        graph = anchor_graph(self._weights(rows), len(points))
        W = anchor_projection(graph, -(-self.n_bits_ // layers))
        progress("anchor graph", 1, 1)
        self.bit_embedding_ = np.ascontiguousarray(W, np.float32)
        self.thresholds_ = np.zeros((W.shape[1], 2), np.float32)
        if layers == 2:
            cuts = second_layer(self._weights(rows), graph, W)
            self.thresholds_ = np.stack(cuts, axis=1).astype(np.float32)
            progress("second layer", 1, 1)
        return {}

    def _length(self, most: int) -> int:
        if self.n_bits is None:
            return min(DEFAULT_BITS, most)
        why = f"layers * (anchors - 1) = {most}"
        return _validation.check_integer(
            self.n_bits, "n_bits", type(self).__name__, low=1, high=most, why=why
        )

    def _weights(self, rows: Rows) -> Iterator[sparse.csr_array]:
        blocks = DataGraph(self, rows).blocks()
        return weight_blocks(blocks, len(self.base_set_), self.bandwidth_)

    def _embed_block(self, values: Float32Array) -> Float32Array:
        first = super()._embed_block(values)
        again = self.n_bits_ - first.shape[1]
        if again == 0:
            return first
        above, below = self.thresholds_[:again].T
        Y = first[:, :again]
        return np.concatenate([first, np.where(Y > 0, Y - above, below - Y)], axis=1)

    def _check_fitted_state(self) -> None:
        super()._check_fitted_state()
        owner = type(self).__name__
        n_vectors, sides = self.thresholds_.shape
        if sides != 2:
            _validation.raise_invalid("thresholds_", owner, "two for each eigenvector", sides)
        if not n_vectors <= self.n_bits_ <= 2 * n_vectors:
            _validation.raise_invalid(
                "n_bits_", owner, "one or two for each eigenvector", self.n_bits_
            )
