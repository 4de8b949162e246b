"""Step 3 of Alg. 2: a supervised subspace of the base embedding, by linear discriminants."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils.extmath import svd_flip

from bitfold import _validation
from bitfold._threads import serial_blas
from bitfold._types import AnyArray, Float32Array

__all__ = ["discriminant"]

_RELATIVE_ZERO = 1e-5
"""Singular values below this fraction of the largest are treated as zero."""


@serial_blas()
def discriminant(
    base_embedding: Float32Array, labels: AnyArray, n_components: int, owner: str
) -> Float32Array:
    """Project the base embedding onto the directions that separate its classes best.

    Parameters
    ----------
    base_embedding
        Embedding of the base set, one row per base point.
    labels
        Class of each base point.
    n_components
        Number of directions, at most the number of classes minus one.
    owner
        Class whose parameter ``n_bits`` is the number of directions, for errors.

    Returns
    -------
    One row per base point, one column per direction. The length of a column is its correlation
    with the classes.

    Raises
    ------
    ParameterError
        If there are fewer than 2 classes, or too few for ``n_components``.

    Examples
    --------
    >>> Y = np.array([[0.0, 5.0], [1.0, 4.0], [0.0, -5.0], [1.0, -4.0]], np.float32)
    >>> np.abs(discriminant(Y, np.array([0, 0, 1, 1]), 1, "example")).round().tolist()
    [[1.0], [1.0], [1.0], [1.0]]
    """
    n_classes = len(np.unique(labels))
    if n_classes < 2:
        _validation.raise_invalid("y", owner, "labels of at least 2 classes", f"{n_classes} class")
    limit = min(n_classes - 1, base_embedding.shape[1])
    why = f"classes - 1 = {limit}" if limit == n_classes - 1 else f"n_components = {limit}"
    _validation.check_integer(n_components, "n_bits", owner, low=1, high=limit, why=why)
    return _project_canonically(base_embedding, labels, n_components)


def _project_canonically(Y: Float32Array, labels: AnyArray, n: int) -> Float32Array:
    """Return the linear discriminants, computed by canonical correlation with the classes.

    LDA divides the same directions by the scatter within classes. A direction with almost no such
    scatter would outweigh all others, and the rotation would serve it alone. Here the length of
    each direction is its correlation with the classes: 1 if they are entirely separate.
    """
    U, lengths, _ = np.linalg.svd(StandardScaler().fit_transform(Y.astype(np.float64)), False)
    U = U[:, lengths > _RELATIVE_ZERO * lengths[0]]
    class_of, sizes = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    members = np.eye(len(sizes))[class_of] / np.sqrt(sizes)
    W, correlations, _ = np.linalg.svd(U.T @ members, False)
    found = svd_flip(U @ W[:, :n], None)[0] * correlations[:n] * np.sqrt(len(Y))
    # With fewer dimensions than requested, the other bits are constant.
    projected = np.zeros((len(Y), n), np.float32)
    projected[:, : found.shape[1]] = found
    return projected
