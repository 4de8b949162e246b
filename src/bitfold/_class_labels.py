"""Class labels: their checks, and which rows have one."""

from __future__ import annotations

from typing import Any

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray, BoolArray
from bitfold.errors import DataError


def is_labeled(y: AnyArray) -> BoolArray:
    """Return which rows have a label; -1 means unlabeled, as in scikit-learn, and so does ""."""
    if y.dtype.kind in "iuf":
        return np.asarray(y != -1)
    if y.dtype.kind == "U":
        # In a text file, -1 is a string like any other.
        return np.asarray((y != "-1") & (y != ""))
    return np.array([label != -1 for label in y], bool)


def check_labels(y: Any, n_rows: int, owner: str) -> AnyArray:
    """Return labels as an array.

    Parameters
    ----------
    y
        One label per row; -1 and "" mean unlabeled.
    n_rows
        Number of rows.
    owner
        Class or function that needs the labels.

    Returns
    -------
    numpy.ndarray
        The labels, of shape (n_rows,).

    Raises
    ------
    DataError
        If there are no labels, or they are real numbers.
    ParameterError
        If their number is wrong, or they cannot be compared with each other.

    Examples
    --------
    >>> check_labels([0, 1, -1], 3, "MyHasher").tolist()
    [0, 1, -1]
    """
    if y is None:
        # The words in parentheses are those that scikit-learn's checks look for.
        raise DataError(
            f"y of {owner} must be an array of {n_rows} labels, got None "
            f"(requires y to be passed, but the target y is None)."
        )
    array = _validation.convert_to_array(y, "y", owner)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.shape != (n_rows,):
        requirement = f"one label for each of the {n_rows} rows of X"
        _validation.raise_invalid("y", owner, requirement, f"shape {array.shape}")
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            _validation.raise_invalid("y", owner, "finite", "NaN or infinity")
        if not (array == np.floor(array)).all():
            raise DataError(f"Unknown label type: y of {owner} must be class labels, got reals.")
    if array.dtype.kind in "cOV":
        _check_comparable(array, owner)
    return array


def _check_comparable(array: AnyArray, owner: str) -> None:
    """Raise unless all labels, except -1, are present and can be sorted."""
    try:
        classes = sorted({label for label in array.tolist() if label != -1})
        comparable = None not in classes and all(label == label for label in classes)
    except TypeError:
        comparable = False
    if not comparable:
        _validation.raise_invalid(
            "y", owner, "labels that can be compared", "missing or mixed ones"
        )
