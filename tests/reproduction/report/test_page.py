"""The page of the report: figures, tables, verdicts and reasons."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import pytest
from reproduction.artifacts import ARTIFACTS
from reproduction.paper.claims import CLAIMS
from reproduction.paper.deviations import UNKNOWN_REASON, Reason
from reproduction.protocol import Protocol
from reproduction.records import Case
from reproduction.report.page import describe_extent, write_report
from reproduction.shared_types import Record
from tests.reproduction.fake_records import make_record

from reproduction.paper import deviations, reported


def write_page(folder: Path, name: str, records: list[Record]) -> str:
    command = "python -m reproduction <x>"
    path = write_report(folder, [ARTIFACTS[name]], {name: records}, command)
    assert path == folder / "index.html"
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ARTIFACTS)
def test_every_artifact_has_a_section(name: str, tmp_path: Path) -> None:
    artifact = ARTIFACTS[name]
    records = [make_record(case) for case in artifact.cases(Protocol(n_repeats=2))]
    text = write_page(tmp_path, name, records)
    assert escape(artifact.title) in text
    assert escape(reported.QUOTES[name]) in text
    assert "python -m reproduction &lt;x&gt;" in text
    assert "not run yet" not in text
    shown = artifact.present(records)
    assert shown.figures
    for data in shown.figures:
        assert f'src="{name}-{data}.png"' in text
        assert (tmp_path / f"{name}-{data}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (tmp_path / f"{name}-{data}.svg").read_bytes()
    for table in shown.tables:
        assert table.rows
        assert all(len(row) == len(table.heads) for row in table.rows)
    verdicts = re.findall(r'<li class="(yes|no)">', text)
    assert len(verdicts) == len(CLAIMS.get(name, []))
    assert text.count("Likely reason:") >= verdicts.count("no")
    # Every tag is closed.
    for tag in ("section", "table", "ul", "div", "details", "li", "p", "figure"):
        assert len(re.findall(rf"<{tag}\b", text)) == text.count(f"</{tag}>"), tag


def test_output_is_deterministic(tmp_path: Path) -> None:
    records = [make_record(case) for case in ARTIFACTS["fig-mnist"].cases(Protocol(n_repeats=1))]
    for folder in ("a", "b"):
        write_page(tmp_path / folder, "fig-mnist", records)
    for name in ("fig-mnist-mnist.svg", "fig-mnist-mnist.png", "index.html"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_artifact_without_records_is_left_out(tmp_path: Path) -> None:
    assert "<section" not in write_page(tmp_path, "fig-mnist", [])


def make_classification_records(value: float) -> list[Record]:
    cases = ARTIFACTS["fig-classify"].cases(Protocol(1))
    return [make_record(case, value) for case in cases if case.method == "IMH-tSNE"]


def test_missing_and_failing_claims(tmp_path: Path) -> None:
    text = write_page(tmp_path, "fig-classify", make_classification_records(50.0))
    assert "at every length <small>(not run yet)</small>" in text
    assert "Does not hold here." in text
    assert "IMH-tSNE, 128 bits: 50.00, paper 94.10 (-44.10)" in text
    assert f"Likely reason: {UNKNOWN_REASON}." in text


def test_disagreement_has_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deviations, "DISAGREEMENTS", {"classify-94": "an <odd> cause"})
    fails = write_page(tmp_path, "fig-classify", make_classification_records(50.0))
    assert "an &lt;odd&gt; cause." in fails
    holds = write_page(tmp_path, "fig-classify", make_classification_records(99.0))
    assert "an &lt;odd&gt; cause" not in holds


@pytest.mark.parametrize("name", ["fig-classify", "table-base-size"])
def test_quick_version_is_not_judged(name: str, tmp_path: Path) -> None:
    records = [make_record(c, 50.0) for c in ARTIFACTS[name].cases(Protocol(quick=True))]
    text = write_page(tmp_path, name, records)
    assert "a quick version with 2,000 rows" in text
    assert "not judged in a quick version" in text
    assert "Does not hold" not in text
    assert "Likely reason" not in text
    assert "<b>" not in text


def test_differences_beyond_the_deviation_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(value: float) -> str:
        options = (("base", "kmeans"), ("n_base_points", 400), ("n_neighbors", 5))
        case = Case("cifar10", "IMH-tSNE", 64, options=options)
        return write_page(tmp_path, "table-base-method", [make_record(case, value)])

    monkeypatch.setattr(deviations, "REASONS", [])
    assert reported.BASE_METHOD[64, "kmeans", "IMH-tSNE"] == (19.04, 0.27)
    inside, outside = write(19.04 + 0.26), write(19.04 - 0.28)
    assert "differ from the paper" not in inside
    assert "paper 19.04 (0.27) · +0.26" in inside
    assert "1 of 1 differ from the paper by more than the deviation." in outside
    assert "paper 19.04 (0.27) · <b>−0.28</b>" in outside
    assert f"Likely reason: {UNKNOWN_REASON}." in outside
    first = Reason("table-base-size", lambda _: True, "of another table")
    second = Reason("table-base-method", lambda value: value.method == "IMH-tSNE", "of this table")
    monkeypatch.setattr(deviations, "REASONS", [first, second])
    assert "Likely reason: of this table." in write(18.0)
    assert "of this table" not in write(19.0)


def test_times_are_not_judged(tmp_path: Path) -> None:
    cases = ARTIFACTS["table-time"].cases(Protocol(1))
    text = write_page(tmp_path, "table-time", [make_record(case, 33.4) for case in cases])
    assert "33<small>paper 17 · × 2</small>" in text
    assert "33<small>paper 1,732 · × 0.019</small>" in text
    assert escape(reported.TIMES_NOTE) in text
    assert "differ from the paper" not in text


def test_extent_names_repeats_and_queries() -> None:
    def describe(*cases: Case) -> str:
        return describe_extent([make_record(case) for case in cases])

    case = Case("mnist", "ITQ", 64)
    assert describe(case) == "1 run, 1 repeat, 1,000 queries, the whole database"
    more = [Case("mnist", "SH", 64, seed, 10_000) for seed in range(3)]
    assert describe(case, *more).startswith("4 runs, 1 to 3 repeats, 1,000 and 10,000 queries")
    plane = Case("mnist", "IMH-tSNE", 2, measure="plane")
    assert describe(plane) == "1 run, 1 repeat, the whole database"


def test_missing_settings_are_counted(tmp_path: Path) -> None:
    cases = ARTIFACTS["fig-sift"].cases(Protocol(2))
    records = [make_record(case) for case in cases if case.data == "sift_photos"]
    # A data set without any records does not count.
    assert "not run yet</p>" not in write_page(tmp_path, "fig-sift", records)
    assert "; 44 of 45 settings not run yet</p>" in write_page(tmp_path, "fig-sift", records[:2])


def test_method_without_codes_is_left_out(tmp_path: Path) -> None:
    records = [make_record(case) for case in ARTIFACTS["fig-retrieved"].cases(Protocol(1))]
    records[0]["result"] = {"error": "n_bits of X must be <less>, got 32."}
    text = write_page(tmp_path, "fig-retrieved", records)
    assert "has no codes of 32 bits" in text
    assert "n_bits of X must be &lt;less&gt;, got 32." in text
    assert (tmp_path / "fig-retrieved-cifar10.png").exists()
