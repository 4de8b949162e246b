"""Spectral hashing: the slowest waves, and the formula of the authors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from bitfold import metrics
from bitfold.errors import DataError
from bitfold.hashers import SH
from bitfold.hashers.sh import measure_extent, select_modes
from bitfold.io.rows import Rows

Array = NDArray[Any]


def box(*sides: float, n: int = 4000) -> Array:
    """Return points distributed uniformly over a box."""
    return np.random.default_rng(0).uniform(0, sides, (n, len(sides)))


def embed_as_in_the_paper(X: Array, n_bits: int) -> Array:
    """Return the embedding as in Sec. 3.2 of the paper, enumerating all modes."""
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
def test_embedding_follows_the_paper(n_bits: int) -> None:
    X = load_digits().data
    X = X[:, X.std(axis=0) > 0]
    expected = embed_as_in_the_paper(X, n_bits)
    ours = SH(n_bits).fit(X).embed(X)
    # The sign of an eigenvector is arbitrary, and may invert a wave.
    signs = np.sign((ours * expected).sum(axis=0))
    np.testing.assert_allclose(ours * signs, expected, atol=2e-3)


def test_extent_of_all_rows() -> None:
    X = box(3, 2, 5, n=20000).astype(np.float32)
    low, high = measure_extent(Rows(X, np.zeros(3, np.float32), "X"), np.eye(3))
    np.testing.assert_array_equal(low, X.min(axis=0))
    np.testing.assert_array_equal(high, X.max(axis=0))


def test_slowest_modes_are_selected() -> None:
    ranges = np.random.default_rng(0).uniform(0.01, 5, 30)
    modes = select_modes(ranges, 200)
    every = np.sort([j * np.pi / side for side in ranges for j in range(1, 2000)])
    np.testing.assert_allclose(modes.frequencies, every[:200])
    order = modes.frequencies * ranges[modes.directions] / np.pi
    np.testing.assert_allclose(order, np.round(order))
    pairs = set(zip(modes.directions.tolist(), np.round(order).tolist(), strict=True))
    assert len(pairs) == 200


def test_a_long_side_has_several_waves() -> None:
    X = box(10, 3)
    eigenvalues = SH(5).fit(X).eigenvalues_
    # Half periods: 1, 2, 3 along the side 10, then 1 along the side 3, then 4 along 10.
    np.testing.assert_allclose(eigenvalues, [1, 4, 9, 100 / 9, 16], rtol=0.06)


def test_eigenvalues_are_ascending() -> None:
    eigenvalues = SH(100).fit(load_digits().data).eigenvalues_
    assert eigenvalues[0] == 1
    assert (np.diff(eigenvalues) >= 0).all()


def test_waves_on_uniform_data_are_balanced_and_uncorrelated() -> None:
    waves = SH(6).fit(box(4, 2.5)).embed(box(4, 2.5, n=8000))
    np.testing.assert_allclose(waves.T @ waves / len(waves), np.eye(6) / 2, atol=0.03)
    np.testing.assert_allclose(waves.mean(axis=0), 0, atol=0.06)


def test_constant_features_have_no_wave() -> None:
    flat = np.concatenate([box(4, 2.5), np.full((4000, 3), 7.0)], axis=1)
    ours = SH(30).fit(flat)
    np.testing.assert_allclose(ours.frequencies_[:, 2:], 0, atol=1e-6)


def test_equal_rows_raise() -> None:
    with pytest.raises(DataError, match="SH"):
        SH(8).fit(np.ones((10, 3)))


def test_more_bits_do_not_help_on_digits() -> None:
    X, y = load_digits(return_X_y=True)

    def quality(n_bits: int) -> float:
        return metrics.map_scorer(SH(n_bits).fit(X), X, y)

    assert 0.2 < quality(256) < 0.8 * quality(16)
