"""Checks of ``normalize=True``, for hashers that have this parameter."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.base import clone

from bitfold.hashers import Hasher, load
from bitfold.io import scale_to_unit_length
from bitfold.testing._hasher_checks.common import (
    assert_raises,
    assert_same_state,
    assert_valid_codes,
    get_state,
    load_sample,
)


def _has_normalize(hasher: Hasher) -> bool:
    """Return whether the hasher has the parameter; one with its own ``__init__`` may lack it."""
    return "normalize" in hasher.get_params()


def _set_normalize(hasher: Hasher, normalize: object = True) -> Hasher:
    copied: Hasher = clone(hasher).set_params(normalize=normalize)
    return copied


def check_normalize_scales_rows(hasher: Hasher) -> None:
    """Check that ``normalize=True`` gives the model and codes of rows scaled before."""
    if not _has_normalize(hasher):
        return
    X, y, queries = load_sample()
    scaled, scaled_queries = (scale_to_unit_length(rows, "X") for rows in (X, queries))
    ours = _set_normalize(hasher).fit(X, y)
    theirs = _set_normalize(hasher, False).fit(scaled, y)
    np.testing.assert_array_equal(ours.embed(queries), theirs.embed(scaled_queries))
    assert (ours.normalize_, theirs.normalize_) == (True, False)
    assert ours.model_digest != theirs.model_digest
    _assert_same_but_for_scaling(ours, theirs)


def _assert_same_but_for_scaling(ours: Hasher, theirs: Hasher) -> None:
    """Raise unless all fitted attributes except ``normalize_`` are equal."""
    for name, value in get_state(theirs).items():
        if isinstance(value, Hasher):
            _assert_same_but_for_scaling(getattr(ours, name), value)
        elif name != "normalize_":
            np.testing.assert_array_equal(getattr(ours, name), value, err_msg=name)


def check_lengths_do_not_matter(hasher: Hasher) -> None:
    """Check that with ``normalize=True`` the lengths of rows affect neither model nor codes."""
    if not _has_normalize(hasher):
        return
    X, y, queries = load_sample()
    fitted = _set_normalize(hasher).fit(X, y)
    rng = np.random.default_rng(0)
    # Powers of 2, with which rows are multiplied without rounding.
    lengths, query_lengths = (2.0 ** rng.integers(-99, 99, (len(Z), 1)) for Z in (X, queries))
    assert_same_state(_set_normalize(hasher).fit(X * lengths, y), fitted)
    np.testing.assert_array_equal(fitted.embed(queries * query_lengths), fitted.embed(queries))
    assert fitted.encode(queries * query_lengths) == fitted.encode(queries)


def check_normalize_of_zero_rows(hasher: Hasher) -> None:
    """Check that with ``normalize=True`` rows of zeros, tiny and huge rows have codes."""
    if not _has_normalize(hasher):
        return
    X, y, _ = load_sample()
    rows = X.copy()
    rows[:20] = 0
    rows[20:40] *= 1e-30
    rows[40:60] *= 1e30
    assert_valid_codes(_set_normalize(hasher).fit(rows, y), rows)


def check_normalize_is_stored(hasher: Hasher) -> None:
    """Check that a model scales rows as it did in ``fit``, also after loading."""
    if not _has_normalize(hasher):
        return
    X, y, queries = load_sample()
    fitted = _set_normalize(hasher).fit(X, y)
    codes = fitted.encode(queries)
    with tempfile.TemporaryDirectory() as folder:
        fitted.save(Path(folder) / "hasher")
        loaded = load(Path(folder) / "hasher")
    assert_same_state(loaded, fitted)
    assert loaded.encode(queries) == codes
    assert fitted.set_params(normalize=False).encode(queries) == codes
    assert fitted.fit(X, y).normalize_ is False


def check_invalid_normalize(hasher: Hasher) -> None:
    """Check that ``normalize`` must be True or False."""
    if not _has_normalize(hasher):
        return
    X, y, _ = load_sample()
    for value in (1, None, "l2"):
        with assert_raises(TypeError, f"normalize of {type(hasher).__name__} ", repr(value)):
            _set_normalize(hasher, value).fit(X, y)


NORMALIZATION_CHECKS = (
    check_normalize_scales_rows,
    check_lengths_do_not_matter,
    check_normalize_of_zero_rows,
    check_normalize_is_stored,
    check_invalid_normalize,
)
