"""Principal components of the base set: the linear method of the comparison."""

from __future__ import annotations

import numpy as np
from sklearn import decomposition

from bitfold._types import AnyArray, Float32Array, Float64Array, FloatingArray
from bitfold.embedding.base import Embedding, EmbeddingContext, MaxComponents


class PCA(Embedding):
    """Project the base set onto its principal directions.

    Only the base set is projected. Other points are embedded by their nearest base points, which
    is why IMH-PCA performs better than hashing by plain PCA (Sec. III-F).

    References
    ----------
    Jolliffe, *Principal Component Analysis*, Springer 2002.

    Examples
    --------
    >>> PCA().embed([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]], 1).ravel().round(3).tolist()
    [-2.0, -0.0, 2.0]
    """

    def max_components(self, n_base_points: int, n_features: int) -> MaxComponents:
        """Return the number of dimensions that the base set spans.

        Parameters
        ----------
        n_base_points
            Size of the base set.
        n_features
            Number of features.

        Returns
        -------
        The number and its reason.
        """
        if n_base_points - 1 <= n_features:
            return MaxComponents(n_base_points - 1, f"base points - 1 = {n_base_points - 1}")
        return MaxComponents(n_features, f"n_features={n_features}")

    def _embed(self, base: Float32Array, n_components: int, context: EmbeddingContext) -> AnyArray:
        return principal_components(base, n_components)


def principal_components(base: FloatingArray, n_components: int) -> Float64Array:
    """Project the base points onto the directions of largest variance."""
    model = decomposition.PCA(n_components, svd_solver="full")
    # scikit-learn divides by the total variance, which is zero if all points are equal.
    with np.errstate(invalid="ignore"):
        projected: Float64Array = model.fit_transform(np.asarray(base, np.float64))
    return projected
