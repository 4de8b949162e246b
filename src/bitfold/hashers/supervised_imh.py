"""Supervised Inductive Manifold Hashing: a base set per class, and a projection by LDA (Alg. 2)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bitfold import _validation
from bitfold._progress import ignore_progress
from bitfold._types import Float32Array, ProgressCallback, Seed
from bitfold.base_set import BaseStrategy, KMeansBase
from bitfold.embedding import Embedding
from bitfold.hashers._labels import SupervisedMixin, find_labeled_rows
from bitfold.hashers.imh import N_SAMPLE_ROWS, IMHState, ManifoldHasher, rotate
from bitfold.induction import learn_bandwidth
from bitfold.io.rows import Rows
from bitfold.neighbors import NeighborBlocks, index_base_points
from bitfold.subspace import discriminant

MAX_COMPONENTS = 256
"""Default dimensions of the embedding that is projected. More separate the classes better, but
t-SNE takes longer."""


def fit_supervised_imh(
    rows: Rows,
    y: Any,
    n_bits: int,
    *,
    base: BaseStrategy,
    embedding: Embedding,
    n_components: int | None = None,
    n_neighbors: int = 5,
    bandwidth: float | None = None,
    rotation: str | None = "itq",
    random_state: Seed = None,
    progress: ProgressCallback = ignore_progress,
) -> IMHState:
    """Learn the hash functions of Alg. 2.

    Parameters
    ----------
    rows
        Training rows.
    y
        One label per row; -1 means unlabeled.
    n_bits
        Length of the codes, at most the number of classes minus one.
    base, embedding, n_components, n_neighbors, bandwidth, rotation, random_state
        As in :class:`SupervisedIMH`, checked.
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
    points, labels, reason = base.choose_per_class(
        rows, y, rng=base_rng, on_step=partial(progress, "base set")
    )
    if len(points) <= (n_classes := len(np.unique(labels))):
        requirement = f"more than one point per class, for {n_classes} classes"
        _validation.raise_invalid("base", rows.owner, requirement, f"{len(points)} points")
    nearest = index_base_points(points, n_neighbors, rows.owner)
    sigma = bandwidth or learn_bandwidth(nearest.find(sample), len(points))
    Y = embedding.embed(
        nearest.points,
        n_components or _default_components(embedding, points, n_bits),
        rng=embedding_rng,
        neighbors=NeighborBlocks(rows, nearest),
        on_step=partial(progress, "embedding"),
    )
    Y = discriminant(Y, labels, n_bits, rows.owner)
    bit_embedding = Y
    if rotation is not None:
        bit_embedding = rotate(Y, sample, nearest, sigma, rotation_rng)
        progress("rotation", 1, 1)
    return IMHState(n_bits, nearest.points, reason, nearest.k, sigma, Y, bit_embedding)


def _default_components(embedding: Embedding, points: Float32Array, n_bits: int) -> int:
    limit = embedding.max_components(*points.shape)
    most = min(len(points) - 1, limit.n_components) if limit else len(points) - 1
    return min(max(MAX_COMPONENTS, n_bits), most)


class SupervisedIMH(SupervisedMixin, ManifoldHasher):
    """Supervised Inductive Manifold Hashing (Alg. 2).

    The base set is chosen class by class, embedded without labels, and projected onto the
    directions that separate its classes best (LDA). Induction and signs are those of IMH. Rows
    labeled -1 are unlabeled and only affect the bandwidth and the rotation.

    Parameters
    ----------
    n_bits
        Length of the codes, at most n_classes - 1; None uses that, capped at 256.
    base
        How to choose the base set; None is ``KMeansBase(1000)``, split over the classes.
    embedding
        How to embed the base set; None is ``TSNE()``.
    n_components
        Dimensions of the embedding before the projection. More dimensions separate the classes
        better. None is 256, or n_bits if larger, or the largest possible number.
    n_neighbors, bandwidth, rotation, random_state
        As in :class:`IMH`.

    Attributes
    ----------
    base_size_reason_, base_set_, base_embedding_, bit_embedding_, bandwidth_, n_neighbors_
        As in :class:`IMH`; ``base_embedding_`` is projected onto the directions.

    References
    ----------
    Shen et al., *Hashing on Nonlinear Manifolds*, IEEE TIP 2015, Sec. 6.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> SupervisedIMH(base=KMeansBase(200), random_state=0).fit(X, y).encode(X)
    Codes(1797 x 9 bits)
    """

    def __init__(
        self,
        n_bits: int | None = None,
        *,
        base: BaseStrategy | str | None = None,
        embedding: Embedding | str | None = None,
        n_components: int | None = None,
        n_neighbors: int = 5,
        bandwidth: float | None = None,
        rotation: str | None = "itq",
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.base = base
        self.embedding = embedding
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.rotation = rotation
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = self._check_n_bits(find_labeled_rows(y, len(rows), type(self).__name__).n_classes)
        checked = self._checked_parameters(KMeansBase(1000))
        checked["n_components"] = self.n_components
        return fit_supervised_imh(rows, y, n_bits, progress=progress, **checked)._asdict()

    def _check_n_bits(self, n_classes: int) -> int:
        """Check n_bits before any work is done; LDA has n_classes - 1 directions."""
        owner = type(self).__name__
        limit, why = n_classes - 1, f"classes - 1 = {n_classes - 1}"
        if self.n_components is not None:
            n_components = _validation.check_integer(
                self.n_components, "n_components", owner, low=1
            )
            if n_components <= limit:
                limit, why = n_components, f"n_components = {n_components}"
        if self.n_bits is None:
            return min(limit, MAX_COMPONENTS)
        return _validation.check_integer(self.n_bits, "n_bits", owner, low=1, high=limit, why=why)
