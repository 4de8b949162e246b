"""Exact distances and neighbors, compared with a sorted list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bitfold as bf
from bitfold.errors import ParameterError
from bitfold.explorer.item_vectors import ItemVectors
from bitfold.explorer.opening import open_models
from bitfold.hashers import LSH

X = np.random.default_rng(0).standard_normal((80, 3))


def measure(metric: str, query: Any, vectors: Any) -> Any:
    if metric == "euclidean":
        return np.linalg.norm(vectors - query, axis=1)
    return 1 - vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ">f4"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("exclude", [None, 2])
def test_neighbors_are_those_of_a_sorted_list(dtype: Any, metric: str, exclude: int | None) -> None:
    rows = np.arange(0, 80, 7)
    vectors = ItemVectors.from_array(X.astype(dtype), metric, rows)
    query = X[14]
    distances = measure(metric, query, X[rows])
    for among in (None, np.array([0, 2, 5, 9])):
        found = vectors.nearest(query, 5, among, exclude)
        searched = range(len(rows)) if among is None else among.tolist()
        order = sorted((distances[i], i) for i in searched if i != exclude)[:5]
        assert found.rows.tolist() == [i for _, i in order]
        np.testing.assert_allclose(found.distances, [d for d, _ in order], atol=2e-3)


def test_vectors_of_a_collection_skip_removed_items(tmp_path: Path) -> None:
    hasher = LSH(8, random_state=0).fit(X)
    for kept in ("float32", "float16", "int8"):
        path = tmp_path / kept
        with bf.Collection.create(path, X, hasher=hasher, keep_vectors=kept) as c:
            c.remove([0, 3])
        snapshot = open_models([path], [])[0].snapshot
        assert snapshot is not None
        vectors = ItemVectors.from_snapshot(snapshot)
        assert vectors is not None and vectors.n_rows == 78
        np.testing.assert_allclose(vectors.take(np.array([0, 2]))[:, 0], X[[1, 4], 0], atol=0.03)
        assert vectors.nearest(X[4], 1, None).rows.tolist() == [2]


def test_vectors_that_do_not_fit_are_rejected() -> None:
    vectors = ItemVectors.from_array(X, "euclidean", np.arange(80))
    with pytest.raises(ParameterError, match="3 numbers, got 2"):
        vectors.nearest(np.zeros(2), 1, None)
    with pytest.raises(ParameterError, match="vectors of the items"):
        ItemVectors.from_array(X, "euclidean", np.arange(81))
    bad = ItemVectors.from_array(np.full((3, 2), np.nan), "euclidean", np.arange(3))
    with pytest.raises(ValueError, match="must be finite, got NaN"):
        bad.take(np.arange(3))
