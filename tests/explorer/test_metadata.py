"""Metadata from files: by order, by a column of ids, and next to those of a collection."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.explorer.conftest import index_vectors, items_of, random_vectors

from bitfold.errors import DataError
from bitfold.explorer.opening import ItemSources, open_models


def test_csv_in_the_order_of_ids(tmp_path: Path) -> None:
    opened = index_vectors(tmp_path, random_vectors(3), np.array([1, 4, 2]))
    lines = "".join(f"{i},row {i}\n" for i in range(6))
    (tmp_path / "m.csv").write_text("number,name\n" + lines, encoding="utf-8")
    table = items_of(opened, ItemSources(metadata=tmp_path / "m.csv")).table
    assert table.column("number") == [1, 2, 4]
    selected = table.select("id = 4", None)
    assert selected is not None and selected.rows.tolist() == [2]


def test_json_lines_are_joined_by_id_to_a_collection(named: Path, tmp_path: Path) -> None:
    records = [{"id": f"d/{i}", "score": i / 2} for i in (9, 3, 7, 100_000)]
    file = tmp_path / "m.jsonl"
    file.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    items = items_of(open_models([named], [])[0], ItemSources(metadata=file))
    scores = items.table.column("score")
    assert {row: score for row, score in enumerate(scores) if score is not None} == {2: 1.5, 7: 4.5}
    assert items.table.column("digit")[0] == "one"
    assert items.table.ids.names(np.array([0])) == ["d/1"]


def test_other_ids_and_missing_rows_are_explained(tmp_path: Path) -> None:
    opened = index_vectors(tmp_path, random_vectors(3))
    (tmp_path / "m.csv").write_text("id,a\n7,1\n", encoding="utf-8")
    with pytest.raises(DataError, match="No id"):
        items_of(opened, ItemSources(metadata=tmp_path / "m.csv"))
    (tmp_path / "m.csv").write_text("a\n7\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"has 1 rows, but the items need 3"):
        items_of(opened, ItemSources(metadata=tmp_path / "m.csv"))


def test_labels_and_texts_from_files_are_columns(tmp_path: Path) -> None:
    opened = index_vectors(tmp_path, random_vectors(3))
    np.save(tmp_path / "y.npy", np.array([5, -1, 7]))
    (tmp_path / "t.txt").write_text("a\nzwei\x85\n" + "x" * 999 + "\n", encoding="utf-8")
    sources = ItemSources(text=str(tmp_path / "t.txt"), label=str(tmp_path / "y.npy"))
    items = items_of(opened, sources)
    assert (items.text_column, items.label_column) == ("text", "label")
    assert items.labels is not None and items.labels.numbers.tolist() == [0, -1, 1]
    first, second, third = items.describe([0, 1, 2])
    assert (first.text, second.text, second.label) == ("a", "zwei\x85", -1)
    assert third.text is not None and len(third.text) == 400 and third.text.endswith("…")
