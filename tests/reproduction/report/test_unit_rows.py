"""The check of rows of unit length, from records that are made up."""

from __future__ import annotations

from typing import Any

from reproduction.experiments.methods import ON_UNIT_ROWS
from reproduction.report.unit_rows import present_unit_rows


def make_record(method: str, value: float, seed: int = 0) -> dict[str, Any]:
    case = {"data": "mnist", "method": method, "n_bits": 64, "seed": seed}
    return {"case": case, "result": {"map": value}}


def test_the_table_has_both_values_and_the_note_the_changes() -> None:
    records = [
        make_record("ITQ", 40.0),
        make_record("ITQ", 44.0, seed=1),
        make_record("ITQ" + ON_UNIT_ROWS, 43.0),
        make_record("SH", 26.0),
        make_record("SH" + ON_UNIT_ROWS, 25.5),
        make_record("BRE", 41.0),  # the other value is missing
    ]
    shown = present_unit_rows("Check", records)
    assert not shown.figures
    (table,) = shown.tables
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["SH", "MNIST", "26.00 (0.00)", "25.50 (0.00)"],
        ["ITQ", "MNIST", "42.00 (2.83)", "43.00 (0.00)"],
    ]
    assert "by -0.50 (SH, MNIST) to +1.00 (ITQ, MNIST)" in shown.note


def test_there_is_no_note_without_records() -> None:
    assert not present_unit_rows("Check", []).note
