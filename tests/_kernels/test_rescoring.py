"""Distances to kept vectors of every format."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfold._kernels import rescoring

NO_SCALES = np.empty(0, np.float32)


def test_every_finite_half_is_converted_exactly() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16)
    values = halves.view(np.float16)
    finite = halves[np.isfinite(values)][:, None]
    rows = np.arange(len(finite))[:, None]
    query, out = np.zeros((len(finite), 1), np.float32), np.empty((len(finite), 1), np.float32)
    rescoring.measure_float16(finite, NO_SCALES, rows, query, False, out)
    expected = np.abs(finite.view(np.float16).astype(np.float64))
    # The distance is a square root of a square in float32; tiny squares underflow to 0.
    is_large = expected > 1e-18
    assert np.allclose(out[is_large], expected[is_large], rtol=1e-6)


@pytest.mark.parametrize("is_cosine", [False, True])
def test_formats_agree(is_cosine: bool) -> None:
    rng = np.random.default_rng(0)
    integers = rng.integers(-127, 128, (50, 33)).astype(np.int8)
    scales = np.full(50, 0.5, np.float32)
    X = (integers * np.float32(0.5)).astype(np.float32)
    rows = rng.integers(0, 50, (7, 20))
    Q = rng.normal(size=(7, 33)).astype(np.float32)
    Q /= np.linalg.norm(Q, axis=1, keepdims=True)
    out = [np.empty((7, 20), np.float32) for _ in range(3)]
    rescoring.measure_float32(X, NO_SCALES, rows, Q, is_cosine, out[0])
    half = X.astype(np.float16).view(np.uint16)
    rescoring.measure_float16(half, NO_SCALES, rows, Q, is_cosine, out[1])
    rescoring.measure_int8(integers, scales, rows, Q, is_cosine, out[2])
    if is_cosine:
        expected = 1 - np.einsum("qd,qcd->qc", Q, X[rows]) / np.linalg.norm(X[rows], axis=2)
    else:
        expected = np.linalg.norm(Q[:, None] - X[rows], axis=2)
    for each in out:
        assert np.allclose(each, expected, atol=1e-5)


def test_a_vector_of_zeros_has_no_direction() -> None:
    out = np.empty((1, 1), np.float32)
    X, Q = np.zeros((1, 2), np.float32), np.array([[1, 0]], np.float32)
    rescoring.measure_float32(X, NO_SCALES, np.array([[0]]), Q, True, out)
    assert out.tolist() == [[1]]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.integers(1, 12), st.randoms())
def test_the_nearest_are_selected_with_ties_by_row(values: list[int], k: int, rng: object) -> None:
    rows = np.random.default_rng(len(values)).permutation(len(values)).astype(np.int64)[None]
    measured = np.array([values], np.float32)
    k = min(k, len(values))
    nearest, distances = np.empty((1, k), np.int64), np.empty((1, k), np.float32)
    rescoring.select_nearest(rows, measured, nearest, distances)
    order = np.lexsort((rows, measured), axis=1)[:, :k]
    assert (nearest == np.take_along_axis(rows, order, 1)).all()
    assert (distances == np.take_along_axis(measured, order, 1)).all()
