"""Queries in a workspace, for indexes of any size, any ids and several segments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.explorer.conftest import index_vectors, random_vectors, shown

import bitfold as bf
from bitfold.errors import ParameterError
from bitfold.explorer.opening import ItemSources, open_models
from bitfold.explorer.queries import NotFoundError
from bitfold.explorer.workspace import Workspace


def found(there: Workspace, key: str, k: int, weight: float | None = None) -> list[int]:
    view = there.views[0]
    coded = there.code_query(there.query(key), view, None, weight)
    return [row for group in view.search.find(coded, k, k, None) for row in group.rows.tolist()]


@pytest.mark.parametrize("n", [1, 2, 9, 40])
def test_index_of_any_size(tmp_path: Path, n: int) -> None:
    there = shown(
        index_vectors(tmp_path, random_vectors(n)), ItemSources(vectors=random_vectors(n))
    )
    query, view = there.query("item:0"), there.view(0)
    assert len(found(there, "item:0", 10)) == min(10, n - 1)
    assert there.count_within(query, view).within[-1] == n - 1
    assert view.map.points.shape == (n, 2)
    assert view.statistics().n_items == n and len(view.regions()) >= 1


def test_equal_codes_and_any_ids(tmp_path: Path) -> None:
    ids = np.array([-5, 1 << 60, 7, 8, 9])
    there = shown(index_vectors(tmp_path, np.ones((5, 6)), ids))
    assert found(there, f"item:{1 << 60}", 10) == [0, 1, 2, 3]
    statistics = there.view(0).statistics()
    assert statistics.n_distinct == 1 and statistics.entropy == 0
    assert statistics.verdict.grade == "poor"
    with pytest.raises(NotFoundError, match="Item 6 "):
        there.query("item:6")
    with pytest.raises(ParameterError, match="at least 0, because they are rows"):
        shown(index_vectors(tmp_path, np.ones((5, 6)), ids), ItemSources(vectors=random_vectors(9)))


def test_removed_items_and_several_segments(tmp_path: Path) -> None:
    index_vectors(tmp_path, random_vectors(40))
    hasher = bf.load(tmp_path / "m.bitfold")
    with bf.HammingIndex.open(tmp_path / "m.index", mode="a") as index:
        index.remove([3, 5])
        index.add(hasher.encode(random_vectors(4)))
    [opened] = open_models([tmp_path / "m.index"], [tmp_path / "m.bitfold"])
    there = shown(opened, ItemSources(vectors=random_vectors(44)))
    names = there.items.table.ids.names(np.arange(42))
    assert names == [str(i) for i in range(44) if i not in (3, 5)]
    assert sorted(found(there, "item:4", 50)) == [row for row in range(42) if row != 3]
    with pytest.raises(NotFoundError, match="Item 3 "):
        there.query("item:3")


def test_keys_of_all_kinds(workspace: Workspace) -> None:
    view = workspace.views[0]
    item = workspace.query("item:d/9")
    assert item.key == "item:d/9" and item.item == 7
    assert workspace.query(f"point:{workspace.items.points[7]}").item == 7
    code = workspace.code(item, view).packed.tobytes().hex()
    by_code = workspace.query(f"code:{code}")
    assert workspace.code(by_code, view) == view.model.codes([7])
    assert workspace.embedding(by_code, view) is None
    assert workspace.query("base:0:3").vector is not None
    for key in ("item:", "point:x", "code:xyz", "base:0", "other:1", "upload:X"):
        with pytest.raises(ParameterError, match="query"):
            workspace.query(key)
    with pytest.raises(ParameterError, match="8 hexadecimal digits"):
        workspace.code(workspace.query("code:00"), view)
    for key in ("item:none", "point:598", "base:0:60", "base:1:0", "upload:00"):
        with pytest.raises(NotFoundError):
            workspace.query(key)


def test_the_coarse_weight_reorders_the_results(workspace: Workspace) -> None:
    orders = [tuple(found(workspace, "item:d/9", 50, weight)) for weight in (0.05, 1.2, 20)]
    assert len(set(orders)) == 3
    labels = workspace.items.labels_of(np.array(orders[2]))
    fine = workspace.items.labels_of(np.array(orders[0]))
    label = workspace.items.label_of(7)
    assert np.mean(labels == label) >= np.mean(fine == label)
    # Without a weight, the search is that of the model.
    assert found(workspace, "item:d/9", 50) == list(orders[1])


def test_a_weight_needs_two_parts(tmp_path: Path) -> None:
    there = shown(index_vectors(tmp_path, random_vectors(9)))
    with pytest.raises(ParameterError, match="coarse_weight"):
        found(there, "item:0", 3, weight=2.0)


def test_vectors_that_are_not_finite_are_rejected(tmp_path: Path) -> None:
    X = random_vectors(30)
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match=r"vectors of the items must be finite, got NaN in row 7"):
        shown(index_vectors(tmp_path, random_vectors(30)), ItemSources(vectors=X))
