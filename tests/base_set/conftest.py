"""Data and measures that the tests of base sets share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import faiss
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

FloatArray = NDArray[np.float32]


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Use one thread: on a busy machine, the threads of a small problem wait for each other."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    yield
    faiss.omp_set_num_threads(before)


def cloud(n: int = 400, d: int = 6, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


def repeated(distinct: FloatArray, n: int, seed: int = 0) -> FloatArray:
    """Return every distinct row at least once, and a few of them very often."""
    rng = np.random.default_rng(seed)
    often = rng.choice(len(distinct), n, p=rng.dirichlet(np.full(len(distinct), 0.2)))
    return rng.permutation(np.concatenate([distinct, distinct[often]]))


def n_distinct(points: NDArray[Any]) -> int:
    return len(np.unique(points, axis=0))


def n_used(X: NDArray[Any], base: FloatArray) -> int:
    """Count the base points that are the nearest of some row."""
    return len(np.unique(cdist(X, base).argmin(axis=1)))


def inertia(X: NDArray[Any], base: FloatArray) -> float:
    return float((cdist(X, base).min(axis=1) ** 2).sum())


def are_rows_of(points: FloatArray, X: FloatArray) -> bool:
    return n_distinct(np.concatenate([X, points])) == n_distinct(X)
