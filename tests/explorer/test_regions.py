"""Names of regions: the label of most items, or the words that occur only there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bitfold.explorer.density import MapRegions
from bitfold.explorer.regions import name_regions
from bitfold.explorer.workspace import Workspace


def regions_of(workspace: Workspace) -> MapRegions:
    labels = workspace.items.labels
    assert labels is not None
    numbers = np.where(labels.numbers < 2, labels.numbers, -1).astype(np.int32)
    return MapRegions(np.zeros((2, 2), np.float32), np.bincount(numbers[numbers >= 0]), numbers)


def test_labels_name_regions(workspace: Workspace) -> None:
    first, second = name_regions(workspace.views[0].model, workspace.items, regions_of(workspace))
    assert (first.name, second.name) == ("eight", "five")
    assert (first.label_share, first.label) == (1, 0)
    assert first.n_items == regions_of(workspace).sizes[0]
    assert {item.label for item in first.items} == {0} and len(first.items) == 3


def test_words_name_regions_without_labels(workspace: Workspace) -> None:
    items = replace(workspace.items, label_column=None)
    first, _ = name_regions(workspace.views[0].model, items, regions_of(workspace))
    assert first.name == "eight" and first.words == ["eight"]
    bare = replace(items, text_column=None)
    first, _ = name_regions(workspace.views[0].model, bare, regions_of(workspace))
    assert first.name is None and len(first.items) == 3
