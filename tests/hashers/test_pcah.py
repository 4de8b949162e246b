"""Principal component hashing, against scikit-learn; and the covariance it rests on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from bitfold._linalg.principal import project_sample, covariance, principal_directions
from bitfold.hashers import PCAH
from bitfold.io.rows import Rows

DIGITS = load_digits().data


def many(offset: float = 0.0) -> NDArray[np.float64]:
    """Rows for several blocks, of distinct variances in every direction."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((24, 24)))[0]
    rows: NDArray[np.float64] = rng.standard_normal((9000, 24)) * np.geomspace(5, 0.1, 24) @ turn
    return rows + offset


def mapped(rows: NDArray[Any], folder: Path) -> NDArray[Any]:
    np.save(folder / "rows.npy", rows)
    return np.asanyarray(np.load(folder / "rows.npy", mmap_mode="r"))


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_directions_are_those_of_scikit_learn(offset: float) -> None:
    hasher, reference = PCAH(12).fit(many(offset)), PCA(12).fit(many())
    overlap = np.abs((hasher.directions_ * reference.components_).sum(axis=1))
    np.testing.assert_allclose(overlap, 1, atol=1e-5)


def test_bits_are_signs_of_scikit_learns_scores() -> None:
    hasher, reference = PCAH(8).fit(DIGITS), PCA(8).fit(DIGITS)
    scores = reference.transform(DIGITS)
    same = np.sign((hasher.directions_ * reference.components_).sum(axis=1))
    scores *= same
    np.testing.assert_allclose(hasher.embed(DIGITS), scores, atol=1e-2)
    clear = np.abs(scores) > 1e-2
    np.testing.assert_array_equal(hasher.transform(DIGITS)[clear], (scores > 0)[clear])


def test_a_memory_map_has_the_same_directions(tmp_path: Path) -> None:
    rows = many().astype(np.float32)
    from_map, from_array = PCAH(12).fit(mapped(rows, tmp_path)), PCAH(12).fit(rows)
    np.testing.assert_array_equal(from_map.directions_, from_array.directions_)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_covariance_is_that_of_numpy(offset: float, tmp_path: Path) -> None:
    expected = np.cov(many().T, bias=True)
    for rows in (many(offset), mapped(many(offset), tmp_path)):
        found = covariance(Rows.centered(rows, "test"))
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_covariance_about_a_center_that_is_not_the_mean() -> None:
    rows = Rows(many(), np.full(24, 2.0, np.float32), "test")
    np.testing.assert_allclose(covariance(rows), np.cov(many().T, bias=True), atol=1e-4)


def test_covariance_of_some_rows() -> None:
    for among in (np.arange(3, 9000, 7), np.arange(5000, 5003), np.arange(9000)):
        found = covariance(Rows.centered(many(), "test"), among)
        np.testing.assert_allclose(found, np.cov(many()[among].T, bias=True), atol=2e-4)


def test_directions_are_orthonormal_and_variances_fall() -> None:
    found = principal_directions(Rows.centered(DIGITS, "test"), 40)
    np.testing.assert_allclose(found.directions @ found.directions.T, np.eye(40), atol=1e-10)
    assert (np.diff(found.variances) <= 0).all()
    along_each = np.var(DIGITS @ found.directions.T, axis=0)
    np.testing.assert_allclose(found.variances, along_each, rtol=1e-4)
    # Pixels that never change have no variance, not one below zero.
    assert (principal_directions(Rows.centered(DIGITS, "test"), 64).variances >= 0).all()


def test_coordinates_along_directions() -> None:
    rows, W = Rows.centered(many(), "test"), np.random.default_rng(1).standard_normal((3, 24))
    exact = (many() - rows.center) @ W.T
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(project_sample(rows, W, 9000, rng), exact, atol=1e-4)
    some = project_sample(rows, W, 5000, rng)
    # Of a sample, each row once and in order.
    places = [int(np.abs(exact - one).sum(axis=1).argmin()) for one in some[::50]]
    assert (np.diff(places) > 0).all()
    np.testing.assert_allclose(some[::50], exact[places], atol=1e-4)
    assert some.shape == (5000, 3)


def test_coordinates_of_some_rows() -> None:
    rows, W = Rows.centered(many(), "test"), np.eye(24)
    among, rng = np.arange(2, 9000, 2), np.random.default_rng(0)
    exact = many() - rows.center
    np.testing.assert_allclose(project_sample(rows, W, 9000, rng, among), exact[among], atol=1e-4)
    for one in project_sample(rows, W, 20, rng, among):
        assert np.abs(exact[among] - one).sum(axis=1).min() < 1e-3


def test_a_code_is_at_most_as_long_as_a_row() -> None:
    with pytest.raises(
        ValueError, match=r"^n_bits of PCAH must be at most n_features=64, got 65\.$"
    ):
        PCAH(65).fit(DIGITS)
    assert PCAH().fit(DIGITS).n_bits_ == 64
    assert PCAH().fit(many()).n_bits_ == 24
    assert PCAH().fit(np.hstack([DIGITS, DIGITS])).n_bits_ == 64
