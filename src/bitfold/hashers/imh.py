"""Inductive Manifold Hashing: base set, embedding, induction, rotation, signs (Alg. 1)."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from bitfold import _validation
from bitfold._linalg.principal import N_DIRECTIONS, randomized_directions
from bitfold._progress import ignore_progress
from bitfold._types import AnyArray, Float32Array, ProgressCallback, Seed
from bitfold.base_set import BaseStrategy
from bitfold.embedding import Embedding
from bitfold.hashers._published import published_base_set, published_embedding
from bitfold.hashers.base.base_set import BaseSetHasher
from bitfold.hashers.strategies import BASE_STRATEGIES, EMBEDDINGS
from bitfold.induction import check_bandwidth_rule, choose_bandwidth, induce
from bitfold.io.rows import Rows
from bitfold.neighbors import NeighborBlocks, Neighbors, index_base_points
from bitfold.rotation import itq, unit_rows
from bitfold.subspace import discriminant, project_with_learner

N_SAMPLE_ROWS = 16384
"""Rows that the bandwidth and the rotation are learned from; more change neither."""

MAX_HALF_WIDE = 512
"""Up to this number of features, twice as many principal directions still make a small model."""

MAX_COMPONENTS = 256
"""Default dimensions of an embedding that is projected by LDA. More separate the classes better,
but t-SNE takes longer."""


class IMHState(NamedTuple):
    """The fitted attributes of :class:`IMH` and :class:`SupervisedIMH`."""

    n_bits_: int
    base_set_: Float32Array
    directions_: Float32Array | None
    base_size_reason_: str
    n_neighbors_: int
    bandwidth_: float
    base_embedding_: Float32Array
    bit_embedding_: Float32Array

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes that the model has."""
        return {name: value for name, value in self._asdict().items() if value is not None}


def fit_imh(
    rows: Rows,
    n_bits: int | None,
    *,
    base: BaseStrategy,
    embedding: Embedding,
    n_neighbors: int = 5,
    bandwidth: float | str | None = None,
    rotation: str | None = "itq",
    n_directions: int | str | None = "auto",
    random_state: Seed = None,
    y: Any = None,
    n_components: int | None = None,
    subspace: Any = None,
    progress: ProgressCallback = ignore_progress,
) -> IMHState:
    """Learn the hash functions of Alg. 1 or, with labels, those of Alg. 2.

    Parameters
    ----------
    rows
        Training rows.
    n_bits
        Length of the codes; None leaves it to ``subspace``.
    base, embedding, n_neighbors, bandwidth, rotation, n_directions, random_state
        As in :class:`IMH`, checked.
    y
        One label per row; -1 means unlabeled. The base set is then chosen per class, and its
        embedding is projected by LDA or another learner.
    n_components, subspace
        Dimensions of the embedding that is projected, and the learner, as in
        :class:`SupervisedIMH`, checked.
    progress
        Called with (stage, done, total).

    Returns
    -------
    The fitted attributes.
    """
    base_rng, sample_rng, embedding_rng, rotation_rng, subspace_rng = _validation.spawn_generators(
        random_state, 5
    )
    sample = rows.sample(N_SAMPLE_ROWS, sample_rng)
    n_wanted = n_bits or MAX_COMPONENTS
    on_step = partial(progress, "base set")
    if y is None:
        points, reason = base.choose(rows, rng=base_rng, on_step=on_step)
        n_components = n_wanted
    else:
        points, labels, reason = base.choose_per_class(rows, y, rng=base_rng, on_step=on_step)
        _check_points_per_class(labels, rows.owner)
        n_components = n_components or _default_components(embedding, points, n_wanted)
    directions = find_directions(sample, n_directions)
    nearest = index_base_points(points, n_neighbors, rows.owner, directions)
    neighbors = nearest.find(sample)
    sigma = choose_bandwidth(bandwidth, neighbors, len(points))
    Y = embedding.embed(
        nearest.points,
        n_components,
        rng=embedding_rng,
        neighbors=NeighborBlocks(rows, nearest),
        on_step=partial(progress, "embedding"),
    )
    if subspace is not None:
        Y = project_with_learner(Y, labels, subspace, n_bits, subspace_rng, rows.owner)
    elif y is not None:
        Y = discriminant(Y, labels, n_wanted, rows.owner)
    bit_embedding = Y
    if rotation is not None:
        bit_embedding = rotate(Y, neighbors, sigma, rotation_rng)
        progress("rotation", 1, 1)
    found = (nearest.points, directions, reason, nearest.k, sigma, Y, bit_embedding)
    return IMHState(Y.shape[1], *found)


