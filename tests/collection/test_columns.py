"""Metadata as users pass them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from bitfold.collection.columns import declare_columns, open_metadata
from bitfold.errors import ParameterError, ParameterTypeError

NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)


def read(metadata: Any) -> tuple[dict[str, type], dict[str, list[Any]]]:
    source = open_metadata(metadata)
    assert source is not None
    return dict(source.types), source.read(100)


@pytest.mark.parametrize(
    "table",
    [
        {"a": [1, None, 3], "b": ["x", "y", None]},
        {"a": np.array([1, None, 3], object), "b": np.array(["x", "y", None], object)},
        [{"a": 1, "b": "x"}, {"b": "y"}, {"a": 3}],
        pa.table({"a": [1, None, 3], "b": ["x", "y", None]}),
        pd.DataFrame({"a": pd.array([1, None, 3], "Int64"), "b": ["x", "y", None]}),
        pd.DataFrame({"a": pd.array([1, None, 3], "Int64"), "b": pd.Categorical(["x", "y", None])}),
    ],
)
def test_tables_of_every_kind(table: Any) -> None:
    types, values = read(table)
    assert types == {"a": int, "b": str}
    assert values == {"a": [1, None, 3], "b": ["x", "y", None]}


def test_tables_of_polars() -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    types, values = read(pl.DataFrame({"a": [1, None, 3], "t": [NOON, None, NOON]}))
    assert types == {"a": int, "t": datetime}
    assert values == {"a": [1, None, 3], "t": [NOON, None, NOON]}


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (np.array([1.5, np.nan]), float, [1.5, None]),
        ([1, 2.5], float, [1, 2.5]),
        ([None, None], str, [None, None]),
        (np.array([True, False]), bool, [True, False]),
        (np.array(["2020-01-01T12", "NaT"], "datetime64[ns]"), datetime, [NOON, None]),
        (pd.Series([pd.Timestamp("2020-01-01 12:00"), pd.NaT]), datetime, [NOON, None]),
        ([datetime(2020, 1, 1, 13, tzinfo=timezone(timedelta(hours=1)))], datetime, [NOON]),
        ([date(2020, 1, 1)], datetime, [NOON - timedelta(hours=12)]),
        (np.arange(2, dtype=np.uint8), int, [0, 1]),
        (["x", np.str_("y")], str, ["x", "y"]),
    ],
)
def test_values(values: Any, kind: type, expected: list[Any]) -> None:
    assert read({"c": values}) == ({"c": kind}, {"c": expected})


def test_mistakes_are_explained() -> None:
    with pytest.raises(ParameterError, match=r"of one type.*int and str"):
        open_metadata({"c": [1, "x"]})
    with pytest.raises(ParameterError, match="one length"):
        open_metadata({"c": [1], "d": [1, 2]})
    with pytest.raises(ParameterTypeError, match="DataFrame"):
        open_metadata(3)
    with pytest.raises(ParameterTypeError, match="lists of values"):
        open_metadata({"c": "text"})
    for name in ("id", "vector", "_row", "a.b", "", 3):
        with pytest.raises(ParameterError, match="column name"):
            open_metadata({name: [1]})
    with pytest.raises(ParameterError, match="lower case"):
        declare_columns({"Year": [1], "year": [2]})
    with pytest.raises(ParameterError, match="one of the types"):
        declare_columns({"c": bytes})
    with pytest.raises(ParameterError, match="one of the types"):
        declare_columns({"c": [b"x"]})
    assert declare_columns({"c": int}) == {"c": int}
    assert declare_columns(None) == {}
