"""Comparison: the queries with the fewest common results come first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.explorer.conftest import index_bits, index_vectors, items_of, random_vectors, shown

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


def test_vectors_that_order_a_bucket_do_not_count_for_the_codes(tmp_path: Path) -> None:
    """Codes that are all equal find the exact neighbors and the labels by chance only."""
    X = random_vectors(300)
    np.save(tmp_path / "y.npy", np.arange(300) % 3)
    index_vectors(tmp_path, X)
    opened = index_bits(tmp_path, np.zeros((300, 8), np.uint8))
    sources = ItemSources(vectors=X.astype(np.float32), label=str(tmp_path / "y.npy"))
    [view] = shown(opened, sources).views
    found = compare_models(view, view, items_of(opened, sources), 5)
    assert found.mean_common == 10
    assert found.first.exact == pytest.approx(10 / 299)
    assert found.first.same_label == pytest.approx(99 / 299)


def test_a_comparison_is_computed_once(workspace: Workspace) -> None:
    assert workspace.compare(0, 0) is workspace.compare(0, 0)


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
