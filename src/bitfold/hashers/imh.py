"""Inductive Manifold Hashing: base set, embedding, induction, rotation, signs (Alg. 1, Alg. 2)."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from bitfold import _validation
from bitfold._types import Float32Array, ProgressCallback, Seed
from bitfold.base_set import BaseStrategy, KMeansBase
from bitfold.embedding import Embedding
from bitfold.hashers._labels import SupervisedMixin, labeled
from bitfold.hashers.base.base_set import BaseSetHasher, DataGraph
from bitfold.hashers.strategies import base_strategy, embedding_strategy
from bitfold.io.rows import Rows
from bitfold.rotation import itq, unit_rows
from bitfold.subspace import discriminant

_COMPONENTS = 256
"""Dimensions of the embedding from which a supervised subspace is taken; more of them part classes
better still, but t-SNE takes its time."""

SAMPLE = 16384
"""Rows that bandwidth and rotation are learned from; more change neither."""


class _Inductive(BaseSetHasher):
    """What both algorithms share: everything after the base set is chosen.

    Attributes
    ----------
    base_embedding_
        The base set's embedding Y_B, centered. ``bit_embedding_`` is Y_B less the mean embedding of
        the data, rotated. A mean commutes with a rotation, so nothing is rotated at encoding.
    base_reason_
        Why there are as many base points as there are.
    """

    _fitted_arrays: ClassVar[dict[str, tuple[str, ...]]] = {
        **BaseSetHasher._fitted_arrays,
        "base_embedding_": ("m", "n_bits_"),
    }

    _fitted_scalars: ClassVar[dict[str, type]] = {
        **BaseSetHasher._fitted_scalars,
        "base_reason_": str,
    }

    base_embedding_: Float32Array
    base_reason_: str

    n_bits: int | None
    base: Any
    embedding: Any
    rotation: str | None
    random_state: Seed

    def _embed_base(
        self,
        embedding: Embedding,
        n_components: int,
        rows: Rows,
        rng: np.random.Generator,
        progress: ProgressCallback,
    ) -> Float32Array:
        """Step 2: embed the base set that was settled."""
        return embedding.embed(
            self.base_set_,
            n_components,
            rng=rng,
            data=DataGraph(self, rows),
            on_step=partial(progress, "embedding"),
        )

    def _settle_bits(
        self,
        Y: Float32Array,
        sample: Float32Array,
        rng: np.random.Generator,
        progress: ProgressCallback,
    ) -> None:
        """Fix the base embedding and how it becomes bits (Alg. 1, line 4; Sec. 5)."""
        self.n_bits_ = Y.shape[1]
        self.base_embedding_ = self.bit_embedding_ = Y
        if self.rotation is None:
            return
        V = self._base.induce(sample, Y, self.bandwidth_)
        mean = V.mean(axis=0)
        R = itq(unit_rows(V - mean), rng).matrix
        self.bit_embedding_ = np.ascontiguousarray((Y - mean) @ R)
        progress("rotation", 1, 1)


class IMH(_Inductive):
    """Inductive Manifold Hashing (Alg. 1).

    A small base set is embedded by a manifold method; every other point is carried in by the
    weighted mean of its k nearest base points, Eq. (8); signs, after a rotation, are the code.

    Parameters
    ----------
    n_bits
        Length of the codes.
    base
        How to choose the base set: a strategy, or "kmeans", "kmedoids", "random". None is
        ``KMeansBase("auto")``: one base point for 10 rows, at least 400, within six times the work
        of 400; ``base_reason_`` tells what was chosen and why.
    embedding
        How to embed it: a strategy, or "tsne", "sne", "ee", "le" (the paper's IMH-LE), "le_b",
        "lle", "isomap", "dm", "pca". None is ``TSNE()``.
    n_neighbors
        Nearest base points that carry a point.
    bandwidth
        σ of their weights exp(-d²/σ²); None learns it.
    rotation
        "itq" rotates the embedding so that signs lose little (Sec. 5); None is the plain sign.
    random_state
        Seed or generator.

    References
    ----------
    Shen et al., *Hashing on Nonlinear Manifolds*, IEEE TIP 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> IMH(n_bits=32, random_state=0).fit(X).encode(X)
    Codes(1797 x 32 bits)
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
        owner = type(self).__name__
        n_bits = _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        _validation.check_choice(self.rotation, "rotation", owner, (None, "itq"))
        base = base_strategy(self.base, owner, KMeansBase())
        embedding = embedding_strategy(self.embedding, owner)
        for_base, for_sample, for_embedding, for_rotation = _validation.spawn_generators(
            self.random_state, 4
        )
        sample = rows.sample(SAMPLE, for_sample)
        points = base.choose(rows, rng=for_base, on_step=partial(progress, "base set"))
        self.base_reason_ = base.size(len(rows), rows.n_features).why
        self._settle_base(points, sample)
        Y = self._embed_base(embedding, n_bits, rows, for_embedding, progress)
        self._settle_bits(Y, sample, for_rotation, progress)
        return {}


class SupervisedIMH(SupervisedMixin, _Inductive):
    """Supervised Inductive Manifold Hashing (Alg. 2).

    The base set is chosen class by class, embedded without labels, and projected on the
    directions that tell its classes apart best (LDA); induction and signs follow as in IMH.
    Rows labeled -1 are unlabeled: they help with bandwidth and rotation only.

    Parameters
    ----------
    n_bits
        Length of the codes, at most the number of classes less one; None is that, or 256.
    base
        How to choose the base set; None is ``KMeansBase(1000)``, shared out over the classes.
    embedding
        How to embed it; None is ``TSNE()``.
    n_components
        Dimensions of the embedding before the projection: the more, the better the projection
        tells the classes apart. None is 256, or n_bits if that is more, or as many as there can be.
    n_neighbors, bandwidth, rotation, random_state
        As in :class:`IMH`.

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
        owner = type(self).__name__
        _validation.check_choice(self.rotation, "rotation", owner, (None, "itq"))
        n_bits = self._length(labeled(y, len(rows), owner).n_classes)
        base = base_strategy(self.base, owner, KMeansBase(1000))
        embedding = embedding_strategy(self.embedding, owner)
        for_base, for_sample, for_embedding, for_rotation = _validation.spawn_generators(
            self.random_state, 4
        )
        sample = rows.sample(SAMPLE, for_sample)
        points, labels = base.choose_per_class(
            rows, y, rng=for_base, on_step=partial(progress, "base set")
        )
        if len(points) <= (n_classes := len(np.unique(labels))):
            demand = f"more than one point a class, for {n_classes} classes"
            _validation.raise_invalid("base", owner, demand, f"{len(points)} distinct points")
        self.base_reason_ = base.size(len(rows), rows.n_features).why
        self._settle_base(points, sample)
        limit = embedding.limit(*points.shape)
        most = min(len(points) - 1, limit.dimensions) if limit else len(points) - 1
        n_components = self.n_components or min(max(_COMPONENTS, n_bits), most)
        Y = self._embed_base(embedding, n_components, rows, for_embedding, progress)
        Y = discriminant(Y, labels, n_bits, owner)
        self._settle_bits(Y, sample, for_rotation, progress)
        return {}

    def _length(self, n_classes: int) -> int:
        """Check n_bits before any work is done: LDA gives classes - 1 directions."""
        limit, why = n_classes - 1, f"classes - 1 = {n_classes - 1}"
        if self.n_components is not None:
            owner = type(self).__name__
            n_components = _validation.check_integer(
                self.n_components, "n_components", owner, low=1
            )
            if n_components <= limit:
                limit, why = n_components, f"n_components = {n_components}"
        if self.n_bits is None:
            return min(limit, _COMPONENTS)
        return _validation.check_integer(
            self.n_bits, "n_bits", type(self).__name__, low=1, high=limit, why=why
        )
