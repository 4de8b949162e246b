"""Supervised Inductive Manifold Hashing: base points per class, a supervised subspace (Alg. 2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bitfold import _validation
from bitfold._types import Int64Array, ProgressCallback, Seed
from bitfold.base_set import BaseStrategy
from bitfold.embedding import Embedding
from bitfold.hashers._labels import LabeledRows, SupervisedMixin, find_labeled_rows
from bitfold.hashers.imh import IMH, MAX_COMPONENTS, fit_imh
from bitfold.io.rows import Rows
from bitfold.subspace import check_learner


class SupervisedIMH(SupervisedMixin, IMH):
    """Supervised Inductive Manifold Hashing (Alg. 2).

    The base set is chosen class by class, embedded without labels, and projected onto the
    directions that separate its classes best (LDA), or by another supervised learner. Induction
    and signs are those of IMH. Rows labeled -1 are unlabeled and only affect the bandwidth and the
    rotation.

    Parameters
    ----------
    n_bits
        Length of the codes, at most n_classes - 1 with LDA; None uses that, capped at 256. With
        another ``subspace``, None is the number of columns that the learner returns.
    base
        How to choose the base set; None is ``KMeansBase(1000)``, split over the classes.
    embedding
        How to embed the base set; None is ``TSNE()``.
    n_components
        Dimensions of the embedding before the projection. More dimensions separate the classes
        better. None is 256, or n_bits if larger, or the largest possible number.
    subspace
        How to project the embedding: None is LDA. Any estimator with scikit-learn's ``fit(X, y)``
        and ``transform(X)`` can be used instead, such as ``NeighborhoodComponentsAnalysis``. A copy
        of it is fitted, with n_bits as its ``n_components`` if it has such a parameter. Only what
        it returns for the base points is kept, so that the model is saved without the learner.
    n_samples
        Number of labeled rows that the base set is chosen from; None uses all of them.
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
    Shen et al., *Hashing on Nonlinear Manifolds*, IEEE TIP 2015, Sec. VI.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from bitfold.base_set import KMeansBase
    >>> X, y = load_digits(return_X_y=True)
    >>> SupervisedIMH(base=KMeansBase(200), random_state=0).fit(X, y).encode(X)
    Codes(1797 x 9 bits)

    The paper's setting: 1,000 labeled samples as the base set, and a graph by distances.

    >>> from bitfold.base_set import RandomBase
    >>> from bitfold.embedding import TSNE
    >>> paper = SupervisedIMH(base=RandomBase(1000), embedding=TSNE(perplexity=10), rotation=None)
    """

    def __init__(
        self,
        n_bits: int | None = None,
        *,
        base: BaseStrategy | str | None = None,
        embedding: Embedding | str | None = None,
        n_components: int | None = None,
        subspace: Any = None,
        n_samples: int | None = None,
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
        self.n_components = n_components
        self.subspace = subspace
        self.n_samples = n_samples
        self.n_neighbors = n_neighbors
        self.bandwidth = bandwidth
        self.rotation = rotation
        self.n_directions = n_directions
        self.normalize = normalize
        self.random_state = random_state

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        labeled = find_labeled_rows(y, len(rows), rows.owner)
        n_bits = self._check_n_bits(labeled.n_classes)
        checked = self._check_parameters(1000) | {
            "n_components": self.n_components,
            "subspace": self.subspace,
        }
        if self.n_samples is not None:
            y = self._select_labels(labeled, len(rows))
        return fit_imh(rows, n_bits, y=y, progress=progress, **checked).to_dict()

    def _select_labels(self, labeled: LabeledRows, n_rows: int) -> Int64Array:
        """Return the classes of ``n_samples`` labeled rows, and -1 for all others."""
        n = _validation.check_integer(self.n_samples, "n_samples", type(self).__name__, low=2)
        # The generators before this one are those of ``fit_imh``.
        chosen = labeled.sample(n, _validation.spawn_generators(self.random_state, 6)[-1])
        y = np.full(n_rows, -1, np.int64)
        y[chosen.rows] = chosen.classes
        return y

    def _check_n_bits(self, n_classes: int) -> int | None:
        """Check n_bits before any work is done; LDA has n_classes - 1 directions."""
        owner, n_components = type(self).__name__, self.n_components
        if n_components is not None:
            _validation.check_integer(n_components, "n_components", owner, low=1)
        if self.subspace is not None:
            check_learner(self.subspace, "subspace", owner)
            if self.n_bits is None:
                return None
            return _validation.check_integer(self.n_bits, "n_bits", owner, low=1)
        limit, why = n_classes - 1, f"classes - 1 = {n_classes - 1}"
        if n_components is not None and n_components <= limit:
            limit, why = n_components, f"n_components = {n_components}"
        return _validation.check_n_bits(self.n_bits, owner, limit, why, default=MAX_COMPONENTS)
