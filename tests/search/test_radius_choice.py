"""The radius for a precision, measured on a sample of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from tests.search.test_pairs import distances_of, make_index

from bitfold.errors import DataError, ParameterError
from bitfold.search import RadiusQuality, VectorCheck, measure_radii


@settings(max_examples=30)
@given(
    st.integers(2, 40),
    st.sampled_from([1, 9, 64, 70]),
    st.sampled_from([("l2", "euclidean"), ("cosine", "cosine")]),
    st.sampled_from([0.0, 0.25, 1.0, 2.0]),
    st.integers(0, 2**32),
)
def test_counts_equal_brute_force(
    n: int, n_bits: int, metric: tuple[str, Any], max_distance: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 4, (n, 3)) * 1.0
    bits = X @ rng.normal(size=(3, n_bits)) > 0
    if metric[0] == "cosine":
        max_distance += 0.001  # away from rounding: many pairs have equal directions
    check = VectorCheck(X, max_distance, metric[0])
    quality = measure_radii(make_index(bits, range(n)), check)
    others = ~np.eye(n, dtype=bool)
    near = (cdist(X, X, metric[1]) <= max_distance) & others
    hamming = distances_of(bits, bits)
    radii = range(n_bits + 1)
    assert quality.n_pairs.tolist() == [np.sum(others & (hamming <= r)) for r in radii]
    assert quality.n_near.tolist() == [np.sum(near & (hamming <= r)) for r in radii]


def test_sample_estimates_the_whole() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 8))
    index = make_index(X @ rng.normal(size=(8, 64)) > 0, range(3000))
    check = VectorCheck(X, 1.0)
    whole, sample = (measure_radii(index, check, n_sample=n) for n in (3000, 800))
    for radius in (8, 12, 16):
        assert abs(whole.precision(radius) - sample.precision(radius)) < 0.1
        assert abs(whole.recall(radius) - sample.recall(radius)) < 0.1


def test_choice() -> None:
    quality = RadiusQuality(np.array([0, 4, 10, 100]), np.array([0, 4, 9, 10]))
    assert [quality.choose(p) for p in (1, 0.95, 0.9, 0.1)] == [1, 1, 2, 3]
    assert np.isnan(quality.precision(0))
    assert quality.recall(1) == 0.4
    for wrong in (0, -1, 1.5, np.nan):
        with pytest.raises(ParameterError, match="precision"):
            quality.choose(wrong)
    with pytest.raises(DataError, match=r"radius 1, 0\.250 of 8 sampled pairs"):
        RadiusQuality(np.array([0, 8]), np.array([0, 2])).choose(0.9)
    with pytest.raises(DataError, match="No sampled pair"):
        RadiusQuality(np.array([0, 8]), np.array([0, 0])).choose(0.9)
