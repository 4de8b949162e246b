"""Comparison: the queries with the fewest common results come first."""

from __future__ import annotations

from pathlib import Path

from tests.explorer.conftest import items_of

from bitfold.explorer.comparison import compare_models
from bitfold.explorer.opening import ItemSources, open_models
from bitfold.explorer.preparation import prepare_workspace
from bitfold.explorer.workspace import Workspace


def test_a_model_agrees_with_itself(workspace: Workspace) -> None:
    view = workspace.views[0]
    found = compare_models(view, view, workspace.items, 5)
    assert (found.mean_common, found.n_queries, len(found.queries)) == (10, 200, 5)
    assert found.first == found.second
    assert found.first.same_label is not None and found.first.same_label > 0.8
    assert found.first.exact is not None and found.first.exact > 0.4


def test_different_models_differ_most_first(digits: Path) -> None:
    paths = [digits / "long.index", digits / "short.index"]
    opened = open_models(paths, [digits / "long.bitfold", digits / "short.bitfold"])
    items = items_of(opened[0], ItemSources(label=str(digits / "labels.npy")))
    there = prepare_workspace([each.model for each in opened], items, lambda *step: None)
    first, second = there.views
    found = compare_models(first, second, there.items, 200)
    common = [each.n_common for each in found.queries]
    assert common == sorted(common) and common[0] < common[-1]
    assert found.first.exact is None
    for each in found.queries[:3]:
        assert each.first.n_same_label is not None and 0 <= each.first.n_same_label <= 10
