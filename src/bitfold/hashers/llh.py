"""Locally linear hashing: codes that reconstruct each other as the points do."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from bitfold import _validation
from bitfold._kernels import products
from bitfold._kernels.locally_linear import sparse_weights, weighted_sum
from bitfold._linalg import graph, spectral
from bitfold._types import Float32Array, Float64Array, ProgressCallback, Seed, StepCallback
from bitfold.base_set import BaseStrategy
from bitfold.hashers._iterations import IterativeMixin
from bitfold.hashers.base.base_set import BaseSetHasher
from bitfold.hashers.base.hasher import Hasher
from bitfold.hashers.strategies import BASE_STRATEGIES
from bitfold.io.rows import Rows
from bitfold.neighbors import index_base_points
from bitfold.rotation import itq


class JointEmbedding(NamedTuple):
    """An embedding close to its signs, and the objective before each step."""

    embedding: Float64Array
    losses: list[float]


def squared_distances(points: Float32Array) -> Float32Array:
    """Return |b_i - b_j|² of all pairs."""
    out = np.empty((len(points), len(points)), np.float32)
    products.sq_distances(points, points, out)
    return out


def reconstruction_error(
    points: Float32Array, sq_distances: Float32Array, k: int, penalty: float
) -> Float64Array:
    """Return M = (I - W)ᵀ(I - W), where W reconstructs each point from its k nearest others."""
    neighbors = graph.find_neighbors(points, k).indices.astype(np.int32)
    weights = np.empty(neighbors.shape, np.float32)
    distances = np.take_along_axis(sq_distances, neighbors, axis=1).astype(np.float64)
    sparse_weights(neighbors, distances, sq_distances, penalty, weights)
    W = graph.sparse_rows(neighbors, weights.astype(np.float64), len(points))
    residual = sparse.eye_array(len(points), format="csr") - W
    M: Float64Array = (residual.T @ residual).toarray()
    return M


def closest_frame(target: Float64Array) -> Float64Array:
    """Return the Z closest to the target, of those with ZᵀZ = mI and Zᵀ1 = 0."""
    left, _, right = np.linalg.svd(target - target.mean(axis=0), full_matrices=False)
    Z: Float64Array = np.sqrt(len(target)) * left @ right
    return Z


def joint_embedding(
    M: Float64Array,
    n_bits: int,
    eta: float,
    max_iter: int,
    rng: np.random.Generator,
    on_step: StepCallback | None = None,
) -> JointEmbedding:
    """Minimize tr(ZᵀMZ) + η |B - ZR|² over Z, the rotation R and the signs B, in turn.

    Z satisfies ZᵀZ = mI and Zᵀ1 = 0. Neither that nor the first term depends on a rotation, so ZR
    is found at once and called Z. It starts from the embedding of LLE, rotated by iterative
    quantization. No step increases the objective: in the step for Z, the first term is replaced
    by a linear upper bound that is exact at the current Z.
    """
    bound = float(spectral.largest_eigenvectors(M, 1).values[0])
    Z = spectral.minimize_trace(M, n_bits)
    Z = Z @ itq(Z.astype(np.float32), rng).matrix
    losses = []
    for step in range(max_iter):
        B = spectral.signs(Z)
        MZ = M @ Z
        losses.append(float(np.sum(Z * MZ) + eta * np.square(B - Z).sum()))
        Z = closest_frame(bound * Z - MZ + eta * B)
        if on_step:
            on_step(step + 1, max_iter)
    return JointEmbedding(Z, losses)


class LLH(IterativeMixin, BaseSetHasher):
    """Locally linear hashing: the weights that reconstruct a point also reconstruct its code.

    Each point is written as a combination of a few near ones, with weights that sum to one, may be
    negative, and cost more for distant points. LLH finds an embedding that the same weights
    reconstruct and that is close to its signs. To bound memory, it embeds a base set instead of
    all training data; any other point is combined from its nearest base points.

    Parameters
    ----------
    n_bits
        Length of the codes, at most the number of base points minus one; None is 64, or that
        limit if it is smaller.
    base
        How to choose the base set: a strategy, or "kmeans", "kmedoids", "random". None is
        ``KMeansBase(1000)``.
    n_neighbors
        Number of nearest base points that a point may be combined from.
    sparsity
        λ, the cost of weights relative to the reconstruction error, in units of the mean squared
        distance of the neighbors. A larger value leaves fewer and nearer base points.
    eta
        η, the weight of closeness to signs relative to reconstruction.
    max_iter
        Number of alternations between embedding and signs.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator.

    Attributes
    ----------
    base_set_
        The base set, relative to ``center_``, one row per base point.
    bit_embedding_
        Embedding of the base set; the signs of its combinations are the bits.
    n_neighbors_
        Number of nearest base points that a point may be combined from.
    sparsity_
        λ.

    References
    ----------
    Irie, Li, Wu and Chang, *Locally linear hashing for extracting non-linear manifolds*, CVPR 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.base_set import KMeansBase
    >>> X = load_digits().data
    >>> LLH(n_bits=32, base=KMeansBase(200), random_state=0).fit(X).encode(X)
    Codes(1797 x 32 bits)
    """

    _fitted_scalars: ClassVar[dict[str, type]] = {
        **Hasher._fitted_scalars,
        "n_neighbors_": int,
        "sparsity_": float,
    }

    sparsity_: float

    def __init__(
        self,
        n_bits: int | None = None,
        *,
        base: BaseStrategy | str | None = None,
        n_neighbors: int = 10,
        sparsity: float = 0.1,
        eta: float = 0.1,
        max_iter: int = 50,
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.base = base
        self.n_neighbors = n_neighbors
        self.sparsity = sparsity
        self.eta = eta
        self.max_iter = max_iter
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner = type(self).__name__
        if self.n_bits is not None:
            _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        n_neighbors = _validation.check_integer(self.n_neighbors, "n_neighbors", owner, low=1)
        sparsity = _validation.check_positive(self.sparsity, "sparsity", owner)
        eta = _validation.check_positive(self.eta, "eta", owner)
        max_iter = _validation.check_integer(self.max_iter, "max_iter", owner, low=0)
        base = _validation.check_strategy(
            self.base, "base", owner, BASE_STRATEGIES, BaseStrategy, n_base_points=1000
        )
        base_rng, rotation_rng = _validation.spawn_generators(self.random_state, 2)
        points = base.choose(rows, rng=base_rng, on_step=partial(progress, "base set")).points
        nearest = index_base_points(points, n_neighbors, owner)
        limit = len(points) - 1
        n_bits = _validation.check_n_bits(self.n_bits, owner, limit, f"base points - 1 = {limit}")
        sq_distances = squared_distances(nearest.points)
        M = reconstruction_error(nearest.points, sq_distances, nearest.k, sparsity)
        progress("weights", 1, 1)
        on_step = partial(progress, "embedding")
        Z = joint_embedding(M, n_bits, eta, max_iter, rotation_rng, on_step).embedding
        return {
            "n_bits_": n_bits,
            "base_set_": nearest.points,
            "bit_embedding_": np.ascontiguousarray(Z, np.float32),
            "n_neighbors_": nearest.k,
            "sparsity_": sparsity,
        }

    def _embed_block(self, values: Float32Array) -> Float32Array:
        neighbors, distances = self.nearest_base_points.find(values)
        sq_distances = self._derive("sq_distances", partial(squared_distances, self.base_set_))
        weights = np.empty(neighbors.shape, np.float32)
        sparse_weights(neighbors, distances, sq_distances, self.sparsity_, weights)
        out = np.empty((len(values), self.n_bits_), np.float32)
        weighted_sum(neighbors, weights, self.bit_embedding_, out)
        return out

    def _check_fitted_state(self) -> None:
        self._check_n_neighbors()
        _validation.check_positive(self.sparsity_, "sparsity_", type(self).__name__)
