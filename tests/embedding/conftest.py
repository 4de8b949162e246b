"""Data that the tests of embeddings share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bitfold.embedding import Embedding
from bitfold.io.rows import Rows
from bitfold.neighbors import NearestBasePoints, NeighborBlocks

FloatArray = NDArray[np.float32]
RealArray = NDArray[np.float64]


def float32_cloud(m: int, d: int = 10, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).standard_normal((m, d)).astype(np.float32)


def cloud(m: int = 60, d: int = 5, seed: int = 0) -> RealArray:
    return float32_cloud(m, d, seed).astype(np.float64)


def two_clusters(m: int = 40) -> RealArray:
    points = cloud(m, 3)
    points[m // 2 :] += 1e4
    return points


def find_neighbors(X: RealArray, base: RealArray, k: int = 4) -> NeighborBlocks:
    rows = Rows(X, np.zeros(X.shape[1], np.float32), "T")
    return NeighborBlocks(rows, NearestBasePoints(base.astype(np.float32), k))


def training_points(base: RealArray, n: int = 200) -> RealArray:
    """Return points around the base points."""
    rng = np.random.default_rng(5)
    scale = float(np.abs(base).mean()) or 1.0
    noise = 0.3 * scale * rng.standard_normal((n, base.shape[1]))
    return np.asarray(base[rng.integers(len(base), size=n)] + noise)


def embed(method: Embedding, base: RealArray, n: int) -> RealArray:
    """Embed a base set with training points around it."""
    neighbors = find_neighbors(training_points(base), base)
    return method.embed(base, n, neighbors=neighbors).astype(np.float64)


def same_up_to_sign(left: RealArray, right: RealArray, tol: float = 1e-4) -> bool:
    left = left / np.linalg.norm(left, axis=0)
    right = right / np.linalg.norm(right, axis=0)
    return bool((np.abs((left * right).sum(axis=0)) > 1 - tol).all())
