"""Discrete coordinate descent, against all codes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bitfold._kernels.discrete import descend_bits
from bitfold._types import Float64Array, Int8Array

ALL = np.array(list(itertools.product((-1, 1), repeat=6)), np.int8)


def cost(codes: Int8Array, q: Float64Array, H: Float64Array) -> Float64Array:
    b = codes.astype(np.float64)
    return np.asarray(np.einsum("ij,jk,ik->i", b, H, b) - 2 * b @ q)


@pytest.mark.parametrize("seed", range(20))
def test_no_flip_of_one_bit_is_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((6, 6))
    H, q = A @ A.T, rng.standard_normal(6)
    codes = ALL.copy()
    descend_bits(codes, np.tile(q, (len(ALL), 1)), H, 100)
    before, after = cost(ALL, q, H), cost(codes, q, H)
    assert (after <= before + 1e-9).all()
    for bit in range(6):
        flipped = codes.copy()
        flipped[:, bit] *= -1
        assert (cost(flipped, q, H) >= after - 1e-9).all()
    # From some start, the best of all codes is reached, and it stays.
    assert after.min() == pytest.approx(before.min())
    best = before.argmin()
    np.testing.assert_array_equal(codes[best], ALL[best])


def test_bits_that_make_no_difference_stay() -> None:
    codes = ALL.copy()
    descend_bits(codes, np.zeros((len(ALL), 6)), np.eye(6), 100)
    np.testing.assert_array_equal(codes, ALL)


def test_number_of_sweeps_is_limited() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 2))
    codes, q = ALL.copy(), rng.standard_normal((len(ALL), 6))
    descend_bits(codes, q, A @ A.T, 0)
    np.testing.assert_array_equal(codes, ALL)
