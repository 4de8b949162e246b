"""Queries in a workspace, for indexes of any size, any ids and several segments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.explorer.conftest import index_vectors, random_vectors

import bitfold as bf
from bitfold.explorer.items import Items
from bitfold.explorer.models import IndexedModel
from bitfold.explorer.queries import NotFoundError
from bitfold.explorer.workspace import Workspace, prepare_workspace


def shown(model: IndexedModel, items: Items | None = None) -> Workspace:
    return prepare_workspace(
        [model], items or Items(), 100, lambda name: lambda stage, done, total: None
    )


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 40])
def test_index_of_any_size(tmp_path: Path, n: int) -> None:
    there = shown(index_vectors(tmp_path, random_vectors(n)), Items(random_vectors(n)))
    query, model = there.query("item:0"), there.view(0)
    assert there.nearest(query, model, 10).ids.shape == (1, min(10, n - 1))
    assert there.exact(query, 10).ids.shape == (1, min(10, n - 1))
    assert there.count_within(query, model).within[-1] == n - 1
    assert model.map.points.shape == (n, 2) and np.isfinite(model.map.points).all()


def test_equal_codes_and_any_ids(tmp_path: Path) -> None:
    ids = np.array([-5, 1 << 60, 7, 8, 9])
    there = shown(index_vectors(tmp_path, np.ones((5, 6)), ids))
    model = there.view(0)
    found = there.nearest(there.query(f"item:{1 << 60}"), model, 10)
    assert found.ids.tolist() == [[-5, 7, 8, 9]]
    assert model.statistics.n_distinct == 1 and model.statistics.entropy == 0
    assert model.statistics.findings[0].level == "bad"
    with pytest.raises(NotFoundError, match="Item 6 "):
        there.query("item:6")


def test_removed_items_and_several_segments(tmp_path: Path) -> None:
    index_vectors(tmp_path, random_vectors(40))
    hasher = bf.load(tmp_path / "m.bitfold")
    with bf.HammingIndex.open(tmp_path / "m.index", mode="a") as index:
        index.remove([3, 5])
        index.add(hasher.encode(random_vectors(4)))
    model = IndexedModel.open(tmp_path / "m.index", tmp_path / "m.bitfold", "m")
    assert model.ids.tolist() == [i for i in range(44) if i not in (3, 5)]
    assert model.sizes.sum() == 42 and 3 not in model and 43 in model
    there = shown(model, Items(random_vectors(44)))
    rows = there.exact(there.query("item:4"), 41).ids[0]
    assert sorted(rows.tolist()) == [i for i in range(44) if i not in (3, 4, 5)]
    # A removed item has no code in the index, but its vector gives it one.
    assert there.nearest(there.query("item:3"), there.view(0), 5).ids.shape == (1, 5)


def test_vectors_that_are_not_finite_are_rejected(tmp_path: Path) -> None:
    X = random_vectors(30)
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match=r"vectors of the items must be finite, got NaN in row 7"):
        shown(index_vectors(tmp_path, random_vectors(30)), Items(X))
