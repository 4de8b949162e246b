"""Isomap against scikit-learn and known shapes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn import datasets, manifold
from tests.embedding.conftest import cloud, embed

from bitfold.embedding import PCA, Isomap
from bitfold.errors import ParameterError


def test_it_equals_that_of_scikit_learn() -> None:
    base = cloud(80, 4)
    theirs = manifold.Isomap(n_neighbors=10, n_components=4).fit_transform(base)
    ours = embed(Isomap(n_neighbors=10), base, 4)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=2e-3 * np.abs(theirs).max())


def test_a_flat_grid_is_recovered() -> None:
    grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    rotation = np.linalg.qr(cloud(7, 7))[0][:2]
    Y = embed(Isomap(n_neighbors=29), grid @ rotation, 2)
    np.testing.assert_allclose(pdist(Y), pdist(grid), rtol=1e-5)


def test_the_swiss_roll_is_unrolled() -> None:
    roll, angle = datasets.make_swiss_roll(600, random_state=0)
    Y = embed(Isomap(n_neighbors=6), roll, 2)
    # Arc length of the spiral r = angle.
    arc = (angle * np.sqrt(1 + angle**2) + np.arcsinh(angle)) / 2
    assert abs(np.corrcoef(Y[:, 0], arc)[0, 1]) > 0.99
    assert abs(np.corrcoef(PCA().embed(roll, 2)[:, 0], arc)[0, 1]) < 0.5


def test_the_error_names_the_dimensions_that_exist() -> None:
    line = np.arange(12.0)[:, None]
    with pytest.raises(ParameterError, match="n_bits of Isomap must be at most the 1 dimensions"):
        Isomap(n_neighbors=2).embed(line, 2)


def test_equal_points_have_no_dimension() -> None:
    with pytest.raises(ParameterError, match="at most the 0 dimensions"):
        Isomap().embed(np.ones((7, 3)), 1)
