"""Hash functions on a base set: the signs of weighted means, and checks of loaded state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reproduction.prototype import exact_induction
from sklearn.datasets import load_digits

from bitfold._types import ProgressCallback
from bitfold.hashers.base import BaseSetHasher, Rows

X = load_digits().data


class FixedBaseSet(BaseSetHasher):
    """Training rows as base points, with random reals."""

    def _learn(self, rows: Rows, y: Any, progress: ProgressCallback) -> dict[str, Any]:
        reals = np.random.default_rng(0).standard_normal((30, 16)).astype(np.float32)
        return {
            "n_bits_": 16,
            "base_set_": rows.block(0, 30),
            "bit_embedding_": reals,
            "bandwidth_": 20.0,
            "n_neighbors_": 4,
        }


def test_reals_are_weighted_means() -> None:
    hasher = FixedBaseSet().fit(X)
    np.testing.assert_allclose(hasher.base_points_, X[:30], atol=1e-4)
    exact = exact_induction(X, X[:30], hasher.bit_embedding_, 4, 20.0)
    np.testing.assert_allclose(hasher.embed(X), exact, atol=1e-3)


def test_nearest_base_points_are_indexed_once() -> None:
    hasher = FixedBaseSet().fit(X)
    assert hasher.nearest_base_points is hasher.nearest_base_points
    assert hasher.nearest_base_points.k == 4


@pytest.mark.parametrize(("name", "value"), [("n_neighbors_", 31), ("bandwidth_", 0.0)])
def test_inconsistent_state_is_an_error(name: str, value: float) -> None:
    hasher = FixedBaseSet().fit(X)
    setattr(hasher, name, value)
    with pytest.raises(ValueError, match=name):
        hasher._check_fitted_state()
