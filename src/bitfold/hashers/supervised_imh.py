"""Supervised Inductive Manifold Hashing: a base set per class, and a projection by LDA (Alg. 2)."""

from __future__ import annotations

from typing import Any

from bitfold import _validation
from bitfold._types import ProgressCallback, Seed
from bitfold.base_set import BaseStrategy
from bitfold.embedding import Embedding
from bitfold.hashers._labels import SupervisedMixin, find_labeled_rows
from bitfold.hashers.imh import IMH, MAX_COMPONENTS, fit_imh
from bitfold.io.rows import Rows


class SupervisedIMH(SupervisedMixin, IMH):
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
    n_neighbors, bandwidth, rotation, n_directions, normalize, random_state
        As in :class:`IMH`.

    Attributes
    ----------
    base_size_reason_, base_set_, directions_, bandwidth_, n_neighbors_
        As in :class:`IMH`.
    base_embedding_, bit_embedding_
        As in :class:`IMH`, after the projection.

    References
    ----------
    Shen et al., *Hashing on Nonlinear Manifolds*, IEEE TIP 2015, Sec. 6.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.base_set import KMeansBase
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
        n_directions: int | str | None = "auto",
        normalize: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_bits = n_bits
        self.base = base
        self.embedding = embedding
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.rotation = rotation
        self.n_directions = n_directions
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        n_bits = self._check_n_bits(find_labeled_rows(y, len(rows), type(self).__name__).n_classes)
        checked = self._check_parameters(1000) | {"n_components": self.n_components}
        return fit_imh(rows, n_bits, y=y, progress=progress, **checked).to_dict()

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
        return _validation.check_n_bits(self.n_bits, owner, limit, why, default=MAX_COMPONENTS)
