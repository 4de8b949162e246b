"""Rows are scaled to unit length, whatever their size."""

from __future__ import annotations

import numpy as np
import pytest

from bitfold.io import scale_to_unit_length


@pytest.mark.parametrize("exponent", [-1000, -700, -100, -1, 1, 100, 120])
def test_powers_of_two_do_not_change_normalized_rows(exponent: int) -> None:
    X = np.random.default_rng(0).standard_normal((50, 9))
    expected = scale_to_unit_length(X, "T")
    np.testing.assert_array_equal(scale_to_unit_length(2.0**exponent * X, "T"), expected)


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-30, 1e30, 1e37])
def test_tiny_and_huge_rows_are_normalized(scale: float) -> None:
    X = np.array([[3.0, 0.0, -4.0]]) * scale
    # The smallest numbers have few digits.
    np.testing.assert_allclose(scale_to_unit_length(X, "T"), [[0.6, 0, -0.8]], rtol=1e-3)
