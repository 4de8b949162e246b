"""The page, its command, and that the page of the documentation is up to date."""

from __future__ import annotations

from pathlib import Path

import pytest
from reproduction.kind_and_order.cases import SETTINGS, list_cases
from reproduction.kind_and_order.page import (
    make_page,
    run_kind_and_order,
    write_kind_and_order,
    write_page,
)
from reproduction.records import Case, RunRecords
from tests.reproduction.conftest import RunCommand
from tests.reproduction.kind_and_order.records import make_records

from bitfold.base_set import size

ROOT = Path(__file__).parents[3]


def test_page_has_a_figure_and_three_tables_per_data_set(tmp_path: Path) -> None:
    path = write_kind_and_order(make_records(("text", "sift_photos")), tmp_path)
    text = path.read_text(encoding="utf-8")
    assert "(images/kind-and-order/splits.png)" in text
    assert (tmp_path / "images" / "kind-and-order" / "splits.png").is_file()
    assert "**SIFT-1M-photos: 58,979 SIFT descriptors of 256 numbers, 500 queries**" in text
    for first_column in ("coarse + fine bits", "`coarse_weight`", "base points"):
        n_tables = 4 if "fine" in first_column else 2
        assert text.count(f"| {first_column} |") == n_tables
    assert text.count('"auto" chose 3,000 base points (made up).') == 2
    assert "MNIST:" not in text


def test_page_names_the_best_split() -> None:
    text = make_page(make_records(("text", "sift_photos")))
    assert "64 bits. P@10 and recall@10 are both highest with 40 coarse bits." in text
    assert "128 bits. Recall@10 is highest with 64 coarse bits." in text


def test_page_explains_how_sizes_are_measured() -> None:
    text = make_page(make_records())
    assert all(f"{n:,}" in text for n in (*size.SIZES, size.N_HELD_OUT, 5000))
    assert f"less than {size.MIN_GAIN:.0%} more" in text


def test_unfinished_tables_are_left_out() -> None:
    records = make_records()[: 1 + len(SETTINGS)]
    text = make_page(records[:2])  # the exact vectors and the first fit
    assert "| 8 + 120 |" in text
    assert "`coarse_weight` |" not in text
    assert "| base points |" not in text


def test_recorded_cases_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case("digits", "Flat", 0, n_queries=40, measure="kind-and-order")
    first = run_kind_and_order(tmp_path, [case])
    assert first[0]["result"]["rankings"][0]["recall_10"] > 99
    monkeypatch.setattr("reproduction.kind_and_order.measure.judge_queries", None)
    assert run_kind_and_order(tmp_path, [case]) == first


def test_command_writes_the_page(run_command: RunCommand, tmp_path: Path) -> None:
    records = RunRecords(tmp_path / "kind-and-order.jsonl")
    for record in make_records():
        records.add(Case.from_record(record), record["result"])
    assert all(case in records for case in list_cases(("text",)))  # so that nothing runs
    done = run_command("kind-and-order", str(tmp_path), "--data", "text")
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout == f"Page written to {tmp_path / 'kind-and-order.md'}\n"
    wrong = run_command("kind-and-order", str(tmp_path), "--data", "sift")
    assert wrong.code == 2
    assert "'sift'" in wrong.stderr


def test_page_of_the_docs_is_up_to_date(tmp_path: Path) -> None:
    path = write_page(RunRecords(ROOT / "docs" / "kind-and-order.jsonl"), tmp_path)
    assert path.read_text("utf-8") == (ROOT / "docs" / "kind-and-order.md").read_text("utf-8")
