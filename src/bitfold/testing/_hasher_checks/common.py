"""Data and assertions that the checks of hashers share."""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils import get_tags

from bitfold._types import AnyArray, Float32Array
from bitfold.hashers import Hasher


class TrainingSample(NamedTuple):
    """Training rows with labels, and rows to encode; all values are integers."""

    X: AnyArray
    y: AnyArray
    queries: AnyArray


@functools.cache
def load_sample() -> TrainingSample:
    """Return 300 handwritten digits as read-only float64."""
    X, y = load_digits(return_X_y=True)
    X.setflags(write=False)
    y.setflags(write=False)
    return TrainingSample(X[:240], y[:240], X[240:300])


@functools.cache
def load_many_rows() -> Float32Array:
    """Return distinct rows that fill several blocks."""
    digits = load_digits().data
    shifted = [digits + 0.25 * shift for shift in range(6)]
    rows: Float32Array = np.concatenate(shifted).astype(np.float32)
    rows.setflags(write=False)
    return rows


def needs_labels(hasher: Hasher) -> bool:
    """Return whether ``fit`` requires labels."""
    return bool(get_tags(hasher).target_tags.required)


def has_random_state(hasher: Hasher) -> bool:
    """Return whether the hasher has a parameter ``random_state``."""
    return "random_state" in hasher.get_params()


def fit_copy(hasher: Hasher) -> Hasher:
    """Return a fitted copy that a check may change."""
    return copy.deepcopy(_fit_once(hasher))


@functools.lru_cache(maxsize=4)
def _fit_once(hasher: Hasher) -> Hasher:
    fitted: Hasher = clone(hasher).fit(load_sample().X, load_sample().y)
    return fitted


def get_state(hasher: Hasher) -> dict[str, Any]:
    """Return the attributes that ``fit`` sets."""
    return {name: value for name, value in vars(hasher).items() if name.endswith("_")}


def assert_same_state(actual: Hasher, expected: Hasher) -> None:
    """Raise unless both hashers have the same class, parameters and fitted attributes."""
    assert type(actual) is type(expected)
    assert repr(actual) == repr(expected)
    ours, theirs = get_state(actual), get_state(expected)
    assert ours.keys() == theirs.keys()
    for name in ours:
        if isinstance(ours[name], Hasher):
            assert_same_state(ours[name], theirs[name])
        else:
            np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)


def assert_valid_codes(hasher: Hasher, rows: AnyArray) -> None:
    """Raise unless every row has a finite embedding and a code."""
    assert np.isfinite(hasher.embed(rows)).all()
    assert len(hasher.encode(rows)) == len(rows)


@contextmanager
def assert_raises(kind: type[Exception], *parts: object) -> Iterator[None]:
    """Raise unless the block raises ``kind`` with a one-line message that contains all parts."""
    try:
        yield
    except kind as error:
        message = str(error)
    else:
        raise AssertionError(f"no {kind.__name__} was raised")
    assert "\n" not in message, f"not one line: {message!r}"
    assert message.endswith("."), f"not a sentence: {message!r}"
    for part in map(str, parts):
        assert part in message, f"{part!r} is missing in {message!r}"


@contextmanager
def ignore_warnings() -> Iterator[None]:
    """Let a hasher warn, for example that the data are too small for its parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
