"""Items: their labels, texts, values and points."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bitfold.explorer.items import ItemLabels, read_lines, to_json
from bitfold.explorer.workspace import Workspace


def test_unlabeled_rows_have_no_class() -> None:
    labels = ItemLabels.from_values(np.array([5, -1, 7, 5]))
    assert labels.names == ["5", "7"]
    assert labels.numbers.tolist() == [0, -1, 1, 0]
    assert ItemLabels.from_values(np.array(["b", "", "a"])).numbers.tolist() == [1, -1, 0]
    assert ItemLabels.from_column([None, True, False]).names == ["false", "true"]
    assert ItemLabels.from_column([None, 10, 9]).names == ["9", "10"]


def test_several_labels_per_item_raise() -> None:
    with pytest.raises(ValueError, match="labels of the items"):
        ItemLabels.from_values(np.zeros((3, 3), int))


def test_items_have_points_and_values(workspace: Workspace) -> None:
    items = workspace.items
    assert np.array_equal(items.order[items.points], np.arange(598))
    assert not np.array_equal(items.order, np.arange(598))
    [item] = items.describe([6], with_values=True)
    assert (item.id, item.point, item.text) == (
        "d/8", int(items.points[6]), "A picture of a eight, 100% real"
    )  # fmt: skip
    assert item.values is not None
    assert item.values["when"] == "2024-01-09T00:00:00+00:00" and item.values["odd"] is False
    assert items.labels is not None and items.labels.names[item.label] == "eight"
    assert items.describe([6])[0].values is None


def test_integers_beyond_those_of_javascript_are_text() -> None:
    assert to_json(1 << 53) == str(1 << 53) and to_json(1 << 52) == 1 << 52


def test_text_must_be_utf_8(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="a text file in UTF-8"):
        read_lines(tmp_path / "text.txt")
