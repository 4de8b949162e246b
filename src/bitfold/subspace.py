"""Step 3 of Alg. 2: a supervised subspace of the base embedding.

It is that of the linear discriminants, or of any supervised learner with the interface of
scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils.extmath import svd_flip

from bitfold import _validation
from bitfold._threads import serial_blas
from bitfold._types import AnyArray, Float32Array
from bitfold.errors import DataError, ParameterTypeError

__all__ = ["check_learner", "discriminant", "project_with_learner"]

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


def check_learner(learner: Any, name: str, owner: str) -> Any:
    """Return a learner that has ``fit``, ``transform``, ``get_params`` and ``set_params``.

    Parameters
    ----------
    learner
        An estimator with the interface of scikit-learn.
    name
        Name of the parameter, for the error.
    owner
        Class that the parameter belongs to.

    Returns
    -------
    The learner.

    Raises
    ------
    ParameterTypeError
        If it lacks one of the methods, or is a class.

    Examples
    --------
    >>> from sklearn.neighbors import NeighborhoodComponentsAnalysis
    >>> check_learner(NeighborhoodComponentsAnalysis(), "subspace", "example")
    NeighborhoodComponentsAnalysis()
    """
    methods = ("fit", "transform", "get_params", "set_params")
    if isinstance(learner, type) or not all(hasattr(learner, method) for method in methods):
        requirement = "None or an estimator of scikit-learn with fit and transform"
        raise ParameterTypeError(name, owner, requirement, repr(learner))
    return learner


def project_with_learner(
    base_embedding: Float32Array,
    labels: AnyArray,
    learner: Any,
    n_components: int | None,
    rng: np.random.Generator,
    owner: str,
) -> Float32Array:
    """Project the base embedding with a supervised subspace or metric learner.

    Parameters
    ----------
    base_embedding
        Embedding of the base set, one row per base point.
    labels
        Class of each base point.
    learner
        Estimator with ``fit(Y, labels)`` and ``transform(Y)``; a copy of it is fitted.
    n_components
        Number of columns. It replaces the ``n_components`` of the learner, if it has one. None
        leaves the number to the learner.
    rng
        Generator that seeds a learner whose ``random_state`` is None.
    owner
        Class whose parameters ``n_bits`` and ``subspace`` are meant in errors.

    Returns
    -------
    What the learner returns for the base points, centered.

    Raises
    ------
    ParameterError
        If the learner returns another number of columns.
    DataError
        If the learner cannot be fitted, or returns something else than finite numbers.

    Examples
    --------
    >>> from sklearn.neighbors import NeighborhoodComponentsAnalysis
    >>> Y = np.array([[0.0, 5.0], [1.0, 4.0], [0.0, -5.0], [1.0, -4.0]], np.float32)
    >>> labels, rng = np.array([0, 0, 1, 1]), np.random.default_rng(0)
    >>> learner = NeighborhoodComponentsAnalysis()
    >>> Z = project_with_learner(Y, labels, learner, 1, rng, "example")
    >>> bool(np.sign(Z[0]) == np.sign(Z[1]) != np.sign(Z[2]))
    True
    """
    copy = clone(learner)
    given = copy.get_params(deep=False)
    if n_components is not None and "n_components" in given:
        copy.set_params(n_components=n_components)
    if given.get("random_state", 0) is None:
        copy.set_params(random_state=int(rng.integers(2**31)))
    name = type(learner).__name__
    try:
        with serial_blas():
            Z = np.asarray(copy.fit(base_embedding, labels).transform(base_embedding))
    except ValueError as error:
        raise DataError(f"{name}, the subspace of {owner}, cannot be fitted: {error}") from error
    if Z.ndim != 2 or len(Z) != len(base_embedding) or not np.isfinite(Z).all():
        raise DataError(f"{name}, the subspace of {owner}, returned no finite row per base point.")
    if n_components is not None and Z.shape[1] != n_components:
        requirement = f"{Z.shape[1]}, the number of columns that {name} returns"
        _validation.raise_invalid("n_bits", owner, requirement, n_components)
    centered: Float32Array = (Z - Z.mean(axis=0)).astype(np.float32)
    return centered
