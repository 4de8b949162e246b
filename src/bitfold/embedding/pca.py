"""Principal components of the base set: the linear method of the comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import decomposition

from bitfold.embedding.base import Embedding, FloatArray, Given, Limit

RealArray = NDArray[np.float64]


def principal_components(base: NDArray[np.floating[Any]], n_components: int) -> RealArray:
    """Project the base points onto the directions in which they vary most."""
    model = decomposition.PCA(n_components, svd_solver="full")
    # Points that all coincide have no variance to take a share of.
    with np.errstate(invalid="ignore"):
        projected: RealArray = model.fit_transform(np.asarray(base, np.float64))
    return projected


class PCA(Embedding):
    """Project the base set onto its principal directions, as scikit-learn does.

    Linear on the base set alone: a new point is not projected, it follows its nearest base
    points, which is why IMH-PCA outdoes hashing by plain PCA (Sec. 3.6).

    References
    ----------
    Jolliffe, Principal Component Analysis, Springer 2002.
    """

    def limit(self, m: int, n_features: int) -> Limit:
        """As many as the base set spans."""
        if m - 1 <= n_features:
            return Limit(m - 1, f"m - 1 = {m - 1}")
        return Limit(n_features, f"n_features={n_features}")

    def _embed(self, base: FloatArray, n_components: int, given: Given) -> RealArray:
        return principal_components(base, n_components)
