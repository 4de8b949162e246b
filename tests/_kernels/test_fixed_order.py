"""Sums in a fixed order: a numpy version adds the same numbers in the same order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from numba.core.errors import TypingError

from bitfold._kernels.fixed_order import (
    LANES,
    N_COLUMNS,
    dot,
    dot_tile,
    lane_scores,
    sq_distance,
    sq_distance_tile,
)


@njit
def compute(x: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    return dot(x, a), dot_tile(x, a, b, c, d), sq_distance(x, a), sq_distance_tile(x, a, b, c, d)


@njit
def compute_lanes(x: Any, columns: Any, offsets: Any, limit: Any, out: Any) -> Any:
    return lane_scores(x, columns, offsets, limit, out)


@njit
def compute_pair(x: Any, a: Any) -> Any:
    return dot(x, a), sq_distance(x, a)


def add_in_order(terms: Any) -> Any:
    """Add terms as the kernels do: by lanes, then halves of lanes, then the rest."""
    whole = len(terms) - len(terms) % LANES
    lanes = np.zeros(LANES, terms.dtype)
    for row in terms[:whole].reshape(-1, LANES):
        lanes = lanes + row
    while len(lanes) > 1:
        lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
    rest = terms.dtype.type(0)
    for term in terms[whole:]:
        rest = rest + term
    return lanes[0] + rest


@given(st.integers(0, 100), st.integers(0, 2**32 - 1))
def test_every_rounding_is_that_of_numpy(length: int, seed: int) -> None:
    x, *others = np.random.default_rng(seed).standard_normal((5, length)).astype(np.float32)
    found = compute(x, *others)
    products = [add_in_order(x * other) for other in others]
    squares = [add_in_order((x - other) * (x - other)) for other in others]
    assert found == (products[0], tuple(products), squares[0], tuple(squares))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@given(length=st.integers(0, 100), seed=st.integers(0, 2**32 - 1))
def test_a_vector_of_doubles_makes_sums_in_double(kind: type, length: int, seed: int) -> None:
    x, a = np.random.default_rng(seed).standard_normal((2, length))
    a = a.astype(kind)
    expected = add_in_order(x * a), add_in_order((x - a) * (x - a))
    assert compute_pair(x, a) == compute_pair(a, x) == expected


@given(st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_columns_are_summed_in_order(length: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(length).astype(np.float32)
    columns = rng.standard_normal((length, N_COLUMNS)).astype(np.float32)
    out, expected = np.empty(N_COLUMNS, np.float32), np.zeros(N_COLUMNS, np.float32)
    offsets, limit = rng.standard_normal((2, N_COLUMNS)).astype(np.float32)
    mask = compute_lanes(x, columns, offsets, limit[0], out)
    for value, row in zip(x, columns, strict=True):
        expected = expected + value * row
    expected = offsets - 2 * expected
    np.testing.assert_array_equal(out, expected)
    assert mask == sum(1 << int(t) for t in np.flatnonzero(expected < limit[0]))


@pytest.mark.parametrize("x", [np.zeros(40, np.float32)[::2], np.zeros(20)])
def test_other_arrays_are_rejected(x: Any) -> None:
    with pytest.raises(TypingError, match="contiguous vectors of float32"):
        compute(x, *np.zeros((4, 20), np.float32))
