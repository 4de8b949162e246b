"""The page, its command, and that the page of the documentation is up to date."""

from __future__ import annotations

from pathlib import Path

import pytest
from reproduction.labels.cases import ALL, FEW, SEVEN, UNSUPERVISED, find_labels, list_cases
from reproduction.labels.measure import EVERY, QUALITY, SEEN, UNSEEN
from reproduction.labels.page import (
    describe_change,
    list_rows,
    make_page,
    make_table,
    run_labels,
    write_labels,
)
from reproduction.records import Case, RunRecords
from reproduction.shared_types import Record
from tests.reproduction.conftest import RunCommand

ROOT = Path(__file__).parents[3]


def make_records(cases: list[Case], path: Path) -> RunRecords:
    """Return made-up records: methods with labels are better, but not for unseen classes."""
    records = RunRecords(path)
    for case in cases:
        groups = (SEEN, UNSEEN) if find_labels(case) == SEVEN else (EVERY,)
        value = dict.fromkeys(groups, 60.0 + case.seed)
        if case.method != UNSUPERVISED:
            value = {name: v + (-5 if name == UNSEEN else 20) for name, v in value.items()}
        result = {
            "n_items": 69_000,
            "n_queries": 500,
            "fit_cpu_seconds": 12.4,
            "groups": {
                name: {r: dict.fromkeys(QUALITY, v) for r in ("asymmetric", "Hamming")}
                for name, v in value.items()
            },
        }
        records.add(case, result)
    return records


@pytest.fixture
def records(tmp_path: Path) -> list[Record]:
    return list(make_records(list_cases(("mnist",), 2), tmp_path / "labels.jsonl"))


def test_rows_are_means_over_seeds(records: list[Record]) -> None:
    rows = list_rows(records, "mnist", ALL, EVERY)
    assert rows[0].method == UNSUPERVISED
    assert (rows[0].n_seeds, rows[0].values["asymmetric", "map"]) == (2, 60.5)
    assert rows[1].values["Hamming", "precision_10"] == 80.5
    assert list_rows(records, "cifar10", ALL, EVERY) == []


def test_method_without_labels_is_in_every_table(records: list[Record]) -> None:
    for labels, group in ((ALL, EVERY), (FEW, EVERY), (SEVEN, SEEN), (SEVEN, UNSEEN)):
        assert list_rows(records, "mnist", labels, group)[0].method == UNSUPERVISED


def test_best_values_are_bold(records: list[Record]) -> None:
    lines = make_table(list_rows(records, "mnist", SEVEN, UNSEEN)).splitlines()
    assert lines[2] == f"| `{UNSUPERVISED}` " + "| **60.5** " * 5 + "| 12 | 2 |"
    assert lines[3].endswith("| 55.5 " * 5 + "| 12 | 2 |")


def test_change_is_relative_to_no_labels(records: list[Record]) -> None:
    text = describe_change(list_rows(records, "mnist", SEVEN, UNSEEN))
    assert "`FSDH(64)` -5.0 and -5.0" in text
    assert UNSUPERVISED + "`" not in text
    assert describe_change(list_rows(records, "mnist", ALL, EVERY)[1:]) == ""


def test_page_has_four_tables_per_data_set(records: list[Record]) -> None:
    text = make_page(records)
    assert text.count("| method |") == 4
    assert "## MNIST" in text
    assert "CIFAR-10" not in text


def test_recorded_cases_are_not_repeated(tmp_path: Path) -> None:
    cases = list_cases(("mnist",), 1)
    make_records(cases, tmp_path / "labels.jsonl")
    assert len(run_labels(tmp_path, cases)) == len(cases)


def test_command_prints_and_writes_the_page(run_command: RunCommand, tmp_path: Path) -> None:
    make_records(list_cases(("mnist",), 1), tmp_path / "labels.jsonl")
    done = run_command("labels", str(tmp_path), "--data", "mnist", "--seeds", "1")
    assert (done.code, done.stderr) == (0, "")
    assert (tmp_path / "labels.md").read_text("utf-8") in done.stdout
    wrong = run_command("labels", str(tmp_path), "--data", "sift")
    assert wrong.code == 2
    assert "'sift'" in wrong.stderr


def test_page_of_the_docs_is_up_to_date(tmp_path: Path) -> None:
    path = write_labels(RunRecords(ROOT / "docs" / "labels.jsonl"), tmp_path)
    assert path.read_text("utf-8") == (ROOT / "docs" / "labels.md").read_text("utf-8")
