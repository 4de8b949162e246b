"""The fitted state: derived values and the digest follow it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from bitfold.hashers import LSH, SpH

X = load_digits().data


def test_derived_values_are_computed_once_per_fit() -> None:
    hasher, calls = LSH(8, random_state=0).fit(X), []

    def build() -> int:
        calls.append(1)
        return len(calls)

    assert [hasher._derive("count", build) for _ in range(3)] == [1, 1, 1]
    hasher.fit(X)
    assert hasher._derive("count", build) == 2
    hasher.directions_ = hasher.directions_.copy()
    assert hasher._derive("count", build) == 3


def test_encoding_changes_no_attribute() -> None:
    hasher = LSH(8, random_state=0).fit(X)
    before = dict(vars(hasher))
    hasher.encode(X)
    assert vars(hasher) == before


def test_the_digest_identifies_the_state() -> None:
    one, same, other = (LSH(8, random_state=seed).fit(X) for seed in (0, 0, 1))
    assert one.model_digest == same.model_digest != other.model_digest
    assert one.encode(X).model_digest == one.model_digest
    assert copy.deepcopy(one).model_digest == one.model_digest
    assert pickle.loads(pickle.dumps(one)).model_digest == one.model_digest
    one.thresholds_ = one.thresholds_ + np.float32(1)
    assert one.model_digest != same.model_digest


def test_the_digest_covers_only_what_determines_the_codes() -> None:
    hasher = SpH(8, n_samples=200, max_iter=3, random_state=0).fit(X)
    digest = hasher.model_digest
    hasher.n_iter_ += 1
    assert hasher.model_digest == digest


def test_an_unfitted_hasher_has_no_digest() -> None:
    with pytest.raises(NotFittedError):
        _ = LSH().model_digest
