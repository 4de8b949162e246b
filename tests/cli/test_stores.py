"""Addresses of stores."""

from __future__ import annotations

import pytest
import typer

from bitfold.cli._stores import check_table, find_engine, format_address, open_store


@pytest.mark.parametrize(
    ("address", "engine"),
    [
        ("postgresql://me@host/db", "postgres"),
        ("postgres://me@host/db", "postgres"),
        ("host=127.0.0.1 dbname=x", "postgres"),
        ("postgresql+psycopg://me@host/db", "postgres"),
        ("codes.faiss", "faiss"),
        ("folder", "lancedb"),
        ("s3://bucket/folder", "lancedb"),
    ],
)
def test_engine(address: str, engine: str) -> None:
    assert find_engine(address) == engine


def test_other_databases_are_errors_without_the_password() -> None:
    with pytest.raises(typer.BadParameter, match="mysql:// is not supported") as error:
        find_engine("mysql://me:secret@host/db")
    assert "secret" not in str(error.value)


def test_formatted_address_has_no_password() -> None:
    assert "secret" not in format_address("postgresql://me:secret@host/db", "t")
    assert format_address("folder", "t") == "table t in folder"
    assert format_address("x.faiss", None) == "x.faiss"


def test_table_is_needed_unless_faiss() -> None:
    check_table("folder", "t")
    check_table("x.faiss", None)
    for address, table in (("folder", None), ("x.faiss", "t")):
        with pytest.raises(typer.BadParameter, match="--table"):
            check_table(address, table)


def test_tables_know_their_code_length() -> None:
    with pytest.raises(typer.BadParameter, match="--bits"):
        open_store("folder", "t", 64)
