"""Checks with pandas, which run only if it is installed."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone

from bitfold.hashers import Hasher, load
from bitfold.testing._hasher_checks.common import (
    assert_same_state,
    fit_copy,
    load_sample,
    needs_labels,
)


def check_column_names(hasher: Hasher) -> None:
    """Check that the column names of a data frame are stored and compared."""
    import pandas as pd

    X, y, queries = load_sample()
    columns = [f"pixel {column}" for column in range(64)]
    frame = pd.DataFrame(queries, columns=columns)
    fitted = clone(hasher).fit(pd.DataFrame(X, columns=columns), y)
    with tempfile.TemporaryDirectory() as folder:
        fitted.save(Path(folder) / "hasher")
        loaded = load(Path(folder) / "hasher")
    assert_same_state(loaded, fitted)
    for either in (fitted, loaded):
        assert list(either.feature_names_in_) == columns
        assert either.encode(frame) == fit_copy(hasher).encode(queries)
        _assert_raises_for_other_order(either, frame[columns[::-1]])
        _assert_warns_without_names(either, queries)


def _assert_raises_for_other_order(fitted: Hasher, frame: object) -> None:
    try:
        fitted.encode(frame)
    except ValueError as error:
        assert "feature names should match" in str(error), str(error)
    else:
        raise AssertionError("no ValueError was raised for columns in another order")


def _assert_warns_without_names(fitted: Hasher, queries: object) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted.encode(queries)
    messages = [str(warning.message) for warning in caught]
    assert any("does not have valid feature names" in message for message in messages), messages


def check_frame_output(hasher: Hasher) -> None:
    """Check that ``set_output(transform="pandas")`` gives a data frame with named bits."""
    import pandas as pd

    fitted, queries = fit_copy(hasher), load_sample().queries
    bits, names = fitted.transform(queries), fitted.get_feature_names_out()
    frame = fitted.set_output(transform="pandas").transform(queries)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(names)
    np.testing.assert_array_equal(frame.to_numpy(), bits)


def check_series_labels(hasher: Hasher) -> None:
    """Check that labels may be a series, of numbers or of categories."""
    import pandas as pd

    if not needs_labels(hasher):
        return
    X, y, _ = load_sample()
    names = np.array(list("abcdefghij"))[y]
    for labels in (pd.Series(y), pd.Series(names, dtype="category")):
        assert_same_state(clone(hasher).fit(X, labels), fit_copy(hasher))


FRAME_CHECKS = (check_column_names, check_frame_output, check_series_labels)
