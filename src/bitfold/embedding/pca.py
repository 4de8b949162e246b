"""Principal components of the base set: the linear method of the comparison."""

from __future__ import annotations

import numpy as np
from sklearn import decomposition

from bitfold._types import Float32Array, Float64Array, FloatingArray
from bitfold.embedding.base import Embedding, Given, Limit


def principal_components(base: FloatingArray, n_components: int) -> Float64Array:
    """Project the base points onto the directions in which they vary most."""
    model = decomposition.PCA(n_components, svd_solver="full")
    # Points that all coincide have no variance to take a share of.
    with np.errstate(invalid="ignore"):
        projected: Float64Array = model.fit_transform(np.asarray(base, np.float64))
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

    def _embed(self, base: Float32Array, n_components: int, given: Given) -> Float64Array:
        return principal_components(base, n_components)
