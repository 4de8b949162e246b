"""Cases and their records."""

from __future__ import annotations

from pathlib import Path

from reproduction.records import Case, RunRecords

CASE = Case("mnist", "AGH", 64, 3, options=(("n_base_points", 400), ("n_neighbors", 5)))


def test_a_case_survives_its_record(tmp_path: Path) -> None:
    RunRecords(tmp_path / "records.jsonl").add(CASE, {"map": 1.0})
    (record,) = RunRecords(tmp_path / "records.jsonl")
    assert Case.from_record(record) == CASE


def test_settings_ignore_seeds_and_queries() -> None:
    assert CASE.setting == Case("mnist", "AGH", 64, 1, 500, options=CASE.options).setting
    assert CASE.setting != Case("mnist", "AGH", 64, 3).setting


def test_title_names_the_settings() -> None:
    assert CASE.title == "mnist, AGH, 64 bits, n_base_points=400, n_neighbors=5"
