"""Step 3 of Alg. 2: a supervised subspace of the base embedding, by linear discriminants."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.covariance import OAS
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import StandardScaler

from bitfold import _checks

FloatArray = NDArray[np.float32]


def discriminant(
    base_embedding: FloatArray, labels: NDArray[Any], n_components: int, owner: str
) -> FloatArray:
    """Project the base embedding on the directions that tell its classes apart best.

    Parameters
    ----------
    base_embedding
        Embedding of the base points, one a row.
    labels
        Class of each base point.
    n_components
        Directions to keep: at most the number of classes less one.
    owner
        Who asks, for the error sentence.
    """
    n_classes = len(np.unique(labels))
    if n_classes < 2:
        _checks.refuse("y", owner, "labels of at least 2 classes", f"{n_classes} class")
    limit = min(n_classes - 1, base_embedding.shape[1])
    why = f"classes - 1 = {limit}" if limit == n_classes - 1 else f"n_components = {limit}"
    _checks.integer(n_components, "n_bits", owner, low=1, high=limit, why=why)
    with warnings.catch_warnings():
        # A class of one base point adds no scatter, which is as it should be.
        warnings.filterwarnings("ignore", "Only one sample available")
        projected = _lda(base_embedding, labels, n_components)
    return np.ascontiguousarray(projected - projected.mean(axis=0), np.float32)


def _lda(Y: FloatArray, labels: NDArray[Any], n_components: int) -> NDArray[np.floating[Any]]:
    """Shrink the within-class scatter, so that it can be inverted when base points are few."""
    # At one scale, or shrinking towards the identity would favour the widest dimensions.
    Y = StandardScaler().fit_transform(Y)
    shrunk = LinearDiscriminantAnalysis(
        solver="eigen", covariance_estimator=OAS(), n_components=n_components
    )
    try:
        return np.asarray(shrunk.fit(Y, labels).transform(Y))
    except np.linalg.LinAlgError:
        # No scatter within any class: the class means alone span the subspace.
        means = LinearDiscriminantAnalysis(solver="svd", n_components=n_components)
        return np.asarray(means.fit(Y, labels).transform(Y))