def find_directions(sample: Float32Array, n_directions: int | str | None) -> Float32Array | None:
    """Return principal directions of a sample, one per row; None if all features are kept.

    "auto" is 128 directions of data with more than 128 features, 64 with more than 512. The
    distances between vectors hardly change, but models become smaller, and fitting and encoding
    faster.
    """
    n_features = sample.shape[1]
    if n_directions == "auto":
        n_directions = N_DIRECTIONS if n_features > MAX_HALF_WIDE else 2 * N_DIRECTIONS
        n_directions = n_directions if n_features > 2 * N_DIRECTIONS else None
    if n_directions is None:
        return None
    n = min(int(n_directions), n_features, len(sample))
    return randomized_directions(sample - sample.mean(axis=0), n)


def _check_points_per_class(labels: AnyArray, owner: str) -> None:
    if len(labels) <= (n_classes := len(np.unique(labels))):
        requirement = f"more than one point per class, for {n_classes} classes"
        _validation.raise_invalid("base", owner, requirement, f"{len(labels)} points")


def _default_components(embedding: Embedding, points: Float32Array, n_bits: int) -> int:
    limit = embedding.max_components(*points.shape)
    most = min(len(points) - 1, limit.n_components) if limit else len(points) - 1
    return min(max(MAX_COMPONENTS, n_bits), most)


def rotate(
    Y: Float32Array, neighbors: Neighbors, bandwidth: float, rng: np.random.Generator
) -> Float32Array:
    """Center and rotate the base embedding to reduce the quantization loss of a sample (Sec. V).

    A weighted mean commutes with a rotation, so nothing needs to be rotated when encoding.
    """
    V = induce(neighbors, Y, bandwidth)
    mean = V.mean(axis=0)
    R = itq(unit_rows(V - mean), rng).matrix
    return np.ascontiguousarray((Y - mean) @ R)


