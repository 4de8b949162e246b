"""Input of the estimators: codes, or numbers that become bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from bitfold import _validation
from bitfold._types import AnyArray
from bitfold.codes import Codes
from bitfold.errors import DataError

_VALUES_PER_BLOCK = 1 << 22
"""Number of values that become bits together."""


def to_codes(estimator: BaseEstimator, X: Any, binarize: float | None, *, reset: bool) -> Codes:
    """Return codes as they are, and numbers as bits: 1 where they exceed a threshold.

    If ``reset`` is True, the estimator is being fitted and its number of features is set; otherwise
    the number of features is compared with it.
    """
    owner = type(estimator).__name__
    if isinstance(X, Codes):
        _check_n_bits(estimator, X, owner, reset=reset)
        return X
    if binarize is not None and not np.isfinite(_check_number(binarize, owner)):
        _validation.raise_invalid("binarize", owner, "finite or None", binarize)
    matrix = validate_data(estimator, X, reset=reset)
    step = max(1, _VALUES_PER_BLOCK // matrix.shape[1])
    blocks = [matrix[start : start + step] for start in range(0, len(matrix), step)]
    return Codes.concatenate([_pack(block, binarize, owner) for block in blocks])


def _pack(block: AnyArray, binarize: float | None, owner: str) -> Codes:
    if binarize is not None:
        return Codes.from_bits(block > binarize)
    if not ((block == 0) | (block == 1)).all():
        raise DataError(f"X of {owner} must contain only 0 and 1, because binarize is None.")
    return Codes.from_bits(block)


def _check_number(value: Any, owner: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        _validation.raise_invalid("binarize", owner, "a number or None", repr(value))
    return float(value)


def _check_n_bits(estimator: BaseEstimator, codes: Codes, owner: str, *, reset: bool) -> None:
    """Set or compare the number of features, as scikit-learn does for arrays."""
    if not len(codes):
        raise DataError(f"{owner} needs at least one code, got none.")
    if reset:
        estimator.n_features_in_ = codes.n_bits
        vars(estimator).pop("feature_names_in_", None)
    elif codes.n_bits != estimator.n_features_in_:
        requirement = f"of {estimator.n_features_in_} bits, as in fit"
        _validation.raise_invalid("X", owner, requirement, f"{codes.n_bits} bits")
