"""Kernel hash functions: kernels, bandwidths and centering."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from bitfold.errors import DataError, ParameterError
from bitfold.hashers.base.kernel import (
    center_kernel,
    choose_bandwidth,
    gaussian_kernel,
    root_mean_sq_distance,
)

X = load_digits().data.astype(np.float32)
ROWS, ANCHORS = X[:100], X[100:130]


def test_kernels_are_gaussian() -> None:
    expected = np.exp(-cdist(ROWS, ANCHORS, "sqeuclidean") / (2 * 15.0**2))
    np.testing.assert_allclose(gaussian_kernel(ROWS, ANCHORS, 15.0), expected, rtol=1e-4)


@pytest.mark.parametrize("bandwidth", [1e-30, 1e30, 1e150])
def test_any_bandwidth_gives_finite_kernels(bandwidth: float) -> None:
    K = gaussian_kernel(ROWS, np.concatenate([ANCHORS, ROWS[:1]]), bandwidth)
    assert np.isfinite(K).all()


def test_a_kernel_does_not_depend_on_the_batch() -> None:
    whole = gaussian_kernel(ROWS, ANCHORS, 15.0)
    np.testing.assert_array_equal(gaussian_kernel(ROWS[7:8], ANCHORS, 15.0)[0], whole[7])


def test_the_default_bandwidth_is_the_root_mean_squared_distance() -> None:
    expected = np.sqrt(cdist(ROWS, ANCHORS, "sqeuclidean").mean())
    assert root_mean_sq_distance(ROWS, ANCHORS) == pytest.approx(expected, rel=1e-5)
    assert choose_bandwidth(None, ROWS, ANCHORS, "T") == root_mean_sq_distance(ROWS, ANCHORS)
    assert choose_bandwidth(3, ROWS, ANCHORS, "T") == 3.0
    assert root_mean_sq_distance(ROWS[:1], ROWS[:1]) == 1.0
    with pytest.raises(ParameterError, match="bandwidth of T"):
        choose_bandwidth(0, ROWS, ANCHORS, "T")


def test_centered_kernels_have_mean_zero() -> None:
    K = gaussian_kernel(ROWS, ANCHORS, 15.0)
    centered = center_kernel(K, "T")
    np.testing.assert_allclose(centered.values.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(centered.values + centered.mean, K)
    with pytest.raises(DataError, match="equal under the kernel"):
        center_kernel(np.ones((5, 3), np.float32), "T")
