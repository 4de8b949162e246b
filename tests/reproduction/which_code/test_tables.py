"""Markdown tables from made-up records."""

from __future__ import annotations

from reproduction.which_code.summary import summarize
from reproduction.which_code.tables import (
    list_bucket_rows,
    make_best_table,
    make_bucket_table,
    make_full_table,
    make_headline_table,
)
from tests.reproduction.which_code.records import make_records

ROWS = summarize(make_records(), "text")


def test_full_table_has_every_value() -> None:
    lines = make_full_table(ROWS).splitlines()
    assert len(lines) == 2 + len(ROWS)
    assert {line.count("|") for line in lines} == {11}
    values = "10.0 | 10.0 | 10.0 | 10.0 | 10.0 | 10.0 | 10.0 | 10.00"
    assert lines[2] == f"| exact vectors | 1,024 | {values} |"
    assert any(line.startswith("| `KSH(64)`, Hamming (from labels) | 8 |") for line in lines)


def test_missing_values_are_dashes() -> None:
    coarse = next(row for row in ROWS if row.ranking == "coarse bits")
    assert make_full_table([coarse]).splitlines()[2].endswith("| – |")


def test_headline_is_a_handful_of_codes() -> None:
    lines = make_headline_table(ROWS).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:5]] == [
        "| exact vectors",
        "| `DualHasher(128)`, asymmetric",
        "| `DualHasher(128)`, Hamming",
    ]
    assert len(lines) == 2 + 11
    assert "fit" not in lines[0]


def test_best_codes_are_named_with_their_value() -> None:
    table = make_best_table({"A": ROWS, "B": ROWS[:1]}, "recall_10", (8, 40))
    assert table.splitlines() == [
        "| in at most | A | B |",
        "| --- | ---: | ---: |",
        "| 8 bytes | `ITQ(64)`, asymmetric: **31.5** | – |",
        "| 40 bytes | faiss RaBitQ: **60.0** | – |",
    ]


def test_buckets_are_coarse_bits_and_short_codes() -> None:
    rows = list_bucket_rows(ROWS)
    assert [row.title for row in rows] == [
        "`DualHasher(128)`, coarse bits",
        "`DualHasher(64)`, Hamming",
        "`DualHasher(64)`, coarse bits",
        "`IMH(64)`, Hamming",
        "`ITQ(64)`, Hamming",
    ]
    assert "| `IMH(64)`, Hamming | 26 | 25.5 | 25.5 | 25.50 | 25.5 |" in make_bucket_table(rows)
