"""Spectral hashing: the waves it takes are the slowest, and its bits are the authors' formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from bitfold import metrics
from bitfold.hashers import SH
from bitfold.hashers.sh import extent, slowest_modes
from bitfold.io.rows import Rows

Array = NDArray[Any]


def box(*sides: float, n: int = 4000) -> Array:
    """Return points spread evenly over a box."""
    return np.random.default_rng(0).uniform(0, sides, (n, len(sides)))


def literal(X: Array, n_bits: int) -> Array:
    """Return the codes by the steps of the paper, Sec. 3.2, with every mode enumerated."""
    variances, pc = np.linalg.eigh(np.cov(X.T))
    pc = pc[:, np.argsort(-variances)[: min(n_bits, X.shape[1])]]
    U = X @ pc
    low, high = U.min(axis=0), U.max(axis=0)
    waves = sorted(
        (j * np.pi / (b - a), i)
        for i, (a, b) in enumerate(zip(low, high, strict=True))
        for j in range(1, 3 * n_bits)
    )
    return np.stack([np.sin(np.pi / 2 + w * (U[:, i] - low[i])) for w, i in waves[:n_bits]], axis=1)


@pytest.mark.parametrize("n_bits", [5, 40, 100])
def test_the_codes_are_those_of_the_paper(n_bits: int) -> None:
    X = load_digits().data
    X = X[:, X.std(axis=0) > 0]
    expected = literal(X, n_bits)
    ours = SH(n_bits).fit(X).embed(X)
    # An eigenvector's sign is free, and turns a wave with an odd number of half turns over.
    signs = np.sign((ours * expected).sum(axis=0))
    np.testing.assert_allclose(ours * signs, expected, atol=2e-3)


def test_the_extent_is_that_of_all_rows() -> None:
    X = box(3, 2, 5, n=20000).astype(np.float32)
    low, high = extent(Rows(X, np.zeros(3, np.float32), "X"), np.eye(3))
    np.testing.assert_array_equal(low, X.min(axis=0))
    np.testing.assert_array_equal(high, X.max(axis=0))


def test_the_slowest_modes_of_all_are_chosen() -> None:
    ranges = np.random.default_rng(0).uniform(0.01, 5, 30)
    modes = slowest_modes(ranges, 200)
    every = np.sort([j * np.pi / side for side in ranges for j in range(1, 2000)])
    np.testing.assert_allclose(modes.frequencies, every[:200])
    order = modes.frequencies * ranges[modes.directions] / np.pi
    np.testing.assert_allclose(order, np.round(order))
    pairs = set(zip(modes.directions.tolist(), np.round(order).tolist(), strict=True))
    assert len(pairs) == 200


def test_a_long_side_has_several_waves() -> None:
    X = box(10, 3)
    eigenvalues = SH(5).fit(X).eigenvalues_
    # Half turns along 10: one, two, three; then one along 3, which is as slow as 3.3; then four.
    np.testing.assert_allclose(eigenvalues, [1, 4, 9, 100 / 9, 16], rtol=0.06)


def test_eigenvalues_rise() -> None:
    eigenvalues = SH(100).fit(load_digits().data).eigenvalues_
    assert eigenvalues[0] == 1
    assert (np.diff(eigenvalues) >= 0).all()


def test_waves_over_even_data_are_balanced_and_uncorrelated() -> None:
    waves = SH(6).fit(box(4, 2.5)).embed(box(4, 2.5, n=8000))
    np.testing.assert_allclose(waves.T @ waves / len(waves), np.eye(6) / 2, atol=0.03)
    np.testing.assert_allclose(waves.mean(axis=0), 0, atol=0.06)


def test_directions_without_extent_have_no_wave() -> None:
    flat = np.concatenate([box(4, 2.5), np.full((4000, 3), 7.0)], axis=1)
    ours = SH(30).fit(flat)
    np.testing.assert_allclose(ours.frequencies_[:, 2:], 0, atol=1e-6)


def test_equal_rows_are_refused() -> None:
    with pytest.raises(ValueError, match=r"X of SH must be at least 2 rows that differ, got eq"):
        SH(8).fit(np.ones((10, 3)))


def test_more_bits_do_not_help_on_digits() -> None:
    X, y = load_digits(return_X_y=True)

    def quality(n_bits: int) -> float:
        return metrics.map_scorer(SH(n_bits).fit(X), X, y)

    assert 0.2 < quality(256) < 0.8 * quality(16)
