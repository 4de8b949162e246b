"""The page of the report: figures, tables, verdicts and reasons."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape
from pathlib import Path

import pytest
from reproduction.artifacts import ARTIFACTS
from reproduction.columns import PUBLISHED, name_in_column
from reproduction.paper.deviations import UNKNOWN_REASON, Reason
from reproduction.paper.statement import Outcome, Statement, Verdict
from reproduction.paper.statements import STATEMENTS
from reproduction.protocol import Protocol
from reproduction.records import Case
from reproduction.report.conclusions import list_conclusions
from reproduction.report.page import (
    describe_extent,
    describe_missing,
    make_sections,
    write_report,
)
from reproduction.report.settings import CHANGES
from reproduction.shared_types import Record
from tests.reproduction.fake_records import make_record

from reproduction.paper import deviations, reported
from reproduction.report import figure_files


@pytest.fixture(autouse=True)
def draw_small_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw fewer pixels, which takes most of the time."""
    monkeypatch.setattr(figure_files, "DPI", 30)


def write_page(folder: Path, name: str, records: list[Record]) -> str:
    command = "python -m reproduction <x>"
    path = write_report(folder, [ARTIFACTS[name]], {name: records}, command)
    assert path == folder / "index.html"
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ARTIFACTS)
def test_every_artifact_has_a_section(name: str, tmp_path: Path) -> None:
    artifact = ARTIFACTS[name]
    # The cases of the quick version are fewer, and one of two large data sets is enough.
    cases = [replace(case, n_rows=0) for case in artifact.cases(Protocol(quick=True))]
    records = [make_record(case) for case in cases if case.data not in ("sift1m", "gist1m")]
    text = write_page(tmp_path, name, records)
    assert escape(artifact.title) in text
    assert escape(CHANGES[name]) in text
    assert "python -m reproduction &lt;x&gt;" in text
    stems = re.findall(rf'src="({name}-\w+)\.png"', text)
    assert stems or name == "unit-rows"
    for stem in stems:
        assert (tmp_path / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (tmp_path / f"{stem}.svg").read_bytes()
    for table in re.findall(r"<table>(.*?)</table>", text, re.DOTALL):
        rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
        assert len({row.count("<t") for row in rows}) == 1
        assert len(rows) > 1
    verdicts = re.findall(r'<li id="[\w-]+" class="(yes|no|none)">', text)
    assert len(verdicts) == len(STATEMENTS.get(name, []))
    # Every tag is closed.
    for tag in ("section", "table", "ul", "div", "details", "li", "p", "figure", "dl", "ol"):
        assert len(re.findall(rf"<{tag}\b", text)) == text.count(f"</{tag}>"), tag


def test_first_screen_has_the_count_the_figure_and_the_conclusions(tmp_path: Path) -> None:
    cases = ARTIFACTS["table-base-size"].cases(Protocol(2))
    text = write_page(tmp_path, "table-base-size", [make_record(case) for case in cases])
    head = text[: text.index("How to read this page")]
    n = len(STATEMENTS["table-base-size"])
    assert f"Of {n} statements of the paper, " in head
    assert 'src="overview.png"' in head
    assert (tmp_path / "overview.svg").exists()
    assert "MNIST with 100, 400 and 1,000 base points: MAP " in head
    # Conclusions without records are left out.
    assert "SVM" not in head


def make_all_records() -> dict[str, list[Record]]:
    return {
        name: [make_record(case) for case in artifact.cases(Protocol(1))]
        for name, artifact in ARTIFACTS.items()
    }


def test_conclusions_are_few_and_short() -> None:
    """The count takes two lines, and each conclusion one: ten lines at most."""
    records = make_all_records()
    verdicts = [v for section in make_sections(ARTIFACTS.values(), records)
                for v in section.verdicts]  # fmt: skip
    conclusions = list_conclusions(records, verdicts)
    assert len(conclusions) == 8
    assert max(map(len, conclusions)) <= 118


def test_main_claims_are_stated_by_their_verdicts() -> None:
    ids = {"mnist-tsne-best-map": Outcome.HOLDS, "cifar-best-IMH-tSNE": Outcome.FAILS,
           "cifar-best-IMH-LE": Outcome.NOT_RUN, "sift_photos-superior-f1": Outcome.FAILS,
           "gist_cifar-superior-f1": Outcome.FAILS}  # fmt: skip
    verdicts = [Verdict(Statement(name, 1, "", "", None), outcome, [])
                for name, outcome in ids.items()]  # fmt: skip
    assert list_conclusions({}, verdicts) == [
        "IMH-tSNE best in MAP: holds on MNIST, fails on CIFAR-10; both in F1: fails on SIFT and "
        "GIST."
    ]
    assert list_conclusions({}) == []


def test_rivals_are_methods_of_others_and_their_lengths_are_named() -> None:
    """IMH-LE, the paper's own, is not the best other method, whatever its MAP."""
    records = make_all_records()
    for name in ("fig-mnist", "fig-cifar"):
        records[name] = [
            {**r, "result": {**r["result"], "map": 99.0}}
            if r["case"]["method"].startswith("IMH-LE") else r
            for r in records[name]
        ]  # fmt: skip
    texts = list_conclusions(records)
    (best,) = (text for text in texts if "the best method of others" in text)
    assert "99.0" not in best
    assert "IMH-LE" not in best
    (labels,) = (text for text in texts if text.startswith("MAP with labels"))
    assert re.search(r"9 bits of IMHs-ITQ: \d+\.\d \([\w-]+, 128 bits: \d+\.\d\) on MNIST", labels)


def test_conclusions_state_what_was_found() -> None:
    """Values far from the paper's are not called reproduced."""
    cases = ARTIFACTS["table-base-method"].cases(Protocol(1))
    records = {"table-base-method": [make_record(case, 99.0) for case in cases]}
    (text,) = list_conclusions(records)
    assert text.startswith("Table I, K-means: 0 of 9 values are within 0.6 MAP % of the paper's")


def test_output_is_deterministic(tmp_path: Path) -> None:
    cases = ARTIFACTS["fig-cifar-pr"].cases(Protocol(1))[:3]
    records = [make_record(case) for case in cases]
    for folder in ("a", "b"):
        write_page(tmp_path / folder, "fig-cifar-pr", records)
    for name in ("fig-cifar-pr-cifar10.svg", "fig-cifar-pr-cifar10.png", "index.html"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_artifact_without_records_has_no_section(tmp_path: Path) -> None:
    text = write_page(tmp_path, "fig-mnist", [])
    assert '<section id="fig-mnist"' not in text
    # Its statements count as not run.
    sentences = {s.sentence or s.id for s in STATEMENTS["fig-mnist"]}
    assert f"Not run yet: {len(sentences) - 1}." in text


def make_classification_records(value: float) -> list[Record]:
    cases = ARTIFACTS["fig-classify"].cases(Protocol(1))
    name = name_in_column("IMH-tSNE", PUBLISHED)
    return [make_record(case, value) for case in cases if case.method == name]


def test_missing_and_failing_statements(tmp_path: Path) -> None:
    text = write_page(tmp_path, "fig-classify", make_classification_records(50.0))
    assert "<b>not run yet</b>" in text
    assert "<b>fails</b>: 128 bits, IMH-tSNE: 50.00, paper 94.1 (-44.10, one seed)." in text
    assert "Reason" not in text.split("What the paper says", 1)[1]


def test_disagreement_has_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deviations, "DISAGREEMENTS", {"classify-94": "an <odd> cause"})
    fails = write_page(tmp_path, "fig-classify", make_classification_records(50.0))
    assert "an &lt;odd&gt; cause." in fails
    holds = write_page(tmp_path, "fig-classify", make_classification_records(99.0))
    assert "an &lt;odd&gt; cause" not in holds


@pytest.mark.parametrize("name", ["fig-classify", "table-base-size"])
def test_quick_version_is_not_judged(name: str, tmp_path: Path) -> None:
    records = [make_record(c, 50.0) for c in ARTIFACTS[name].cases(Protocol(quick=True))[:4]]
    text = write_page(tmp_path, name, records)
    assert "a quick version with 2,000 rows" in text
    assert "not judged in a quick version" in text
    assert "<b>fails" not in text
    assert "Reason" not in text
    assert "overview.png" not in text


def test_differences_beyond_the_interval_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(value: float) -> str:
        options = (("base", "kmeans"), ("n_base_points", 400), ("n_neighbors", 5))
        cases = [
            Case("cifar10", "IMH-tSNE as published", 64, seed, options=options) for seed in (0, 1)
        ]
        return write_page(tmp_path, "table-base-method", [make_record(c, value) for c in cases])

    monkeypatch.setattr(deviations, "REASONS", [])
    assert reported.BASE_METHOD[64, "kmeans", "IMH-tSNE"] == (19.04, 0.27)
    inside, outside = write(19.04 + 0.1), write(19.04 - 0.3)
    assert "differ from the paper" not in inside
    assert "<td>19.04 (0.27)</td><td>19.14 (0.00)</td><td>+0.10</td>" in inside
    assert "1 of 1 values as published differ from the paper by more" in outside
    assert "<td><b>−0.30</b></td>" in outside
    assert f"Reason: {UNKNOWN_REASON}." in outside
    first = Reason("table-base-size", lambda _: True, "of another table")
    second = Reason("table-base-method", lambda value: value.method == "IMH-tSNE", "of this table")
    monkeypatch.setattr(deviations, "REASONS", [first, second])
    assert "Reason: of this table." in write(18.0)
    assert "of this table" not in write(19.04)


def test_times_are_not_compared(tmp_path: Path) -> None:
    cases = ARTIFACTS["table-time"].cases(Protocol(1))
    text = write_page(tmp_path, "table-time", [make_record(case, 33.4) for case in cases])
    assert "<td>BRE</td><td>128</td><td>1,732</td><td>33</td><td>33</td>" in text
    assert escape(reported.TIMES_NOTE) in text
    assert "differ from the paper" not in text


def test_extent_names_seeds_and_queries() -> None:
    def describe(*cases: Case) -> str:
        return describe_extent([make_record(case) for case in cases])

    case = Case("mnist", "ITQ", 64)
    assert describe(case) == "1 run, 1 seed per value, 1,000 queries, the whole database"
    more = [Case("mnist", "SH", 64, seed, 10_000) for seed in range(3)]
    assert describe(case, *more).startswith(
        "4 runs, 1 to 3 seeds per value, 1,000 and 10,000 queries"
    )
    plane = Case("mnist", "IMH-tSNE", 2, measure="plane")
    assert describe(plane) == "1 run, 1 seed per value, the whole database"


def test_missing_settings_are_counted() -> None:
    artifact = ARTIFACTS["fig-sift"]
    cases = artifact.cases(Protocol(2))
    records = [make_record(case) for case in cases if case.data == "sift_photos"]
    # A data set without any records does not count.
    assert describe_missing(artifact, records) == ""
    assert describe_missing(artifact, records[:2]) == "; 71 of 72 settings not run yet"


def test_method_without_codes_is_left_out(tmp_path: Path) -> None:
    records = [make_record(case) for case in ARTIFACTS["fig-retrieved"].cases(Protocol(1))]
    records[-1]["result"] = {"error": "n_bits of X must be <less>, got 32."}
    text = write_page(tmp_path, "fig-retrieved", records)
    assert "has no codes of 32 bits" in text
    assert "n_bits of X must be &lt;less&gt;, got 32." in text
    assert (tmp_path / "fig-retrieved-cifar10.png").exists()
