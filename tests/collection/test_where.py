"""Conditions: what they mean, and that they can do nothing else."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfold.collection.conditions import ConditionCompiler
from bitfold.collection.where import compile_where
from bitfold.errors import ParameterError

TYPES = {
    "id": int,
    "year": int,
    "price": float,
    "kind": str,
    "new": bool,
    "day": datetime,
    "a b": str,
}
COMPILER = ConditionCompiler(TYPES, {name: f'"{name}"' for name in TYPES})

ROWS: list[tuple[Any, ...]] = [
    (0, 2019, 1.5, "news", 1, "2020-01-01T00:00:00.000000+00:00", "x"),
    (1, 2020, 2.5, "it's", 0, "2021-06-01T12:00:00.000000+00:00", None),
    (2, None, -3.0, 'say "hi"', 1, None, "y"),
    (3, 2022, None, "100%", None, "2022-01-01T00:00:00.000000+00:00", "z"),
]


def select(where: Any) -> list[int]:
    condition = compile_where(where, COMPILER)
    with sqlite3.connect(":memory:") as connection:
        names = ", ".join(COMPILER.sql_names.values())
        connection.execute(f"CREATE TABLE t ({names})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(TYPES))})", ROWS)
        found = connection.execute(f"SELECT id FROM t WHERE {condition.sql}", condition.values)
        rows = [row for (row,) in found]
    connection.close()
    return rows


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("year >= 2020", [1, 3]),
        ("year == 2020 or year = 2019", [0, 1]),
        ("year <> 2020", [0, 3]),
        ("NOT year != 2020", [1]),
        ("price < -1.5e0", [2]),
        ("kind = 'it''s'", [1]),
        ("kind in ('news', '100%') and price > 0", [0]),
        ("kind not in ('news')", [1, 2, 3]),
        ("kind like 'n%' or kind not like '%s%'", [0, 3]),
        ("year between 2019 and 2020 and price >= 2", [1]),
        ("year not between 2019 and 2020", [3]),
        ("year is null", [2]),
        ("year is not null and (new or price > 2)", [0, 1]),
        ("not new", [1]),
        ("new = true", [0, 2]),
        ("new = 0", [1]),
        ("day >= '2021-06-01'", [1, 3]),
        ("day < '2021-06-01T13:00:00+02:00'", [0]),
        ("\"a b\" > 'x'", [2, 3]),
        ("id in (3, 1)", [1, 3]),
        ("price < 1e300", [0, 1, 2]),
        ("year > -9223372036854775808 and year < 9223372036854775807", [0, 1, 3]),
        ([("year", ">=", 2020)], [1, 3]),
        ([("year", "==", 2020), ("kind", "in", ["it's"])], [1]),
        ([[("year", "=", 2019)], [("price", "<", 0)]], [0, 2]),
        ([("day", "<", datetime(2020, 5, 1, tzinfo=UTC))], [0]),
        ([("kind", "in", [])], []),
        (None, [0, 1, 2, 3]),
    ],
)
def test_meaning(where: Any, expected: list[int]) -> None:
    assert select(where) == expected


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("yeer > 2020", "'year'.*'yeer'"),
        ("year > 'abc'", "a number.*'abc'"),
        ("kind = 3", "text in single quotes"),
        ("new = 'yes'", "true or false"),
        ("day > 'yesterday'", "a time"),
        ("year >", "the end of"),
        ("year > 2020 and", "the name of a column"),
        ("year > 2020 kind = 'a'", "and, or"),
        ("(year > 2020", r"'\)'"),
        ("year", "a comparison"),
        ("year > kind", "a number"),
        ("year > 2020; drop table t", r"'; drop"),
        ("year > 2020 -- comment", "such as.*-- comment"),
        ("year in ()", "a number"),
        ("year like 'x'", "like"),
        ("kind = 'open", "'open"),
        ("1 = 1", "the name of a column"),
        ("(" * 60 + "new" + ")" * 60, "nested"),
        ("price > 1e400", "a number"),
        ("year = 99999999999999999999", "a number"),
        (f"year < {'9' * 5000}", "a number"),
        ('kind = "news"', "text in single quotes|a number"),
        ("", "the name of a column"),
        (3, "list of conditions"),
        ([("year", "~", 3)], "operator"),
        ([("kind", "=", None)], "'kind'"),
    ],
)
def test_mistakes_are_explained(where: Any, reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        compile_where(where, COMPILER)


@given(st.text(max_size=40) | st.text("yearkind ()'\"<>=,;-andotin0129.\0", max_size=40))
def test_no_text_is_more_than_a_condition(text: str) -> None:
    try:
        condition = compile_where(text, COMPILER)
    except ParameterError:
        return
    names = set(COMPILER.sql_names.values())
    rest = condition.sql
    for name in names:
        rest = rest.replace(name, "")
    words = set(rest.replace("(", " ").replace(")", " ").replace(",", " ").split())
    allowed = {"AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "BETWEEN", "?", "1"}
    assert words <= allowed | {"=", "!=", "<", "<=", ">", ">="}


@given(st.text(max_size=20).filter(lambda text: "\0" not in text))
def test_every_text_can_be_searched_for(text: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        return
    quoted = text.replace("'", "''")
    assert compile_where(f"kind = '{quoted}'", COMPILER).values == [text]