class IMH(BaseSetHasher):
    """Inductive Manifold Hashing (Alg. 1).

    A manifold method embeds a small base set. Every other vector is embedded as the weighted mean
    of its nearest base points, Eq. (8). After a rotation, the signs are the code.

    Codes say which kind of item a vector is, so that many items share a code: good for buckets and
    whole rankings. To find the nearest vectors, use DualHasher or ITQ.

    Parameters
    ----------
    n_bits
        Length of the codes.
    base
        How to choose the base set: a strategy, or "kmeans", "kmedoids", "random". None is
        ``KMeansBase("auto")``: 400 base points for fewer than 5,000 rows, and 500 to 4,000 beyond,
        measured on held-out rows. ``base_size_reason_`` describes the choice.
    embedding
        How to embed the base set: a method, or "tsne", "sne", "ee", "le" (the paper's IMH-LE),
        "le_b", "lle", "isomap", "dm", "pca". None is ``TSNE()``.
    n_neighbors
        Number of nearest base points that determine a code.
    bandwidth
        σ of their weights exp(-d²/σ²). "kth_distance" is the mean distance to the k-th nearest
        base point, the choice of the paper's authors; None learns a smaller one.
    rotation
        "itq" rotates the embedding to reduce the quantization loss (Sec. V); None takes the
        signs without a rotation.
    n_directions
        Number of principal directions along which rows and base points are compared. "auto" is 128
        if there are more than 128 features, and 64 if there are more than 512; None compares all
        features.
    normalize
        Whether to scale rows to unit length, for data that are compared by cosine.
    random_state
        Seed or generator.

    Attributes
    ----------
    n_bits_
        Length of the codes.
    base_set_
        The base set, relative to ``center_``, one row per base point; along ``directions_`` if
        there are any.
    directions_
        Principal directions that rows are projected onto, one per row; None if there are none.
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

    def __init__(
        self,
        n_bits: int = 64,
        *,
        base: BaseStrategy | str | None = None,
        embedding: Embedding | str | None = None,
        n_neighbors: int = 5,
        bandwidth: float | str | None = None,
        rotation: str | None = "itq",
        n_directions: int | str | None = "auto",
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.base = base
        self.embedding = embedding
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.rotation = rotation
        self.n_directions = n_directions
        self.normalize = normalize
        self.random_state = random_state

    @classmethod
    def as_published(
        cls,
        n_bits: int,
        *,
        embedding: str = "tsne",
        n_base_points: int = 400,
        n_neighbors: int = 5,
        random_state: Seed = None,
    ) -> Self:
        """Return the method as the authors of the paper ran it, not fitted.

        The settings are those of the program published for the paper: rows of unit length, 10
        iterations of k-means, σ by ``bandwidth="kth_distance"``, and signs without a rotation.

        Parameters
        ----------
        n_bits
            Length of the codes.
        embedding
            "tsne" is IMH-tSNE, "le" is IMH-LE. Other embeddings have the settings above, and
            their defaults where the authors published none.
        n_base_points
            Number of base points. The paper has 400; 1,000 in classification and for a million
            rows.
        n_neighbors
            Number of nearest base points that determine a code. The paper has 5; 2 for a million
            rows.
        random_state
            Seed or generator.

        Returns
        -------
        A hasher whose parameters can be changed with ``set_params``.

        Raises
        ------
        ParameterError
            If the embedding is unknown.

        Examples
        --------
        >>> hasher = IMH.as_published(64, random_state=0)
        >>> hasher.embedding.perplexity, hasher.base.max_iter, hasher.normalize
        (10, 10, True)
        """
        return cls(
            n_bits,
            embedding=published_embedding(embedding, cls.__name__),
            rotation=None,
            n_directions=None,
            random_state=random_state,
            **published_base_set(n_base_points, n_neighbors),
        )

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = _validation.check_integer(self.n_bits, "n_bits", type(self).__name__, low=1)
        checked = self._check_parameters(n_base_points="auto")
        return fit_imh(rows, n_bits, progress=progress, **checked).to_dict()

    def _check_parameters(self, n_base_points: int | str) -> dict[str, Any]:
        """Return the checked parameters of ``fit_imh`` that both algorithms have."""
        owner = type(self).__name__
        return {
            "base": _validation.check_strategy(
                self.base, "base", owner, BASE_STRATEGIES, BaseStrategy, n_base_points=n_base_points
            ),
            "embedding": _validation.check_strategy(
                self.embedding, "embedding", owner, EMBEDDINGS, Embedding
            ),
            "n_neighbors": _validation.check_integer(self.n_neighbors, "n_neighbors", owner, low=1),
            "bandwidth": check_bandwidth_rule(self.bandwidth, owner),
            "rotation": _validation.check_choice(self.rotation, "rotation", owner, (None, "itq")),
            "n_directions": self._check_n_directions(),
            "random_state": self.random_state,
        }

    def _check_n_directions(self) -> int | str | None:
        n, owner = self.n_directions, type(self).__name__
        if n is None or n == "auto":
            return n
        if isinstance(n, str):
            _validation.raise_invalid("n_directions", owner, 'an integer, "auto" or None', repr(n))
        return _validation.check_integer(n, "n_directions", owner, low=1)
