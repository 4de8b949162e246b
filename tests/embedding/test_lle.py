"""LLE against scikit-learn."""

from __future__ import annotations

from sklearn import manifold
from tests.embedding.conftest import cloud, embed, same_up_to_sign

from bitfold.embedding import LLE


def test_it_equals_that_of_scikit_learn() -> None:
    base = cloud(80, 4)
    theirs = manifold.LocallyLinearEmbedding(
        n_neighbors=12, n_components=4, eigen_solver="dense"
    ).fit_transform(base)
    assert same_up_to_sign(embed(LLE(n_neighbors=12), base, 4), theirs)
