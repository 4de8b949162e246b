"""Eigenfunctions along directions: their equation, bins and order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitfold.hashers._eigenfunctions import (
    N_BINS,
    RankedEigenfunctions,
    assign_bits,
    clip_extent,
    compute_eigenfunctions,
    count_histograms,
    find_quantiles,
    make_grids,
    rank_eigenfunctions,
)
from bitfold.hashers.sh import Extent
from bitfold.io import Rows

Array = NDArray[Any]
RNG = np.random.default_rng(0)
GRID = np.linspace(-3, 3, N_BINS)
MARGINAL = np.exp(-np.square(GRID - 1)) + np.exp(-2 * np.square(GRID + 1.5))
MARGINAL /= MARGINAL.sum()


def gaussian(u: Array, bandwidth: float) -> Array:
    weights: Array = np.exp(-np.square(u[:, None] - u) / 2 / bandwidth**2)
    return weights


def test_eigenfunctions_solve_their_equation() -> None:
    functions, values = compute_eigenfunctions(GRID, MARGINAL, 0.7)
    w = gaussian(GRID, 0.7)
    first = np.linalg.eigvalsh(np.sqrt(MARGINAL)[:, None] * w * np.sqrt(MARGINAL))[-1]
    for function, value in zip(functions[:10], values[:10], strict=True):
        np.testing.assert_allclose(w @ (MARGINAL * function), value * first * function, atol=1e-9)
    inner = (functions[:10] * MARGINAL) @ functions[:10].T
    np.testing.assert_allclose(inner, np.eye(10), atol=1e-6)
    assert (np.diff(values) < 0).all()


def test_eigenfunctions_sum_to_the_affinity() -> None:
    functions, values = compute_eigenfunctions(GRID, MARGINAL, 0.7)
    w = gaussian(GRID, 0.7)
    root = np.sqrt(MARGINAL)
    lead, vectors = np.linalg.eigh(root[:, None] * w * root)
    trivial = w @ (root * vectors[:, -1]) / lead[-1]
    restored = lead[-1] * (np.outer(trivial, trivial) + (functions.T * values) @ functions)
    np.testing.assert_allclose(restored, w, atol=1e-5)


def test_number_of_sign_changes_increases_by_one() -> None:
    functions, _ = compute_eigenfunctions(GRID, MARGINAL, 0.7)
    changes = (np.diff(np.sign(functions), axis=1) != 0).sum(axis=1)
    assert changes[:8].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_empty_bins_have_values() -> None:
    gap = np.where(np.abs(GRID) < 1, 0, MARGINAL)
    functions, _ = compute_eigenfunctions(GRID, gap / gap.sum(), 0.7)
    assert (functions[0] != 0).all()
    assert np.abs(np.diff(functions[0])).max() < 0.2


def test_histograms_count_all_rows() -> None:
    X = RNG.normal(size=(9000, 3)).astype(np.float32)
    extent = Extent(np.array([-2.0, -9.0, 0.0]), np.array([2.0, 9.0, 0.0]))
    counts = count_histograms(Rows(X, np.zeros(3, np.float32), "X"), np.eye(3), extent)
    for column, (low, high) in enumerate(zip(*extent, strict=True)):
        if low < high:
            clipped = X[:, column].astype(np.float64).clip(low, high)
            expected, _ = np.histogram(clipped, N_BINS, (low, high))
            np.testing.assert_array_equal(counts[column], expected)
    assert counts[2, 0] == 9000
    centers = make_grids(extent)
    np.testing.assert_allclose(centers[0, [0, -1]], [-2 + 2 / N_BINS, 2 - 2 / N_BINS])


def test_outliers_do_not_widen_the_bins() -> None:
    extent = clip_extent(
        Extent(np.array([-1.0, -100.0]), np.array([500.0, 2.0])), np.array([4.0, 1.0])
    )
    np.testing.assert_array_equal(extent.low, [-1, -6])
    np.testing.assert_array_equal(extent.high, [12, 2])


def test_eigenfunctions_are_ranked_by_eigenvalue() -> None:
    found = [compute_eigenfunctions(scale * GRID, MARGINAL, 0.7) for scale in (1.0, 0.4, 2.0)]
    chosen = rank_eigenfunctions(found)
    every = sorted((value for each in found for value in each.values), reverse=True)
    np.testing.assert_array_equal(chosen.values, every)
    for function, value, direction in zip(*(part[:20] for part in chosen), strict=True):
        place = found[direction].values.tolist().index(value)
        np.testing.assert_array_equal(found[direction].functions[place], function)


def test_quantiles_are_those_of_the_rows() -> None:
    counts = RNG.integers(1, 20, N_BINS)
    function = np.sin(3 * GRID)
    of_rows = np.sort(np.repeat(function, counts))
    for n in (1, 2, 7):
        found = find_quantiles(function, counts / counts.sum(), n)
        assert (np.diff(found) > 0).all()
        ranks = np.searchsorted(of_rows, found, side="right") / len(of_rows)
        np.testing.assert_allclose(ranks, np.arange(1, n + 1) / (n + 1), atol=0.02)


def test_strong_eigenfunctions_share_the_bits() -> None:
    functions, _ = compute_eigenfunctions(GRID, MARGINAL, 0.7)
    values = np.array([1.0, 0.5, 0.2, 0.1, 0.09])
    ranked = RankedEigenfunctions(functions[:5], values, np.zeros(5, np.intp))
    for n_bits, min_weight, expected in (
        (3, 0.1, [0, 1, 2]),
        (4, 0.1, [0, 1, 2, 3]),
        (6, 0.1, [0, 0, 1, 1, 2, 3]),
        (6, 0.01, [0, 0, 1, 2, 3, 4]),
        (5, 0.6, [0, 0, 0, 0, 0]),
    ):
        indices, thresholds = assign_bits(ranked, MARGINAL[None], n_bits, min_weight)
        assert indices.tolist() == expected
        first = thresholds[indices == 0]
        np.testing.assert_array_equal(first, find_quantiles(functions[0], MARGINAL, len(first)))
