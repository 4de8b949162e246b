"""The report: figures, tables beside the paper's, verdicts and reasons, from records alone."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reproduction.artifacts import ARTIFACTS, Protocol
from reproduction.claims import CLAIMS
from reproduction.layouts import by_bits
from reproduction.methods import SCAN
from reproduction.paper import Compared, Reason, Reported
from reproduction.records import Case, Record
from reproduction.report import extent, write_report
from tests.reproduction.made_up import made_up

from reproduction import paper


def page(folder: Path, name: str, records: list[Record]) -> str:
    path = write_report(folder, [ARTIFACTS[name]], {name: records}, "bitfold reproduce <x>")
    assert path == folder / "index.html"
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ARTIFACTS)
def test_an_artifact_is_shown_beside_the_paper(name: str, tmp_path: Path) -> None:
    artifact = ARTIFACTS[name]
    records = [made_up(case) for case in artifact.cases(Protocol(repeats=2))]
    text = page(tmp_path, name, records)
    assert escape(artifact.title) in text
    assert escape(paper.SAYS[name]) in text
    assert "bitfold reproduce &lt;x&gt;" in text
    assert "not run yet" not in text
    shown = artifact.show(records)
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
    # Whatever was opened is closed.
    for tag in ("section", "table", "ul", "div", "details", "li", "p", "figure"):
        assert len(re.findall(rf"<{tag}\b", text)) == text.count(f"</{tag}>"), tag


def test_the_same_records_draw_the_same_bytes(tmp_path: Path) -> None:
    records = [made_up(case) for case in ARTIFACTS["fig-mnist"].cases(Protocol(repeats=1))]
    for folder in ("a", "b"):
        page(tmp_path / folder, "fig-mnist", records)
    for name in ("fig-mnist-mnist.svg", "fig-mnist-mnist.png", "index.html"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_an_artifact_without_records_is_left_out(tmp_path: Path) -> None:
    assert "<section" not in page(tmp_path, "fig-mnist", [])


def test_a_claim_that_was_not_run_and_one_that_fails(tmp_path: Path) -> None:
    cases = ARTIFACTS["fig-classify"].cases(Protocol(1))
    low = [made_up(case, 50.0) for case in cases if case.method == "IMH-tSNE"]
    text = page(tmp_path, "fig-classify", low)
    assert "at every length <small>(not run yet)</small>" in text
    assert "It does not hold here." in text
    assert "IMH-tSNE, 128 bits: 50.00, paper 94.10 (-44.10)" in text
    assert f"Likely reason: {paper.NO_REASON}." in text


def test_a_disagreement_has_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {("fig-classify", "94.1 % at 128 bits"): "the moon is <full>"}
    monkeypatch.setattr(paper, "DISAGREEMENTS", known)
    cases = [c for c in ARTIFACTS["fig-classify"].cases(Protocol(1)) if c.method == "IMH-tSNE"]
    assert "the moon is &lt;full&gt;." in page(
        tmp_path, "fig-classify", [made_up(case, 50.0) for case in cases]
    )
    holds = page(tmp_path, "fig-classify", [made_up(case, 99.0) for case in cases])
    assert "the moon" not in holds


def test_a_small_version_is_not_held_against_the_paper(tmp_path: Path) -> None:
    for name in ("fig-classify", "table-base-size"):
        records = [made_up(c, 50.0) for c in ARTIFACTS[name].cases(Protocol(quick=True))]
        text = page(tmp_path, name, records)
        assert "a small version, 2,000 rows of the database" in text
        assert "a small version says nothing of it" in text
        assert "It does not hold" not in text
        assert "Likely reason" not in text
        assert "<b>" not in text


def test_a_difference_is_told_only_beyond_the_deviation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(value: float) -> str:
        case = Case("cifar10", "IMH-tSNE", 64, options=(("base", "kmeans"), ("k", 5), ("m", 400)))
        return page(tmp_path, "table-base-method", [made_up(case, value)])

    monkeypatch.setattr(paper, "REASONS", [])
    reported = paper.BASE_METHOD[64, "kmeans", "IMH-tSNE"]
    assert reported == (19.04, 0.27)
    inside, outside = told(19.04 + 0.26), told(19.04 - 0.28)
    assert "differ from the paper" not in inside
    assert "paper 19.04 (0.27) · +0.26" in inside
    assert "1 of 1 differ from the paper by more than the deviation." in outside
    assert "paper 19.04 (0.27) · <b>−0.28</b>" in outside
    assert f"Likely reason: {paper.NO_REASON}." in outside
    ours = Reason("table-base-method", lambda c: c.method == "IMH-tSNE", "a fine reason")
    other = Reason("table-base-size", lambda _: True, "another table's")
    monkeypatch.setattr(paper, "REASONS", [other, ours])
    assert "Likely reason: a fine reason." in told(18.0)
    assert "fine reason" not in told(19.0)


def test_without_a_stated_deviation_ours_counts() -> None:
    place = ("map", "mnist", "IMH-tSNE", 64, {"m": 100})
    assert not Compared(*place, 58.0, 1.2, Reported(57.01)).differs
    assert Compared(*place, 58.5, 1.2, Reported(57.01)).differs
    assert Compared(*place, 58.0, 1.2, Reported(57.01, 0.5)).differs


def test_times_are_shown_but_not_judged(tmp_path: Path) -> None:
    cases = ARTIFACTS["table-time"].cases(Protocol(1))
    text = page(tmp_path, "table-time", [made_up(case, 33.4) for case in cases])
    assert "33<small>paper 17 · × 2</small>" in text
    assert "33<small>paper 1,732 · × 0.019</small>" in text
    assert escape(paper.TIMES) in text
    assert "differ from the paper" not in text


def test_repeats_and_queries_are_told() -> None:
    def told(*cases: Case) -> str:
        return extent([made_up(case) for case in cases])

    one = Case("mnist", "ITQ", 64)
    assert told(one) == "1 run, 1 repeat, 1,000 queries, the whole database"
    more = [Case("mnist", "SH", 64, seed, 10_000) for seed in range(3)]
    assert told(one, *more).startswith("4 runs, 1 to 3 repeats, 1,000 and 10,000 queries")
    assert (
        told(Case("mnist", "IMH-tSNE", 2, measure="plane")) == "1 run, 1 repeat, the whole database"
    )


def test_vectors_that_were_classified_are_not_called_a_scan() -> None:
    cases = [Case("mnist", "ITQ", 64, measure="classification")]
    cases.append(Case("mnist", SCAN, 0, measure="classification"))
    (table,) = by_bits(("accuracy", "accuracy"))([made_up(c) for c in cases]).tables
    assert [row[0].ours for row in table.rows] == ["ITQ", "the vectors themselves"]


def test_what_was_not_run_yet_is_told(tmp_path: Path) -> None:
    cases = ARTIFACTS["fig-sift"].cases(Protocol(2))
    begun = [made_up(case) for case in cases if case.data == "sift_photos"]
    # A data set that nobody has is not missed.
    assert "not run yet</p>" not in page(tmp_path, "fig-sift", begun)
    assert "; 44 of 45 settings not run yet</p>" in page(tmp_path, "fig-sift", begun[:2])


def test_the_exact_scan_goes_across_the_figure() -> None:
    cases = [Case("cifar10", "ITQ", n) for n in (16, 128)] + [Case("cifar10", SCAN, 0)]
    shown = by_bits(("map", "MAP"))([made_up(c) for c in cases])
    (figure,) = shown.figures.values()
    lines: dict[Any, Any] = {line.get_label(): line for line in figure.axes[0].containers}
    assert set(lines) == {"ITQ", SCAN}
    assert list(lines[SCAN].lines[0].get_xdata()) == [16, 128]
    (table,) = shown.tables
    assert [[cell.ours for cell in row] for row in table.rows] == [
        ["ITQ", *(f"{made_up(c)['result']['map']:.2f} (0.00)" for c in cases[:2])],
        [SCAN, *[f"{made_up(cases[2])['result']['map']:.2f} (0.00)"] * 2],
    ]


def test_a_stated_figure_stands_beside_ours() -> None:
    cases = ARTIFACTS["fig-classify"].cases(Protocol(2))
    shown = ARTIFACTS["fig-classify"].show([made_up(case, 95.0) for case in cases])
    assert [c.difference for c in shown.compared] == pytest.approx([0.9, 0.9])
    assert shown.tables[0].rows[0][0].ours == "IMH-tSNE, 128 bits, MNIST"
    assert shown.tables[0].rows[1][0].ours == "the vectors themselves, MNIST"


def test_a_method_that_refused_is_left_out_of_what_was_retrieved(tmp_path: Path) -> None:
    records = [made_up(case) for case in ARTIFACTS["fig-retrieved"].cases(Protocol(1))]
    records[0]["result"] = {"error": "n_bits of X must be <less>, got 9."}
    assert "n_bits of X must be &lt;less&gt;, got 9." in page(tmp_path, "fig-retrieved", records)
    assert np.isfinite((tmp_path / "fig-retrieved-cifar10.png").stat().st_size)
