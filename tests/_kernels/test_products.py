"""Products that are functions of one row alone, and signs that always agree with them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from bitfold._kernels import products
from bitfold._types import Float32Array

SHAPES = [(1, 1), (2, 3), (7, 5), (8, 64), (9, 17), (31, 100), (64, 784), (65, 800), (130, 33)]
"""Numbers of bits and features around the sizes of bytes, words, tiles and vector registers."""


def dots(rows: Float32Array, directions: Float32Array) -> Float32Array:
    out = np.full((len(rows), len(directions)), np.nan, np.float32)
    products.dots(rows, directions, out)
    return out


def sq_distances(rows: Float32Array, points: Float32Array) -> Float32Array:
    out = np.full((len(rows), len(points)), np.nan, np.float32)
    products.sq_distances(rows, points, out)
    return out


def signs(
    rows: Float32Array,
    directions: Float32Array,
    thresholds: Float32Array,
    by_blas: Float32Array | None = None,
) -> NDArray[np.uint8]:
    if by_blas is None:
        with np.errstate(all="ignore"):
            by_blas = rows @ directions.T
    packed = np.full((len(rows), -(-len(directions) // 8)), 0xFF, np.uint8)
    lengths = np.linalg.norm(directions, axis=1)
    products.signs(rows, by_blas.copy(), directions, lengths, thresholds, packed)
    return packed


def assert_same_bits(
    rows: Float32Array, directions: Float32Array, thresholds: Float32Array
) -> None:
    expected = np.packbits(dots(rows, directions) > thresholds, axis=1)
    np.testing.assert_array_equal(signs(rows, directions, thresholds), expected)


def draw_rows_and_directions(
    n: int, n_bits: int, n_features: int, seed: int = 0
) -> tuple[Float32Array, Float32Array]:
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((n, n_features)).astype(np.float32),
        rng.standard_normal((n_bits, n_features)).astype(np.float32),
    )


# Inner products and distances


@pytest.mark.parametrize(("n_bits", "n_features"), SHAPES)
def test_dots_are_inner_products(n_bits: int, n_features: int) -> None:
    rows, directions = draw_rows_and_directions(130, n_bits, n_features)
    exact = rows.astype(np.float64) @ directions.T.astype(np.float64)
    worst = np.abs(rows).astype(np.float64) @ np.abs(directions).T.astype(np.float64)
    assert (np.abs(dots(rows, directions) - exact) <= 1e-6 * worst + 1e-12).all()


@pytest.mark.parametrize(("n_bits", "n_features"), SHAPES)
def test_distances_are_squared_distances(n_bits: int, n_features: int) -> None:
    rows, points = draw_rows_and_directions(130, n_bits, n_features)
    exact = ((rows[:, None].astype(np.float64) - points) ** 2).sum(axis=2)
    np.testing.assert_allclose(sq_distances(rows, points), exact, rtol=3e-6)


@pytest.mark.parametrize("measure", [dots, sq_distances])
@pytest.mark.parametrize(("n_bits", "n_features"), SHAPES)
def test_one_row_equals_all_at_once(
    measure: Callable[[Float32Array, Float32Array], Float32Array], n_bits: int, n_features: int
) -> None:
    rows, directions = draw_rows_and_directions(150, n_bits, n_features)
    together = measure(rows, directions)
    for i in (0, 1, 63, 64, 149):
        np.testing.assert_array_equal(measure(rows[i : i + 1], directions)[0], together[i])
    np.testing.assert_array_equal(measure(rows[37:], directions), together[37:])
    # The directions in the same tile do not matter either.
    for j in {0, n_bits // 2, n_bits - 1}:
        np.testing.assert_array_equal(measure(rows, directions[j : j + 1])[:, 0], together[:, j])


def test_distances_far_from_the_origin_are_accurate() -> None:
    rows, _ = draw_rows_and_directions(50, 9, 20)
    near = (1 + np.arange(-4, 5)[:, None] * np.full((9, 20), 2.0**-20)).astype(np.float32)
    ones = np.ones((1, 20), np.float32)
    expected = 20 * (np.arange(-4, 5) * 2.0**-20) ** 2
    np.testing.assert_allclose(sq_distances(ones, near)[0], expected, rtol=1e-6)
    assert (sq_distances(rows, rows).diagonal() == 0).all()


@pytest.mark.parametrize("far", [1e18, 1e25, 1e30, 8e37])
def test_dots_of_far_rows_are_clipped_to_float32(far: float) -> None:
    rows, directions = draw_rows_and_directions(60, 20, 40)
    rows *= np.float32(far)
    exact = rows.astype(np.float64) @ directions.T.astype(np.float64)
    largest = float(np.finfo(np.float32).max)
    found = dots(rows, directions)
    assert np.isfinite(found).all()
    worst = np.abs(rows).astype(np.float64) @ np.abs(directions).T.astype(np.float64)
    assert (np.abs(found - exact.clip(-largest, largest)) <= 1e-6 * worst).all()


def test_distances_above_float32_are_infinite() -> None:
    rows = np.full((2, 30), 1e25, np.float32)
    assert np.isinf(sq_distances(rows, np.zeros((5, 30), np.float32))).all()
    assert (sq_distances(rows, rows) == 0).all()


# Signs


@pytest.mark.parametrize(("n_bits", "n_features"), SHAPES)
def test_signs_agree_with_dots(n_bits: int, n_features: int) -> None:
    rows, directions = draw_rows_and_directions(200, n_bits, n_features)
    assert_same_bits(rows, directions, np.zeros(n_bits, np.float32))
    thresholds = np.random.default_rng(1).standard_normal(n_bits).astype(np.float32)
    assert_same_bits(rows, directions, thresholds)


def test_signs_for_all_numbers_of_bits() -> None:
    rng = np.random.default_rng(2)
    for n_bits in range(1, 131):
        rows, directions = draw_rows_and_directions(6, n_bits, int(rng.integers(1, 801)), n_bits)
        # Thresholds equal to products, so that the last bit of the sum decides.
        assert_same_bits(rows, directions, dots(rows, directions)[n_bits % 6])


@pytest.mark.parametrize(("n_bits", "n_features"), SHAPES)
@pytest.mark.parametrize("toward", [-np.inf, np.inf])
def test_threshold_one_float_away(n_bits: int, n_features: int, toward: float) -> None:
    rows, directions = draw_rows_and_directions(12, n_bits, n_features)
    exact = dots(rows, directions)
    for i in range(len(rows)):
        threshold = np.nextafter(exact[i], np.float32(toward))
        assert_same_bits(rows, directions, threshold)
        bits = np.unpackbits(signs(rows[i : i + 1], directions, threshold), count=n_bits)
        assert (bits == (toward < 0)).all()
        assert not signs(rows[i : i + 1], directions, exact[i]).any()


def draw_on_hyperplanes(
    directions: Float32Array, n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return rows orthogonal to one direction each, for which the sign depends on rounding."""
    rows = rng.standard_normal((n, directions.shape[1]))
    for i, row in enumerate(rows):
        w = directions[i % len(directions)].astype(np.float64)
        row -= (row @ w) / (w @ w) * w
    return rows


