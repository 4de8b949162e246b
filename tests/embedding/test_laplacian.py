"""Laplacian eigenmaps against the dense computation and scikit-learn."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from sklearn import manifold
from tests.embedding.conftest import cloud, embed, same_up_to_sign

from bitfold._linalg import graph
from bitfold.embedding import LaplacianEigenmaps


def test_it_equals_the_dense_computation() -> None:
    base = cloud()
    W = graph.gaussian_graph(base, 6).toarray()
    _, vectors = eigh(np.diag(W.sum(axis=1)) - W)
    assert same_up_to_sign(embed(LaplacianEigenmaps(6), base, 10), vectors[:, 1:11])


def test_it_equals_the_unnormalized_one_of_scikit_learn() -> None:
    base = cloud()
    W = graph.gaussian_graph(base, 6).toarray()
    theirs = manifold.spectral_embedding(
        W, n_components=5, norm_laplacian=False, drop_first=True, random_state=0
    )
    assert same_up_to_sign(embed(LaplacianEigenmaps(6), base, 5), theirs)


def test_a_line_gives_cosines() -> None:
    line = np.arange(20.0)[:, None]
    Y = embed(LaplacianEigenmaps(n_neighbors=1, bandwidth=1.0), line, 3)
    i, frequency = np.arange(20)[:, None], np.arange(1, 4)
    assert same_up_to_sign(Y, np.cos(np.pi * frequency * (i + 0.5) / 20), 1e-6)
