"""Descriptions of columns, compared with their values."""

from __future__ import annotations

from bitfold.explorer.columns import MISSING, OTHER, make_categories
from bitfold.explorer.workspace import Workspace


def test_columns_are_described_without_removed_items(workspace: Workspace) -> None:
    described = {column.name: column for column in workspace.columns.describe()}
    year = described["year"]
    known = [value for value in workspace.items.table.column("year") if value is not None]
    assert (year.type, year.low, year.high) == ("int", min(known), max(known))
    assert (year.n_missing, year.n_distinct) == (598 - len(known), 30)
    assert year.categories is not None
    assert {each.value: each.count for each in year.categories} == {
        value: known.count(value) for value in set(known)
    }
    assert described["when"].low == "2024-01-02T00:00:00+00:00"
    assert described["odd"].categories is not None and described["odd"].low is None
    assert described["title"].is_text and not described["digit"].is_text


def test_categories_are_numbered_by_frequency() -> None:
    column = make_categories(["b", None, "a", "b", "c", "c", "b"])
    assert column.names == ["b", "c", "a"] and column.counts == [3, 2, 1]
    assert column.numbers.tolist() == [0, MISSING, 2, 0, 1, 1, 0]
    many = make_categories(list(range(2000)))
    assert len(many.names) == 1000 and (many.numbers == OTHER).sum() == 1000
