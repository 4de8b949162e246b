"""Inverted lists: their directions, and that nothing in them depends on BLAS."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from bitfold._linalg.inverted_lists import principal_subspace
from bitfold.neighbors import NearestBasePoints


def make_points(n: int = 2300, n_features: int = 140) -> np.ndarray:
    rng = np.random.default_rng(0)
    sheet = rng.standard_normal((n, 8)) @ rng.standard_normal((8, n_features))
    return (sheet + 0.1 * rng.standard_normal(sheet.shape)).astype(np.float32)


def test_subspace_is_that_of_the_singular_vectors() -> None:
    points = make_points()
    directions = principal_subspace(points, 8)
    np.testing.assert_allclose(directions @ directions.T, np.eye(8), atol=1e-5)
    expected = np.linalg.svd(points, full_matrices=False)[2][:8]
    # The cosines of the angles between the two subspaces.
    cosines = np.linalg.svd(directions @ expected.T)[1]
    np.testing.assert_allclose(cosines, 1, atol=1e-4)


def test_directions_of_equal_points_are_finite() -> None:
    assert np.isfinite(principal_subspace(np.zeros((50, 10), np.float32), 4)).all()


def test_lists_do_not_depend_on_the_number_of_threads() -> None:
    points, lists = make_points(), []
    for n_threads in (1, 7):
        with threadpool_limits(n_threads):
            lists.append(NearestBasePoints(points, 5)._lists)
    assert lists[0] is not None
    assert lists[1] is not None
    for one, seven in zip(*lists, strict=True):
        np.testing.assert_array_equal(one, seven)