@pytest.mark.parametrize(("n_bits", "n_features"), SHAPES)
@pytest.mark.parametrize("scale", [1, 1e-12, 1e-20, 1e15, 1e28])
def test_rows_on_the_hyperplane(n_bits: int, n_features: int, scale: float) -> None:
    _, directions = draw_rows_and_directions(1, n_bits, n_features)
    rows = scale * draw_on_hyperplanes(directions, 120, np.random.default_rng(3))
    assert_same_bits(rows.astype(np.float32), directions, np.zeros(n_bits, np.float32))


def test_rows_whose_squares_underflow() -> None:
    for n_bits, n_features in SHAPES:
        _, directions = draw_rows_and_directions(1, n_bits, n_features)
        rows = draw_on_hyperplanes(directions, 120, np.random.default_rng(3))
        for scale in (1e-25, 1e-30, 1e-36, 1e-42):
            small = (scale * rows).astype(np.float32)
            assert_same_bits(small, directions, np.zeros(n_bits, np.float32))


@pytest.mark.parametrize(("n_bits", "n_features"), SHAPES)
def test_integers_zeros_and_duplicates(n_bits: int, n_features: int) -> None:
    rng = np.random.default_rng(4)
    rows = rng.integers(-3, 4, (100, n_features)).astype(np.float32)
    directions = rng.integers(-3, 4, (n_bits, n_features)).astype(np.float32)
    rows[:5], directions[0] = 0, 0
    rows[50:] = rows[:50]
    exact = rows.astype(np.int64) @ directions.T.astype(np.int64)
    thresholds = exact[7].astype(np.float32)
    for t in (np.zeros(n_bits, np.float32), thresholds):
        assert_same_bits(rows, directions, t)
        packed = signs(rows, directions, t)
        np.testing.assert_array_equal(packed, np.packbits(exact > t, axis=1))
        np.testing.assert_array_equal(packed[50:], packed[:50])


@pytest.mark.parametrize(("n_bits", "n_features"), SHAPES)
@pytest.mark.parametrize("far", [1e14, 1e27, 1e30, 1e38])
def test_far_rows(n_bits: int, n_features: int, far: float) -> None:
    rows, directions = draw_rows_and_directions(60, n_bits, n_features)
    rows = (rows / np.abs(rows).max() * far / 4).astype(np.float32)
    rows[::3] /= np.float32(1e10)
    for thresholds in (np.zeros(n_bits, np.float32), dots(rows, directions)[2]):
        assert_same_bits(rows, directions, thresholds)


@pytest.mark.parametrize(("n_bits", "n_features"), SHAPES)
def test_order_of_the_matrix_product_does_not_matter(n_bits: int, n_features: int) -> None:
    rows, directions = draw_rows_and_directions(80, n_bits, n_features)
    thresholds = dots(rows, directions)[0]
    expected = np.packbits(dots(rows, directions) > thresholds, axis=1)
    for order in range(3):
        # Summed feature by feature in a random order: the least accurate float32 sums.
        summed = np.zeros((len(rows), n_bits), np.float32)
        for c in np.random.default_rng(order).permutation(n_features):
            summed += rows[:, c : c + 1] * directions[:, c]
        found = signs(rows, directions, thresholds, summed)
        np.testing.assert_array_equal(found, expected)


def test_signs_agree_with_dots_near_overflow() -> None:
    # Rows on the hyperplane with lengths around the limit, in steps smaller than float32's.
    rng = np.random.default_rng(5)
    steps = 1 + np.arange(-8, 9)[:, None] * 2.0**-25
    for _ in range(200):
        directions = (1e15 * rng.standard_normal((3, 50))).astype(np.float32)
        reach = float(np.linalg.norm(directions.astype(np.float64), axis=1).max())
        row = draw_on_hyperplanes(directions, 1, rng)
        row *= 1e30 / reach / np.linalg.norm(row)
        assert_same_bits((steps * row).astype(np.float32), directions, np.zeros(3, np.float32))


# Signs in place
