"""The pages that compare all methods."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from reproduction.experiments.methods import COMPARED_METHODS
from reproduction.pages.comparison import (
    CHART,
    DARK_CHART,
    MEASURES,
    list_cases,
    make_manifolds_page,
    make_page,
    make_table,
    run_comparison,
    write_comparison,
    write_pages,
)
from reproduction.records import Case, RunRecords
from tests.reproduction.fake_records import make_record

from reproduction.experiments import retrieval, run
from reproduction.pages import comparison

DOCS = Path(__file__).parents[3] / "docs"
MAX_LINES = 200
"""Lines of a page that a person still reads; folded tables do not count."""


def test_table_has_means_and_dashes() -> None:
    records = [make_record(Case("digits", "ITQ", 16, seed), 50 + seed) for seed in (0, 1)]
    records += [RunRecords().add(Case("digits", "ITQ", 128), {"error": "n_bits"})]
    assert make_table(records, MEASURES[0]).splitlines()[2] == "| ITQ | 50.5 | – |"


def test_every_method_has_cases() -> None:
    assert {"SDH", "FSDH", "MahalanobisLSH"} <= set(COMPARED_METHODS)
    cases = list_cases()
    assert len(cases) == len(set(cases))
    for name in COMPARED_METHODS:
        assert len([case for case in cases if case.method == name and case.n_bits > 9]) == 5 * 4


def test_page_of_mnist_has_conclusions_a_chart_and_every_measure() -> None:
    records = [RunRecords().add(Case("mnist", "ITQ", 64), {"map": 12.34})]
    text = make_page(records)
    assert text.index("Without labels, ITQ") < text.index(CHART) < text.index(DARK_CHART)
    assert text.index(DARK_CHART) < text.index("## MAP, percent")
    assert text.count("| ITQ | 12.3 |") == 1
    assert text.count("| ITQ | – |") == 3


def test_page_of_manifolds_has_every_data_set_and_measure() -> None:
    records = [RunRecords().add(Case("manifold-10", "ITQ", 64), {"map": 12.34})]
    text = make_manifolds_page(records)
    assert "| 10 | ITQ: 12.3 | – |\n| 16 | – | – |" in text
    assert text.count("\n## ") == 4
    assert text.count("<details") == text.count("</details>") == 12
    assert text.count("| ITQ | 12.3 |") == 1


def test_equal_methods_are_the_best_together() -> None:
    records = [
        RunRecords().add(Case("manifold-64", method, 64), {"map": value})
        for method, value in (("KSH", 99.98), ("SDH", 99.97), ("SSH", 99.9))
    ]
    assert "| 64 | – | KSH, SDH: 100.0 |" in make_manifolds_page(records)


def test_page_says_which_times_are_missing() -> None:
    case = Case("mnist", "ITQ", 64)
    without = RunRecords().add(case, {"map": 12.34})
    assert "measures them again. It concerns\n  ITQ.\n" in make_page([without])
    timed = [make_record(replace(case, method=name)) for name in ("LSH", "SH")]
    assert "Methods without a point have no time yet." in make_page([without, *timed])
    assert "without a point" not in make_page([without])
    text = make_page([make_record(case)])
    assert "--times" not in text
    assert "without a point" not in text


def test_charts_and_both_pages_are_written(tmp_path: Path) -> None:
    records = [make_record(Case(data, "ITQ", 64)) for data in ("mnist", "manifold-16")]
    assert write_comparison(records, tmp_path) == tmp_path / "comparison.md"
    for name in ("comparison.md", "comparison-manifolds.md", CHART, DARK_CHART):
        assert (tmp_path / name).exists(), name


def test_times_of_a_busy_machine_are_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case("digits", "LSH", 16, n_queries=50, n_rows=300)
    monkeypatch.setattr(comparison, "list_cases", lambda: [case])
    monkeypatch.setattr(run, "is_machine_busy", lambda: True)
    for times in (False, True):
        [record] = run_comparison(tmp_path, times=times)
        assert not record["result"].keys() & set(retrieval.TIMES)
    monkeypatch.setattr(run, "is_machine_busy", lambda: False)
    [same] = run_comparison(tmp_path)
    assert same == record
    [timed] = run_comparison(tmp_path, times=True)
    assert timed["result"].keys() >= set(retrieval.TIMES)
    assert timed["result"]["map"] == record["result"]["map"]


def test_pages_of_the_docs_are_up_to_date(tmp_path: Path) -> None:
    records = RunRecords(DOCS / "compare.jsonl")
    cases = list_cases()
    assert [case for case in cases if case not in records] == []
    write_pages([records[case] for case in cases], tmp_path)
    for name in ("comparison.md", "comparison-manifolds.md"):
        text = (DOCS / name).read_text("utf-8")
        assert (tmp_path / name).read_text("utf-8") == text
        shown = re.sub(r"<details.*?</details>", "", text, flags=re.DOTALL)
        assert shown.count("\n") < MAX_LINES, name
