"""Step 3 of Alg. 2: a supervised subspace of the base embedding, by linear discriminants."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils.extmath import svd_flip

from bitfold import _validation
from bitfold._threads import serial_blas
from bitfold._types import AnyArray, Float32Array

_RANK = 1e-5
"""Directions in which the base embedding spreads less than so, of the widest, are rounding."""


def discriminant(
    base_embedding: Float32Array, labels: AnyArray, n_components: int, owner: str
) -> Float32Array:
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
        _validation.raise_invalid("y", owner, "labels of at least 2 classes", f"{n_classes} class")
    limit = min(n_classes - 1, base_embedding.shape[1])
    why = f"classes - 1 = {limit}" if limit == n_classes - 1 else f"n_components = {limit}"
    _validation.check_integer(n_components, "n_bits", owner, low=1, high=limit, why=why)
    with serial_blas():
        return _canonical(base_embedding, labels, n_components)


def _canonical(Y: Float32Array, labels: AnyArray, n: int) -> Float32Array:
    """Return the linear discriminants as canonical correlation with the classes finds them.

    Those of LDA, which scales them by the scatter within classes; where there is none, one
    direction would then outweigh all others and a rotation would serve it alone. Here each has the
    length of its correlation ρ with the classes: 1 where they lie entirely apart.
    """
    U, lengths, _ = np.linalg.svd(StandardScaler().fit_transform(Y.astype(np.float64)), False)
    U = U[:, lengths > _RANK * lengths[0]]
    kinds, sizes = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    members = np.eye(len(sizes))[kinds] / np.sqrt(sizes)
    W, correlations, _ = np.linalg.svd(U.T @ members, False)
    found = svd_flip(U @ W[:, :n], None)[0] * correlations[:n] * np.sqrt(len(Y))
    # Fewer dimensions than were asked for leave bits that never vary.
    projected = np.zeros((len(Y), n), np.float32)
    projected[:, : found.shape[1]] = found
    return projected
