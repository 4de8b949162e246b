"""Vectors, labels and texts of items: one row per id, or a clear error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitfold.explorer.items import ItemLabels, gather_items, read_lines


def test_unlabeled_rows_have_no_class() -> None:
    labels = ItemLabels.from_values(np.array([5, -1, 7, 5]))
    assert labels.names == ["5", "7"]
    assert labels.numbers.tolist() == [0, -1, 1, 0]
    assert ItemLabels.from_values(np.array(["b", "", "a"])).numbers.tolist() == [1, -1, 0]


def test_rows_are_found_by_id(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("a\nzwei\x85\n" + "x" * 999 + "\n", encoding="utf-8")
    items = gather_items(
        np.array([0, 2]),
        vectors=np.eye(3),
        labels=np.array([3.0, 4.0, 5.0]),
        text=read_lines(tmp_path / "text.txt"),
    )
    assert items.labels_of(np.array([2, 0, -1, 3, 1 << 60])).tolist() == [2, 0, -1, -1, -1]
    assert items.text_of(1) == "zwei\x85"
    assert items.text_of(3) is None and items.text_of(-1) is None
    text = items.text_of(2)
    assert text is not None and len(text) == 400 and text.endswith("…")
    vector = items.vector(2)
    assert vector is not None and vector.tolist() == [0, 0, 1]
    assert items.vector(3) is None and items.vector(-1) is None


@pytest.mark.parametrize("name", ["vectors", "labels", "text"])
def test_every_id_needs_a_row(name: str) -> None:
    few: Any = {"vectors": np.eye(2), "labels": np.zeros(2), "text": ["a", "b"]}[name]
    part = f"{name} of the items"
    with pytest.raises(ValueError, match=re.escape(part)):
        gather_items(np.arange(3), **{name: few})


def test_several_labels_per_item_raise() -> None:
    with pytest.raises(ValueError, match="labels of the items"):
        gather_items(np.arange(3), labels=np.zeros((3, 3), int))


def test_text_must_be_utf_8(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="a text file in UTF-8"):
        read_lines(tmp_path / "text.txt")


def test_negative_ids_have_no_rows() -> None:
    with pytest.raises(ValueError, match=r"ids of the index .* got -7"):
        gather_items(np.array([-7]), text=["a"])
