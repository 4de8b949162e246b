"""Values of columns in stores that are tables: round trips and invalid values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from tests.stores.conftest import MakeStore
from tests.stores.table_data import CODES, COLUMN_TYPES, COLUMNS, every_table

from bitfold.errors import ParameterError


@every_table
def test_columns_round_trip(filled_store: Any) -> None:
    ids = [150, 3, 20]
    found = filled_store.columns(ids)
    assert found.keys() == COLUMN_TYPES.keys()
    for name, values in found.items():
        assert values == [np.array(COLUMNS[name], object)[i] for i in ids]


@every_table
def test_omitted_columns_are_missing(kind: str, make_store: MakeStore) -> None:
    store = make_store(kind, 32, columns={"label": int, "title": str})
    store.add(CODES[:2], columns={"label": [1, None]})
    assert store.columns([0, 1]) == {"label": [1, None], "title": [None, None]}
    assert store.search(CODES[:1], 2, where=[("label", "!=", 5)]).ids.tolist() == [[0]]


@every_table
def test_invalid_values_raise(filled_store: Any) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"label": [1, 2]}, "column 'label' .* 1 codes, got 2"),
        ({"label": ["x"]}, "column 'label' .* int, got 'x'"),
        ({"label": [1.5]}, "int, got 1.5"),
        ({"label": [True]}, "int, got True"),
        ({"label": [1 << 63]}, "64 bits"),
        ({"title": ["a\0b"]}, "column 'title' .* without NUL"),
        ({"title": ["\ud800"]}, "column 'title' .* lone surrogates"),
        ({"on": [datetime(2026, 1, 1)]}, "column 'on' .* time zone"),
        ({"nothing": [1]}, "columns of .* 'label', .* got 'nothing'"),
    ]
    for columns, message in cases:
        with pytest.raises(ParameterError, match=message):
            filled_store.add(CODES[:1], columns=columns)
    assert len(filled_store) == len(CODES)


@every_table
def test_invalid_names_and_types_raise(kind: str, make_store: MakeStore) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"x": list}, "column 'x' .* bool, int, float, str, datetime"),
        ({"code": int}, "column name .* got 'code'"),
        ({"_rowid": int}, "column name .* got '_rowid'"),
        ({"a.b": int}, "column name .* got 'a.b'"),
        ({"é" * 32: int}, "column name .* 63 bytes"),
        ({"": int}, "column name .* got ''"),
        ({"%s": int}, "column name .* got '%s'"),
    ]
    for types, message in cases:
        with pytest.raises(ParameterError, match=message):
            make_store(kind, 32, columns=types)


@every_table
def test_times_with_a_zone_are_accepted(kind: str, make_store: MakeStore) -> None:
    store = make_store(kind, 32, columns={"on": datetime})
    when = datetime(2026, 1, 1, tzinfo=UTC)
    store.add(CODES[:1], columns={"on": [when]})
    assert store.columns([0]) == {"on": [when]}
