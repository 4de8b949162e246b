"""The page that compares all methods."""

from __future__ import annotations

from pathlib import Path

from reproduction.pages.comparison import MEASURES, list_cases, make_table, write_comparison
from reproduction.records import Case, RunRecords
from tests.reproduction.fake_records import make_record

DOCS = Path(__file__).parents[3] / "docs"


def test_table_has_means_and_dashes() -> None:
    records = [make_record(Case("digits", "ITQ", 16, seed), 50 + seed) for seed in (0, 1)]
    records += [RunRecords().add(Case("digits", "ITQ", 128), {"error": "n_bits"})]
    assert make_table(records, MEASURES[0]).splitlines()[2] == "| ITQ | 50.5 | – |"


def test_page_has_every_data_set_and_measure(tmp_path: Path) -> None:
    names = ("mnist", "manifold-10")
    records = [RunRecords().add(Case(name, "ITQ", 16), {"map": 12.34}) for name in names]
    text = write_comparison(records, tmp_path).read_text(encoding="utf-8")
    assert text.count("## ") == 2
    assert "curved sheets in 10 dimensions" in text
    assert text.count("| ITQ | 12.3 |") == 2
    assert text.count("| ITQ | – |") == 6


def test_page_of_the_docs_is_up_to_date(tmp_path: Path) -> None:
    records = RunRecords(DOCS / "compare.jsonl")
    cases = list_cases()
    assert [case for case in cases if case not in records] == []
    path = write_comparison([records[case] for case in cases], tmp_path)
    assert path.read_text("utf-8") == (DOCS / "comparison.md").read_text("utf-8")
