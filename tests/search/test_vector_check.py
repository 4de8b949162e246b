"""Exact distances of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from bitfold._types import Float64Array
from bitfold.errors import DataError, ParameterError
from bitfold.search import VectorCheck, vector_check


def draw() -> tuple[Float64Array, Float64Array]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 5)), rng.normal(size=(20, 5))


@pytest.mark.parametrize(("metric", "name"), [("l2", "euclidean"), ("cosine", "cosine")])
def test_distances(metric: str, name: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_check, "_FLOATS_PER_BLOCK", 35)
    X, Y = draw()
    first, second = (index.ravel() for index in np.indices((30, 20)))
    check = VectorCheck(X, 1.0, metric, Y)
    exact = cdist(X, Y, name).ravel()
    np.testing.assert_allclose(check.measure(first, second), exact, atol=1e-6)
    np.testing.assert_array_equal(check.accepts(first, second), exact <= 1)
    np.testing.assert_allclose(check.read_first(np.array([7, 2, 7])), X[[7, 2, 7]], rtol=1e-6)


def test_integers_and_equal_rows() -> None:
    X = np.array([[255, 0], [255, 0], [0, 255]], np.uint8)
    pairs = np.array([0, 0]), np.array([1, 2])
    assert VectorCheck(X, 0).accepts(*pairs).tolist() == [True, False]
    zeros = VectorCheck(np.zeros((2, 3)), 0.5, "cosine")
    assert zeros.measure(np.array([0]), np.array([1])).tolist() == [1.0]


def test_wrong_parameters() -> None:
    X, Y = draw()
    pair = np.array([0]), np.array([29])
    with pytest.raises(ParameterError, match=r"metric .*'ip'"):
        VectorCheck(X, 1, "ip").measure(*pair)
    for limit in (-1, np.nan):
        with pytest.raises(ParameterError, match="max_distance"):
            VectorCheck(X, limit).measure(*pair)
    with pytest.raises(ParameterError, match=r"other_vectors .*5 columns.*got 3"):
        VectorCheck(X, 1, other_vectors=Y[:, :3]).measure(*pair)
    with pytest.raises(DataError, match="20 vectors, but none for id 29"):
        VectorCheck(X, 1, other_vectors=Y).measure(*pair)
    with pytest.raises(DataError, match="none for id -1"):
        VectorCheck(X, 1).measure(np.array([-1]), np.array([0]))
    X[29, 0] = np.nan
    with pytest.raises(DataError, match="29"):
        VectorCheck(X, 1).measure(*pair)
