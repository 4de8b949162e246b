"""Inductive Manifold Hashing: base set, embedding, induction, rotation, signs (Alg. 1)."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._progress import ignore_progress
from bitfold._types import Float32Array, ProgressCallback, Seed
from bitfold.base_set import BaseStrategy, KMeansBase
from bitfold.embedding import TSNE, Embedding
from bitfold.hashers.base.base_set import BaseSetHasher
from bitfold.hashers.strategies import BASE_STRATEGIES, EMBEDDINGS
from bitfold.induction import induce, learn_bandwidth
from bitfold.io.rows import Rows
from bitfold.neighbors import NearestBasePoints, NeighborBlocks, index_base_points
from bitfold.rotation import itq, unit_rows

N_SAMPLE_ROWS = 16384
"""Rows that the bandwidth and the rotation are learned from; more change neither."""


class IMHState(NamedTuple):
    """The fitted attributes of :class:`IMH` and :class:`SupervisedIMH`."""

    n_bits_: int
    base_set_: Float32Array
    base_size_reason_: str
    n_neighbors_: int
    bandwidth_: float
    base_embedding_: Float32Array
    bit_embedding_: Float32Array


def fit_imh(
    rows: Rows,
    n_bits: int,
    *,
    base: BaseStrategy,
    embedding: Embedding,
    n_neighbors: int = 5,
    bandwidth: float | None = None,
    rotation: str | None = "itq",
    random_state: Seed = None,
    progress: ProgressCallback = ignore_progress,
) -> IMHState:
    """Learn the hash functions of Alg. 1.

    Parameters
    ----------
    rows
        Training rows.
    n_bits
        Length of the codes.
    base, embedding, n_neighbors, bandwidth, rotation, random_state
        As in :class:`IMH`, checked.
    progress
        Called with (stage, done, total).

    Returns
    -------
    The fitted attributes.
    """
    base_rng, sample_rng, embedding_rng, rotation_rng = _validation.spawn_generators(
        random_state, 4
    )
    sample = rows.sample(N_SAMPLE_ROWS, sample_rng)
    points, reason = base.choose(rows, rng=base_rng, on_step=partial(progress, "base set"))
    nearest = index_base_points(points, n_neighbors, rows.owner)
    sigma = bandwidth or learn_bandwidth(nearest.find(sample), len(points))
    Y = embedding.embed(
        nearest.points,
        n_bits,
        rng=embedding_rng,
        neighbors=NeighborBlocks(rows, nearest),
        on_step=partial(progress, "embedding"),
    )
    bit_embedding = Y
    if rotation is not None:
        bit_embedding = rotate(Y, sample, nearest, sigma, rotation_rng)
        progress("rotation", 1, 1)
    return IMHState(n_bits, nearest.points, reason, nearest.k, sigma, Y, bit_embedding)


def rotate(
    Y: Float32Array,
    sample: Float32Array,
    nearest: NearestBasePoints,
    bandwidth: float,
    rng: np.random.Generator,
) -> Float32Array:
    """Center and rotate the base embedding, so that the signs of the sample lose little (Sec. 5).

    A weighted mean commutes with a rotation, so nothing needs to be rotated when encoding.
    """
    V = induce(nearest.find(sample), Y, bandwidth)
    mean = V.mean(axis=0)
    R = itq(unit_rows(V - mean), rng).matrix
    return np.ascontiguousarray((Y - mean) @ R)


class ManifoldHasher(BaseSetHasher):
    """The fitted attributes and parameter checks that both algorithms share."""

    _fitted_arrays: ClassVar[dict[str, tuple[str, ...]]] = {
        **BaseSetHasher._fitted_arrays,
        "base_embedding_": ("m", "n_bits_"),
    }
    _fitted_scalars: ClassVar[dict[str, type]] = {
        **BaseSetHasher._fitted_scalars,
        "base_size_reason_": str,
    }

    base_embedding_: Float32Array
    base_size_reason_: str

    n_bits: int | None
    base: BaseStrategy | str | None
    embedding: Embedding | str | None
    n_neighbors: int
    bandwidth: float | None
    rotation: str | None
    random_state: Seed

    def _checked_parameters(self, default_base: BaseStrategy) -> dict[str, Any]:
        """Return the checked parameters of the fit function."""
        owner = type(self).__name__
        return {
            "base": _validation.check_strategy(
                self.base,
                "base",
                owner,
                BASE_STRATEGIES,
                BaseStrategy,
                default_base,
                n_base_points=default_base.n_base_points,
            ),
            "embedding": _validation.check_strategy(
                self.embedding, "embedding", owner, EMBEDDINGS, Embedding, TSNE()
            ),
            "n_neighbors": _validation.check_integer(self.n_neighbors, "n_neighbors", owner, low=1),
            "bandwidth": None
            if self.bandwidth is None
            else _validation.check_bandwidth(self.bandwidth, "bandwidth", owner),
            "rotation": _validation.check_choice(self.rotation, "rotation", owner, (None, "itq")),
            "random_state": self.random_state,
        }


class IMH(ManifoldHasher):
    """Inductive Manifold Hashing (Alg. 1).

    A manifold method embeds a small base set. Every other vector is embedded as the weighted mean
    of its nearest base points, Eq. (8). After a rotation, the signs are the code.

    Parameters
    ----------
    n_bits
        Length of the codes.
    base
        How to choose the base set: a strategy, or "kmeans", "kmedoids", "random". None is
        ``KMeansBase("auto")``: one base point per 10 rows, at least 400, limited to six times
        the work of 400. ``base_size_reason_`` describes the choice.
    embedding
        How to embed the base set: a method, or "tsne", "sne", "ee", "le" (the paper's IMH-LE),
        "le_b", "lle", "isomap", "dm", "pca". None is ``TSNE()``.
    n_neighbors
        Number of nearest base points that determine a code.
    bandwidth
        σ of their weights exp(-d²/σ²); None learns it.
    rotation
        "itq" rotates the embedding so that its signs lose little (Sec. 5); None takes the signs
        without a rotation.
    random_state
        Seed or generator.

    Attributes
    ----------
    n_bits_
        Length of the codes.
    base_set_
        The base set, relative to ``center_``, one row per base point.
    base_size_reason_
        How the number of base points was chosen, as a sentence.
    base_embedding_
        The embedding of the base set, centered.
    bit_embedding_
        The embedding of the base set, centered on the data and rotated.
    bandwidth_
        σ of the weights.
    n_neighbors_
        Number of nearest base points that determine a code.

    References
    ----------
    Shen et al., *Hashing on Nonlinear Manifolds*, IEEE TIP 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> hasher = IMH(n_bits=32, random_state=0).fit(X)
    >>> hasher.encode(X)
    Codes(1797 x 32 bits)
    >>> hasher.base_size_reason_
    '400 base points (the minimum; chosen from 1,797 rows).'
    """

    def __init__(
        self,
        n_bits: int = 64,
        *,
        base: BaseStrategy | str | None = None,
        embedding: Embedding | str | None = None,
        n_neighbors: int = 5,
        bandwidth: float | None = None,
        rotation: str | None = "itq",
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.base = base
        self.embedding = embedding
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.rotation = rotation
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = _validation.check_integer(self.n_bits, "n_bits", type(self).__name__, low=1)
        checked = self._checked_parameters(KMeansBase())
        return fit_imh(rows, n_bits, progress=progress, **checked)._asdict()
