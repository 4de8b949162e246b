"""Metadata by row: values, conditions and text search, also of collections with removed items."""

from __future__ import annotations

import numpy as np
import pytest

from bitfold.errors import ParameterError
from bitfold.explorer import item_table
from bitfold.explorer.item_ids import IntegerIds
from bitfold.explorer.item_table import ItemTable
from bitfold.explorer.workspace import Workspace


def test_values_and_columns_agree(workspace: Workspace) -> None:
    table = workspace.items.table
    rows = np.array([500, 3, 0])
    for name in table.columns:
        whole = table.column(name)
        assert len(whole) == len(table)
        assert table.values(rows, [name])[name] == [whole[row] for row in rows]
    assert table.column("year")[:3] == [1991, 1992, 1993]


def test_filters_equal_those_by_hand(workspace: Workspace) -> None:
    table = workspace.items.table
    years, titles = table.column("year"), table.column("title")
    by_year = [row for row, year in enumerate(years) if year is not None and year >= 2010]
    selected = table.select("year >= 2010", None)
    assert selected is not None and selected.rows.tolist() == by_year
    selected = table.select("year >= 2010", "SEVEN")
    assert selected is not None and selected.is_complete
    assert selected.rows.tolist() == [row for row in by_year if "seven" in titles[row]]
    assert table.select(None, "  ") is None


@pytest.mark.parametrize(
    ("text", "n_found"),
    [("100%", 598), ("1_0", 0), ("100_", 0), ("d/8", 11), ("\\", 0), ("'", 0), ("\0", 0)],
)
def test_text_is_literal(workspace: Workspace, text: str, n_found: int) -> None:
    selected = workspace.items.table.select(None, text)
    assert selected is not None and len(selected.rows) == n_found


def test_a_scan_stops_in_time(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_table, "MAX_SCAN_SECONDS", -1.0)
    monkeypatch.setattr(item_table, "_STEPS_PER_CHECK", 10)
    selected = workspace.items.table.select(None, "a picture of")
    assert selected is not None and not selected.is_complete and len(selected.rows) < 598


def test_without_metadata_only_ids_are_searched() -> None:
    table = ItemTable(IntegerIds(np.arange(120)))
    selected = table.select(None, "11")
    assert selected is not None and selected.rows.tolist() == [11, *range(110, 120)]
    with pytest.raises(ParameterError, match="no metadata"):
        table.select("year > 3", None)
    assert table.values(np.array([1])) == {}
