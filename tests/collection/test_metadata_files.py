"""Metadata in files."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from bitfold.collection import metadata_files
from bitfold.collection.metadata_files import open_metadata_file
from bitfold.errors import DataError, FormatError, ParameterError


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_files, "_ROWS_PER_BATCH", 2)


def test_csv(tmp_path: Path) -> None:
    text = (
        "n,x,ok,day,mixed,late\n"
        '1,1,true,2020-01-31,"a, ""b""",1\n'
        "-2,2.5,FALSE,2020-02-01T12:00:00,3,2\n"
        ",,,,,3\n"
        '4,1e3,true,2020-03-01,"two\nlines",true\n'
    )
    (tmp_path / "t.csv").write_text("\ufeff" + text, encoding="utf-8")
    source = open_metadata_file(tmp_path / "t.csv")
    assert source.n_rows == 4
    assert source.types == {
        "n": int, "x": float, "ok": bool, "day": datetime, "mixed": str, "late": str,
    }  # fmt: skip
    first, rest = source.read(3), source.read(100)
    assert first["n"] == [1, -2, None]
    assert first["x"] == [1.0, 2.5, None]
    assert first["ok"] == [True, False, None]
    assert first["day"][1] == datetime(2020, 2, 1, 12, tzinfo=UTC)
    assert first["mixed"] == ['a, "b"', "3", None]
    assert rest["mixed"] == ["two\nlines"]
    assert rest["late"] == ["true"]
    assert source.read(1)["n"] == []
    assert source.read_column("n") == [1, -2, None, 4]
    assert "n" not in source.without("n").types


def test_long_integers_in_csv_keep_all_digits(tmp_path: Path) -> None:
    text = "fits,too_long,real\n1234567890123456789,12345678901234567890,12345678901234567890.5\n"
    (tmp_path / "t.csv").write_text(text)
    source = open_metadata_file(tmp_path / "t.csv")
    assert source.read(1) == {
        "fits": [1234567890123456789],
        "too_long": ["12345678901234567890"],
        "real": [12345678901234567890.5],
    }


def test_csv_columns_without_a_name_are_row_numbers(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(",year\n0,2020\n1,2021\n")
    assert open_metadata_file(tmp_path / "t.csv").read(2) == {"year": [2020, 2021]}


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "b": "x"}\n\n{"a": 2.5}\n{"b": null, "c": true}\n')
    source = open_metadata_file(path)
    assert source.types == {"a": float, "b": str, "c": bool}
    assert source.read(9) == {"a": [1, 2.5, None], "b": ["x", None, None], "c": [None, None, True]}


def test_parquet(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2, None], "v": [[1.0]] * 3, "b": ["x", "y", "z"]})
    parquet.write_table(table, tmp_path / "t.parquet")
    source = open_metadata_file(tmp_path / "t.parquet")
    assert source.types == {"a": int, "b": str}
    assert source.read(3) == {"a": [1, 2, None], "b": ["x", "y", "z"]}


@pytest.mark.parametrize(
    ("name", "content", "error", "reason"),
    [
        ("t.csv", b"a,b\n1\n", FormatError, "line 2"),
        ("t.csv", b"a\n\xff\n", FormatError, "CSV"),
        ("t.csv", b"a,b,a\n1,2,3\n", FormatError, "two columns.*'a'"),
        ("t.jsonl", b'{"a": 1}\n[1]\n', FormatError, "Line 2"),
        ("t.jsonl", b'{"a": 1}\n{"a"', FormatError, "Line 2"),
        ("t.jsonl", b'{"a": [1]}\n', DataError, "'a' in line 1"),
        ("t.jsonl", b'{"a": 1}\n{"a": 1}\n{"a": "x"}\n', ParameterError, "'a'.*one type"),
        ("t.parquet", b"PAR1 and so on", FormatError, "Parquet"),
        ("t.xlsx", b"", ParameterError, "suffix"),
    ],
)
def test_mistakes_are_explained(
    tmp_path: Path, name: str, content: bytes, error: type[Exception], reason: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=reason):
        open_metadata_file(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        open_metadata_file(tmp_path / "none.csv")
