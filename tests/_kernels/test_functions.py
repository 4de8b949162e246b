"""The exponential, the logarithm and the cosine against those of Python, at all sizes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfold._kernels.functions import cosine, exp_of_negative, gaussians, log, waves


@given(st.floats(-100, 0))
def test_exponential(x: float) -> None:
    assert exp_of_negative(x) == pytest.approx(math.exp(x), rel=1e-14)


@pytest.mark.parametrize("x", [-110.0, -1e300, -math.inf, math.nan])
def test_exponential_that_underflows_is_zero_in_float32(x: float) -> None:
    assert np.float32(exp_of_negative(x)) == 0


def test_exponential_of_zero_is_one() -> None:
    assert exp_of_negative(0.0) == exp_of_negative(-0.0) == 1


@given(st.floats(-99_999, 99_999))
def test_cosine(x: float) -> None:
    assert cosine(x) == pytest.approx(math.cos(x), abs=1e-14)


@given(st.floats(-1e38, 1e38))
def test_cosine_of_a_huge_angle_is_a_cosine(x: float) -> None:
    assert abs(cosine(x)) <= 1
    assert cosine(x) == cosine(-x)


def test_gaussians_and_waves_are_computed_in_place() -> None:
    rng = np.random.default_rng(0)
    values = rng.uniform(0, 30, (5, 7)).astype(np.float32)
    kernels = values.copy()
    gaussians(kernels, 1.5)
    np.testing.assert_allclose(kernels, np.exp(-values / 4.5), rtol=1e-6)
    phases, thresholds = rng.uniform(-1, 1, (2, 7)).astype(np.float32)
    heights = values.copy()
    waves(heights, phases, thresholds)
    np.testing.assert_allclose(heights, np.cos(values + phases) - thresholds, atol=1e-5)


def test_gaussians_of_extreme_bandwidths() -> None:
    for bandwidth, expected in ((1e-30, [1, 0, 0]), (1e30, [1, 1, 1])):
        kernels = np.array([[0.0, 1.0, 1e30]], np.float32)
        gaussians(kernels, bandwidth)
        np.testing.assert_array_equal(kernels[0], expected)


@given(st.floats(1, 1e307))
def test_logarithm(x: float) -> None:
    assert log(x) == pytest.approx(math.log(x), rel=1e-14)


@pytest.mark.parametrize("x", [1.0, math.inf])
def test_logarithm_is_exact_at_the_ends(x: float) -> None:
    assert log(x) == math.log(x)
