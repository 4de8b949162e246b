"""Covariances, principal directions and projections of rows that fill several blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from bitfold._linalg.principal import covariance, principal_directions, project_sample
from bitfold.io import Rows

DIGITS = load_digits().data


def make_rows(offset: float = 0.0) -> NDArray[np.float64]:
    """Return rows that fill several blocks, with different variances in all directions."""
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((24, 24)))[0]
    rows: NDArray[np.float64] = (
        rng.standard_normal((9000, 24)) * np.geomspace(5, 0.1, 24) @ rotation
    )
    return rows + offset


def map_rows(rows: NDArray[Any], folder: Path) -> NDArray[Any]:
    np.save(folder / "rows.npy", rows)
    return np.asanyarray(np.load(folder / "rows.npy", mmap_mode="r"))


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_covariance_agrees_with_numpy(offset: float, tmp_path: Path) -> None:
    expected = np.cov(make_rows().T, bias=True)
    for rows in (make_rows(offset), map_rows(make_rows(offset), tmp_path)):
        found = covariance(Rows.centered(rows, "test"))
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_covariance_with_a_center_other_than_the_mean() -> None:
    rows = Rows(make_rows(), np.full(24, 2.0, np.float32), "test")
    np.testing.assert_allclose(covariance(rows), np.cov(make_rows().T, bias=True), atol=1e-4)


def test_covariance_of_some_rows() -> None:
    for among in (np.arange(3, 9000, 7), np.arange(5000, 5003), np.arange(9000)):
        found = covariance(Rows.centered(make_rows(), "test"), among)
        np.testing.assert_allclose(found, np.cov(make_rows()[among].T, bias=True), atol=2e-4)


def test_directions_are_orthonormal_and_variances_descending() -> None:
    directions = principal_directions(Rows.centered(DIGITS, "test"), 40)
    np.testing.assert_allclose(directions @ directions.T, np.eye(40), atol=1e-10)
    variances = np.var(DIGITS @ directions.T, axis=0)
    assert (np.diff(variances) <= 0).all()
    largest = np.linalg.eigvalsh(np.cov(DIGITS.T, bias=True))[:-41:-1]
    np.testing.assert_allclose(variances, largest, rtol=1e-4)


def test_project_sample() -> None:
    rows, W = Rows.centered(make_rows(), "test"), np.random.default_rng(1).standard_normal((3, 24))
    exact = (make_rows() - rows.center) @ W.T
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(project_sample(rows, W, 9000, rng), exact, atol=1e-4)
    some = project_sample(rows, W, 5000, rng)
    # A sample contains each row at most once, in order.
    positions = [int(np.abs(exact - one).sum(axis=1).argmin()) for one in some[::50]]
    assert (np.diff(positions) > 0).all()
    np.testing.assert_allclose(some[::50], exact[positions], atol=1e-4)
    assert some.shape == (5000, 3)


def test_project_sample_of_some_rows() -> None:
    rows, W = Rows.centered(make_rows(), "test"), np.eye(24)
    among, rng = np.arange(2, 9000, 2), np.random.default_rng(0)
    exact = make_rows() - rows.center
    np.testing.assert_allclose(project_sample(rows, W, 9000, rng, among), exact[among], atol=1e-4)
    for one in project_sample(rows, W, 20, rng, among):
        assert np.abs(exact[among] - one).sum(axis=1).min() < 1e-3
