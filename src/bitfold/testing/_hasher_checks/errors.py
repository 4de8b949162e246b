"""Checks of invalid input: vectors, parameters and labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from bitfold._types import AnyArray
from bitfold.hashers import Hasher
from bitfold.testing._hasher_checks.common import (
    assert_raises,
    assert_same_state,
    fit_copy,
    has_random_state,
    load_many_rows,
    load_sample,
    needs_labels,
)


class InvalidRows(NamedTuple):
    """Rows that no hasher accepts, the class of the error and a part of its message."""

    rows: Any
    kind: type[Exception]
    part: str


def _replace_value(value: float, row: int, n_rows: int = 240) -> AnyArray:
    rows = np.resize(load_many_rows().astype(np.float64), (n_rows, 64))
    rows[row, 5] = value
    return rows


def _list_invalid_rows() -> list[InvalidRows]:
    X = load_sample().X
    return [
        InvalidRows(_replace_value(np.nan, 7), ValueError, "NaN in row 7."),
        InvalidRows(_replace_value(np.nan, 8200, 9000), ValueError, "NaN in row 8200."),
        InvalidRows(_replace_value(np.inf, 100), ValueError, "row 100."),
        InvalidRows(_replace_value(-np.inf, 0), ValueError, "row 0."),
        InvalidRows(_replace_value(1e300, 3), ValueError, "row 3."),
        InvalidRows(_replace_value(np.nan, 7).astype(np.float32), ValueError, "NaN in row 7."),
        InvalidRows(_replace_value(np.inf, 7).astype(np.float16), ValueError, "row 7."),
        InvalidRows(_replace_value(np.nan, 7).astype(object), ValueError, "NaN in row 7."),
        InvalidRows(X[0], ValueError, "shape (64,)"),
        InvalidRows(X[None], ValueError, "shape (1, 240, 64)"),
        InvalidRows(X[0, 0], ValueError, "shape ()"),
        InvalidRows(None, ValueError, "shape ()"),
        InvalidRows(X[:0], ValueError, "(shape=(0, 64))"),
        InvalidRows(X[:, :0], ValueError, "(shape=(240, 0))"),
        InvalidRows([["a", "b"], ["c", "d"]], ValueError, "dtype <U1"),
        InvalidRows(X.astype("M8[s]"), ValueError, "dtype datetime64[s]"),
        InvalidRows(np.array([[{}, 1]]), TypeError, "numbers"),
        InvalidRows(X + 1j, ValueError, "dtype complex128"),
        InvalidRows(sparse.csr_array(X), TypeError, "sparse"),
        InvalidRows(sparse.coo_matrix(X), TypeError, "sparse"),
    ]


def check_invalid_rows(hasher: Hasher) -> None:
    """Check that input other than a dense matrix of finite real numbers raises."""
    fitted, owner = fit_copy(hasher), type(hasher).__name__
    for rows, kind, part in _list_invalid_rows():
        for method in (fitted.encode, fitted.transform, fitted.embed):
            with assert_raises(kind, f"X of {owner} ", part):
                method(rows)
        n_labels = 9000 if np.shape(rows)[:1] == (9000,) else 240
        with assert_raises(kind, f"X of {owner} ", part):
            clone(hasher).fit(rows, np.arange(n_labels) % 10)


def check_number_of_features(hasher: Hasher) -> None:
    """Check that rows with another number of features than in ``fit`` raise."""
    fitted = fit_copy(hasher)
    for method in (fitted.encode, fitted.transform, fitted.embed):
        with assert_raises(ValueError, "63 features", type(hasher).__name__, "64 features"):
            method(load_sample().queries[:, :63])


def check_one_row(hasher: Hasher) -> None:
    """Check that ``fit`` raises for a single row."""
    with assert_raises(ValueError, f"X of {type(hasher).__name__} ", "1 sample(s)"):
        clone(hasher).fit(load_sample().X[:1], load_sample().y[:1])


def check_distances_that_overflow(hasher: Hasher) -> None:
    """Check that ``fit`` raises for rows whose distances overflow float32."""
    if hasher.normalize:
        return  # all rows have unit length
    # faiss would crash the process.
    with assert_raises(ValueError, f"X of {type(hasher).__name__} ", "1e+25 in row 11."):
        clone(hasher).fit(_replace_value(1e25, 11), load_sample().y)


def check_invalid_n_bits(hasher: Hasher) -> None:
    """Check that ``n_bits`` must be a positive integer."""
    for number in (0, -1):
        _check_parameter(hasher, "n_bits", number, ValueError)
    for value in (2.5, True, "8", [8]):
        _check_parameter(hasher, "n_bits", value, TypeError)


def check_invalid_random_state(hasher: Hasher) -> None:
    """Check that ``random_state`` must be a seed or a Generator."""
    if has_random_state(hasher):
        _check_parameter(hasher, "random_state", -1, ValueError)
        for value in (1.5, "a", np.random.RandomState(0)):
            _check_parameter(hasher, "random_state", value, TypeError)


def _check_parameter(hasher: Hasher, name: str, value: Any, kind: type[Exception]) -> None:
    with assert_raises(kind, f"{name} of ", repr(value)):
        clone(hasher).set_params(**{name: value}).fit(load_sample().X, load_sample().y)


def check_invalid_labels(hasher: Hasher) -> None:
    """Check that missing, mixed, real or too few labels raise if labels are required."""
    if not needs_labels(hasher):
        return
    X, y, _ = load_sample()
    for labels, part in (
        (None, "None"),
        (y[:-1], "(239,)"),
        (np.stack([y, y], axis=1), "(240, 2)"),
        (np.where(y == 3, np.nan, y), "NaN"),
        (y + 0.5, ""),
        (np.full(240, -1), "at least 2 classes"),
        (np.where(y == 3, 3, -1), "at least 2 classes"),
        (np.where(y == 3, np.array(None), y), "missing"),
        (np.where(y == 3, "three", y.astype(object)), "mixed"),
        (y + 0j, "mixed"),
    ):
        with assert_raises(ValueError, f"y of {type(hasher).__name__} ", part):
            clone(hasher).fit(X, labels)


def check_label_types(hasher: Hasher) -> None:
    """Check that numbers and strings of any type can name the classes."""
    if not needs_labels(hasher):
        return
    X, y, _ = load_sample()
    names = np.array(list("abcdefghij"))[y]
    numbers = (y.tolist(), y.astype(np.uint8), y.astype(float), y[:, None], y * 7 - 20)
    for labels in (*numbers, names, names.astype(object)):
        assert_same_state(clone(hasher).fit(X, labels), fit_copy(hasher))


ERROR_CHECKS = (
    check_invalid_rows,
    check_number_of_features,
    check_one_row,
    check_distances_that_overflow,
    check_invalid_n_bits,
    check_invalid_random_state,
    check_invalid_labels,
    check_label_types,
)
