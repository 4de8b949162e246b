"""Markdown tables from made-up records."""

from __future__ import annotations

from reproduction.kind_and_order.summary import find_exact, list_fits
from reproduction.kind_and_order.tables import (
    make_base_table,
    make_split_table,
    make_weight_table,
)
from tests.reproduction.kind_and_order.records import make_records

RECORDS = make_records(("text", "sift_photos"))
FITS = list_fits(RECORDS, "text")


def test_splits() -> None:
    lines = make_split_table(FITS, 64, find_exact(RECORDS, "text")).splitlines()
    assert lines[2] == "| 8 + 56 " + "| 31.0 " * 4 + "| 10.0 " * 4 + "|"
    assert lines[6] == "| 40 + 24 " + "| **35.0** " * 4 + "| **14.0** " * 4 + "|"
    assert lines[7] == "| exact vectors " + "| 90.0 " * 4 + "| – " * 4 + "|"


def test_splits_without_labels() -> None:
    lines = make_split_table(list_fits(RECORDS, "sift_photos"), 128, {}).splitlines()
    assert lines[0] == "| coarse + fine bits | recall@10 | Hamming: recall@10 |"
    assert len(lines) == 2 + 6


def test_weights() -> None:
    lines = make_weight_table(FITS).splitlines()
    assert lines[0].endswith("| recall@10 | in first 40 |")
    assert lines[2] == "| 0.25 " + "| 33.2 " * 5 + "|"
    assert lines[-1] == "| 2 " + "| **35.0** " * 5 + "|"
    assert make_weight_table(FITS[:1]) == ""


def test_base_sets() -> None:
    lines = make_base_table(FITS).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == [
        "| 400", "| 1,000", "| 2,000", "| 4,000", "| 8,000", '| "auto": 3,000',
    ]  # fmt: skip
    assert lines[-2] == "| 8,000 " + "| **42.0** " * 4 + "| 21 |"
    untimed = [fit._replace(cpu_seconds=None) for fit in FITS]
    assert all(line.endswith("| – |") for line in make_base_table(untimed).splitlines()[2:])
