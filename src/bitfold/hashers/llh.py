"""Locally linear hashing: codes that rebuild each other as the points do."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from bitfold import _validation
from bitfold._kernels import products
from bitfold._kernels.locally_linear import sparse_weights, weighted_sum
from bitfold._linalg import graph, spectral
from bitfold._linalg.principal import DEFAULT_BITS
from bitfold._threads import serial_blas
from bitfold._types import (
    Float32Array,
    Float64Array,
    ProgressCallback,
    Seed,
    StepCallback,
)
from bitfold.base_set import BaseStrategy, KMeansBase
from bitfold.hashers.base.base_set import BaseSetHasher
from bitfold.hashers.base.hasher import Hasher
from bitfold.hashers.strategies import base_strategy
from bitfold.induction import BaseSet
from bitfold.io.rows import Rows
from bitfold.rotation import itq


class Carrier(NamedTuple):
    """The base set, ready to be searched, and the squared distances within it."""

    base: BaseSet
    apart: Float32Array


class Joint(NamedTuple):
    """The embedding, turned toward its signs, and the objective before each step to it."""

    embedding: Float64Array
    losses: list[float]


def sq_distances(points: Float32Array) -> Float32Array:
    """Return |b_i - b_j|² of all pairs."""
    apart = np.empty((len(points), len(points)), np.float32)
    products.sq_distances(points, points, apart)
    return apart


def rebuilding_error(
    points: Float32Array, apart: Float32Array, k: int, penalty: float
) -> Float64Array:
    """Return M = (I - W)ᵀ(I - W), W rebuilding each point from its k nearest others."""
    near = graph.nearest(points, k).indices.astype(np.int32)
    weights = np.empty(near.shape, np.float32)
    distances = np.take_along_axis(apart, near, axis=1).astype(np.float64)
    sparse_weights(near, distances, apart, penalty, weights)
    W = graph.sparse_rows(near, weights.astype(np.float64), len(points))
    residual = sparse.eye_array(len(points), format="csr") - W
    M: Float64Array = (residual.T @ residual).toarray()
    return M


def signs(Z: Float64Array) -> Float64Array:
    """Return 1 above zero and -1 elsewhere."""
    return np.where(Z > 0, 1.0, -1.0)


def frame(target: Float64Array) -> Float64Array:
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
) -> Joint:
    """Minimize tr(ZᵀMZ) + η |B - ZR|² over Z, the rotation R and the signs B, in turn.

    Z keeps ZᵀZ = mI and Zᵀ1 = 0. As neither that nor the first term feels a rotation, ZR is sought
    at once and called Z. It starts as LLE's embedding, rotated by iterative quantization. No step
    raises the objective: for Z the first term is replaced by its linear bound from above, which
    touches it where Z is.
    """
    bound = float(spectral.largest(M, 1).values[0])
    Z = spectral.smoothest(M, n_bits)
    Z = Z @ itq(Z.astype(np.float32), rng).matrix
    losses = []
    for step in range(max_iter):
        B = signs(Z)
        MZ = M @ Z
        losses.append(float(np.sum(Z * MZ) + eta * np.square(B - Z).sum()))
        Z = frame(bound * Z - MZ + eta * B)
        if on_step:
            on_step(step + 1, max_iter)
    return Joint(Z, losses)


class LLH(BaseSetHasher):
    """Locally linear hashing: a point's code is rebuilt from its neighbors' as the point is.

    Each point is written as a combination of a few near ones, by weights that sum to one, may be
    negative and cost more the farther they reach. An embedding is sought that the same weights
    rebuild and that lies close to its signs. To bound what is held, the points that are embedded
    are a base set and not all the training data; any other point is carried by its weights over
    the nearest of them, as the paper's are over all training points.

    Parameters
    ----------
    n_bits
        Length of the codes, at most the number of base points less one; None is 64, or as many as
        there are.
    base
        How to choose the points that are embedded: a strategy, or "kmeans", "kmedoids", "random".
        None is ``KMeansBase(1000)``.
    n_neighbors
        Nearest points that a point may be rebuilt from.
    sparsity
        λ, the price of weights against the error of rebuilding relative to the mean squared
        distance of the neighbors. More of it leaves fewer and nearer ones.
    eta
        η, the weight of closeness to signs against rebuilding in the embedding.
    max_iter
        Rounds of embedding and signs.
    random_state
        Seed or generator.

    Attributes
    ----------
    bit_embedding_
        What the weights combine, one row a base point.

    References
    ----------
    Irie, Li, Wu and Chang, *Locally linear hashing for extracting non-linear manifolds*, CVPR 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
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
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.base = base
        self.n_neighbors = n_neighbors
        self.sparsity = sparsity
        self.eta = eta
        self.max_iter = max_iter
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        owner = type(self).__name__
        if self.n_bits is not None:
            _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        self.sparsity_ = _validation.check_positive(self.sparsity, "sparsity", owner)
        eta = _validation.check_positive(self.eta, "eta", owner)
        max_iter = _validation.check_integer(self.max_iter, "max_iter", owner, low=0)
        base = base_strategy(self.base, owner, KMeansBase(1000))
        for_base, for_rotation = _validation.spawn_generators(self.random_state, 2)
        points = base.choose(rows, rng=for_base, on_step=partial(progress, "base set"))
        self._settle_points(points)
        self.n_bits_ = self._length(len(points) - 1)
        M = rebuilding_error(self.base_set_, self._carrier.apart, self.n_neighbors_, self.sparsity_)
        progress("weights", 1, 1)
        on_step = partial(progress, "embedding")
        # Not on all cores: sums rounded in another order would lead elsewhere in the end.
        with serial_blas():
            Z = joint_embedding(M, self.n_bits_, eta, max_iter, for_rotation, on_step).embedding
        self.bit_embedding_ = np.ascontiguousarray(Z, np.float32)
        return {}

    def _length(self, most: int) -> int:
        n_bits = min(DEFAULT_BITS, most) if self.n_bits is None else self.n_bits
        why = f"base points - 1 = {most}"
        return _validation.check_integer(
            n_bits, "n_bits", type(self).__name__, low=1, high=most, why=why
        )

    @property
    def _carrier(self) -> Carrier:
        return self._derive(
            self.base_set_, lambda b: Carrier(BaseSet(b, self.n_neighbors_), sq_distances(b))
        )

    @property
    def _base(self) -> BaseSet:
        return self._carrier.base

    def _embed_block(self, values: Float32Array) -> Float32Array:
        base, apart = self._carrier
        near, distances = base.neighbors(values)
        weights = np.empty(near.shape, np.float32)
        sparse_weights(near, distances, apart, self.sparsity_, weights)
        out = np.empty((len(values), self.n_bits_), np.float32)
        weighted_sum(near, weights, self.bit_embedding_, out)
        return out

    def _check_fitted_state(self) -> None:
        owner, m = type(self).__name__, len(self.base_set_)
        _validation.check_integer(
            self.n_neighbors_, "n_neighbors_", owner, low=1, high=m, why=f"m = {m}"
        )
        _validation.check_positive(self.sparsity_, "sparsity_", owner)
