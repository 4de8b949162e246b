"""Small collections, and the means to damage them; nothing is synced unless a test needs it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bitfold as bf
from bitfold._types import Float32Array
from bitfold.collection import database, fitting
from bitfold.hashers import LSH

MIN_CODED_ITEMS = 20
"""So that small collections have codes."""


@pytest.fixture(autouse=True, scope="module")
def without_syncs() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        patch.setattr(database, "_SYNCHRONOUS", "OFF")
        patch.setattr(fitting, "MIN_CODED_ITEMS", MIN_CODED_ITEMS)
        yield


def make_vectors(n: int, n_features: int = 6, seed: int = 0) -> Float32Array:
    return np.random.default_rng(seed).normal(size=(n, n_features)).astype(np.float32)


def make_metadata(n: int) -> dict[str, list[Any]]:
    return {
        "year": [None if i % 11 == 10 else 2000 + i % 30 for i in range(n)],
        "kind": [("news", "blog", "it's")[i % 3] for i in range(n)],
        "score": [i / 7 for i in range(n)],
        "new": [i % 2 == 0 for i in range(n)],
    }


def create(path: Path, n: int = 60, **more: Any) -> bf.Collection:
    options = {"hasher": LSH(32, random_state=0), "metadata": make_metadata(n), **more}
    return bf.Collection.create(path, make_vectors(n), **options)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The folder of a closed collection with codes, vectors, string ids, metadata and gaps."""
    folder = tmp_path / "news.bitfold"
    with create(folder, ids=[f"item {i}" for i in range(60)], keep_vectors="int8") as collection:
        collection.remove(["item 3", "item 50"])
    return folder


def exact_distances(Q: Any, X: Any, metric: str) -> Any:
    Q, X = np.asarray(Q, np.float64), np.asarray(X, np.float64)
    if metric == "euclidean":
        return np.linalg.norm(Q[:, None] - X[None], axis=2)
    lengths = np.linalg.norm(Q, axis=1)[:, None] * np.linalg.norm(X, axis=1)[None]
    products = Q @ X.T
    cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return 1 - cosines
