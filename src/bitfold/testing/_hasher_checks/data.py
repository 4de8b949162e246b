"""Checks on difficult but valid data."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from bitfold.errors import DataError, ParameterError
from bitfold.hashers import Hasher
from bitfold.metrics import map_scorer
from bitfold.testing._hasher_checks.common import (
    assert_valid_codes,
    fit_copy,
    ignore_warnings,
    load_sample,
)


def check_offset(hasher: Hasher) -> None:
    """Check that data far from the origin give codes of similar quality."""
    if hasher.normalize:
        return  # all rows have nearly the same direction
    X, y, _ = load_sample()
    far = X + 1e6
    fitted = clone(hasher).fit(far, y)
    assert_valid_codes(fitted, far)
    # Not bit for bit: the center is rounded differently, and gradient descent is chaotic.
    assert map_scorer(fitted, far, y) > 0.8 * map_scorer(fit_copy(hasher), X, y)


def check_scale(hasher: Hasher) -> None:
    """Check that data in another unit of measurement give codes of similar quality."""
    X, y, _ = load_sample()
    for scale in (1e-3, 1e3):
        fitted = clone(hasher).fit(scale * X, y)
        assert map_scorer(fitted, scale * X, y) > 0.8 * map_scorer(fit_copy(hasher), X, y)


def check_distant_rows(hasher: Hasher) -> None:
    """Check that rows far away from the training data have codes."""
    fitted = fit_copy(hasher)
    for distance in (1e6, 1e18, 1e30, 8e37):
        rows = np.full((3, fitted.n_features_in_), np.float32(distance), np.float64)
        rows[1] *= -1
        rows[2, ::2] *= -1
        assert_valid_codes(fitted, rows)
        np.testing.assert_array_equal(fitted.embed(rows), fitted.embed(rows.astype(np.float32)))


def check_constant_columns_and_repeated_rows(hasher: Hasher) -> None:
    """Check that constant columns and repeated rows give codes, and equal rows equal ones."""
    X, y, _ = load_sample()
    constant = X.copy()
    constant[:, :20], constant[:, 20] = 0, 1e6
    repeated = np.repeat(X[:40], 6, axis=0)
    for rows, labels in ((constant, y), (repeated, np.repeat(y[:40], 6))):
        with ignore_warnings():
            fitted = clone(hasher).fit(rows, labels)
        assert_valid_codes(fitted, rows)
    bits = fitted.transform(repeated).reshape(40, 6, -1)
    assert (bits == bits[:, :1]).all()


def check_tiny_data(hasher: Hasher) -> None:
    """Check that very few or equal rows give codes, a DataError or a ParameterError."""
    X, y, _ = load_sample()
    equal = np.repeat(X[:1], 30, axis=0)
    for rows, labels in ((equal, np.arange(30) % 3), (X[:2], y[:2]), (X[:5], y[:5])):
        ours = clone(hasher)
        try:
            with ignore_warnings():
                ours.fit(rows, labels)
        except (DataError, ParameterError) as error:
            assert str(error).endswith("."), str(error)
        else:
            assert_valid_codes(ours, rows)


DATA_CHECKS = (
    check_offset,
    check_scale,
    check_distant_rows,
    check_constant_columns_and_repeated_rows,
    check_tiny_data,
)
