"""Class means and covariances of labeled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from bitfold._linalg.scatter import measure_scatter
from bitfold.io import Rows

X, Y = load_digits(return_X_y=True)


def make_rows() -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows that fill several blocks, some of them unlabeled, far from the origin."""
    rows = np.concatenate([X + shift for shift in (1000.0, 1000.3, 1000.7)])
    return rows, np.where(np.arange(len(rows)) % 7 == 3, -1, np.tile(Y, 3))


def test_scatter_agrees_with_numpy() -> None:
    rows, y = make_rows()
    clean = y != -1
    found = measure_scatter(Rows.centered(rows, "test"), np.flatnonzero(clean), y[clean])
    center = Rows.centered(rows, "test").center.astype(np.float64)
    means = np.stack([rows[y == label].mean(axis=0) for label in range(10)])
    within = sum(
        np.mean(y[clean] == label) * np.cov(rows[y == label].T, bias=True) for label in range(10)
    )
    np.testing.assert_array_equal(found.sizes, [np.sum(y == label) for label in range(10)])
    np.testing.assert_allclose(found.shares, found.sizes / clean.sum())
    np.testing.assert_allclose(found.means + center, means, atol=1e-3)
    np.testing.assert_allclose(found.mean + center, rows[clean].mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(found.covariance, np.cov(rows[clean].T, bias=True), atol=1e-3)
    np.testing.assert_allclose(found.within, within, atol=1e-3)
