"""Diffusion maps against the dense computation and known shapes."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from tests.embedding.conftest import cloud, embed

from bitfold.embedding import DiffusionMaps


def test_it_equals_the_dense_computation() -> None:
    base = cloud(40, 3)
    K = np.exp(-cdist(base, base, "sqeuclidean") / 4)
    q = K.sum(axis=1) ** 0.5
    K = K / np.outer(q, q)
    values, vectors = np.linalg.eig(K / K.sum(axis=1, keepdims=True))
    order = np.argsort(-values.real)[1:6]
    psi, factors = vectors.real[:, order], (values.real[order] / values.real[order[0]]) ** 3
    stationary = K.sum(axis=1) / K.sum()
    expected = psi / np.sqrt(stationary @ psi**2) * factors
    expected -= expected.mean(axis=0)
    ours = embed(DiffusionMaps(n_steps=3, alpha=0.5, bandwidth=2.0), base, 5)
    np.testing.assert_allclose(np.abs(ours), np.abs(expected), atol=1e-4)


def test_a_circle_is_closed() -> None:
    turn = np.linspace(0, 2 * np.pi, 50, endpoint=False)
    Y = embed(DiffusionMaps(), np.column_stack([np.cos(turn), np.sin(turn)]), 2)
    np.testing.assert_allclose(np.linalg.norm(Y, axis=1), np.sqrt(2), rtol=1e-4)


def test_faded_coordinates_keep_their_sign() -> None:
    Y = DiffusionMaps(n_steps=2000).embed(cloud(), 30)
    assert (np.abs(Y).max(axis=0) > 0).all()
