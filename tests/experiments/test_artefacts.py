"""The paper's artefacts as data, their layouts, claims and the report, on made-up records."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitfold.experiments import comparison, paper
from bitfold.experiments.artefacts import ARTEFACTS, Protocol
from bitfold.experiments.claims import CLAIMS, Claim, Means, judge
from bitfold.experiments.data import DATA
from bitfold.experiments.estimates import seconds
from bitfold.experiments.layouts import beside_paper, by_bits
from bitfold.experiments.methods import METHODS, PAPER, SCAN, make
from bitfold.experiments.pictures import pack, unpack
from bitfold.experiments.records import Case, Record, Records
from bitfold.experiments.report import write_report
from bitfold.experiments.run import MEASURES as RUNNABLE
from bitfold.experiments.tables import MEASURES, grid, measure_table, recommend
from bitfold.hashers import Hasher

WANTED = [
    "fig-query-digits", "fig-embeddings", "table-base-method", "fig-base-size", "table-base-size",
    "fig-2d", "fig-cifar", "fig-cifar-pr", "fig-retrieved", "fig-mnist", "table-time", "fig-sift",
    "fig-gist", "fig-classify", "fig-itq", "fig-supervised",
]  # fmt: skip

NUMBERS = ("map", "f1", "precision", "recall", "fit_seconds", "encode_us", "test_ms", "accuracy")


def made_up(case: Case) -> Record:
    """Return a record whose numbers tell its method and length apart."""
    base = 10 + 3 * (list(METHODS).index(case.method) if case.method in METHODS else 0)
    result = dict.fromkeys(NUMBERS, base + case.n_bits / 100 + case.seed / 10)
    curves = {name: [90.0, 50.0] for name in ("precision_at", "recall_at")}
    tiles = pack(np.zeros((2, 4, 8, 8), np.uint8))
    strip = {"tiles": tiles, "relevant": [[True, False, True]] * 2}
    plane = {
        "base": pack(np.array([[0, 1], [5, 9]], np.uint16)),
        "points": pack(np.array([[0, 1], [5, 9], [3, 3]], np.uint16)),
        "labels": pack(np.array([0, 1, 2], np.uint8)),
    }
    by_measure: dict[str, dict[str, Any]] = {
        "retrieval": {**result, **curves, "cutoffs": [1, 10]},
        "retrieved": {**strip, "ids": []},
        "digits": {"ℓ2": strip, "Hamming": strip},
        "plane": plane,
    }
    return Records(None).add(case, by_measure.get(case.measure, result))


def test_every_artefact_of_the_paper_is_there() -> None:
    assert sorted(ARTEFACTS) == sorted(WANTED)
    assert CLAIMS.keys() <= ARTEFACTS.keys()


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", WANTED)
def test_cases_can_be_run(name: str, quick: bool) -> None:
    cases = ARTEFACTS[name].cases(Protocol(repeats=2, quick=quick))
    assert len(cases) == len(set(cases))
    for case in cases:
        assert case.data in DATA
        assert case.measure in RUNNABLE
        assert seconds(case) > 0
        if case.method != SCAN:
            assert isinstance(make(case.method, case.n_bits, 0, dict(case.options)), Hasher)
    if quick:
        assert all(case.rows and case.seed == 0 for case in cases)
    else:
        assert not any(case.rows for case in cases)


@pytest.mark.parametrize("name", WANTED)
def test_the_report_shows_an_artefact(name: str, tmp_path: Path) -> None:
    artefact = ARTEFACTS[name]
    records = [made_up(case) for case in artefact.cases(Protocol(repeats=2))]
    page = write_report(tmp_path, [artefact], {name: records}, "bitfold reproduce <x>")
    text = page.read_text(encoding="utf-8")
    assert escape(artefact.title) in text
    assert "bitfold reproduce &lt;x&gt;" in text
    assert "not run" not in text
    shown = artefact.show(records)
    assert shown.figures or shown.tables
    for data in shown.figures:
        assert f"{name}-{data}.png" in text
        assert (tmp_path / f"{name}-{data}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (tmp_path / f"{name}-{data}.svg").read_bytes()
    for table in shown.tables:
        assert all(len(row) == len(table.heads) for row in table.rows)
    assert text.count("✓") + text.count("✗") >= len(CLAIMS.get(name, []))


def test_the_same_records_draw_the_same_bytes(tmp_path: Path) -> None:
    artefact = ARTEFACTS["fig-mnist"]
    records = {"fig-mnist": [made_up(case) for case in artefact.cases(Protocol(repeats=1))]}
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write_report(tmp_path / folder, [artefact], records, "x")
    for suffix in ("svg", "png"):
        one, other = (tmp_path / f / f"fig-mnist-mnist.{suffix}" for f in ("a", "b"))
        assert one.read_bytes() == other.read_bytes()


def test_an_artefact_without_records_is_left_out(tmp_path: Path) -> None:
    page = write_report(tmp_path, ARTEFACTS.values(), {"fig-mnist": []}, "x")
    assert "<h2" not in page.read_text()


def test_a_claim_about_cases_that_were_not_run_is_neither_true_nor_false() -> None:
    claim = Claim("x", lambda of: of("map", "mnist", "ITQ", 64) > 0)
    assert judge([claim], [])[0].holds is None
    case = Case("mnist", "ITQ", 64)
    assert judge([claim], [made_up(case)])[0].holds is True
    assert judge([Claim("y", lambda of: not claim.holds(of))], [made_up(case)])[0].holds is False


@pytest.mark.parametrize("name", CLAIMS)
def test_no_claim_is_judged_without_records(name: str) -> None:
    assert [verdict.holds for verdict in judge(CLAIMS[name], [])] == [None] * len(CLAIMS[name])


def test_means_are_over_seeds_and_tell_settings_apart() -> None:
    cases = [Case("mnist", "AGH", 64, seed, options=(("m", m),)) for m in (1, 2) for seed in (0, 4)]
    records = [made_up(case) for case in cases]
    for record in records[2:]:
        record["result"]["map"] = 99.0
    of = Means(records)
    expected = np.mean([record["result"]["map"] for record in records[:2]])
    assert of("map", "mnist", "AGH", 64, m=1) == pytest.approx(expected)
    assert of("map", "mnist", "AGH", 64, m=2) == 99
    assert of.lengths("mnist", "AGH") == [64]


@pytest.mark.parametrize("name", CLAIMS)
def test_every_claim_can_hold_and_can_fail(name: str) -> None:
    """Records that favour the proposed methods bear a claim out, the opposite ones do not."""
    cases = ARTEFACTS[name].cases(Protocol(repeats=1))
    for favour, expected in ((1, True), (-1, False)):
        records = []
        for case in cases:
            value = 500 + favour * 100 * _merit(case)
            numbers = dict.fromkeys(NUMBERS, value if favour > 0 else value / 1000)
            if "collapsed" in CLAIMS[name][0].text and favour > 0:
                numbers["f1"] = 1.0 if case.method.startswith("IMH") else 0.01
            records.append(Records(None).add(case, numbers))
        verdicts = judge(CLAIMS[name], records)
        assert [v.holds for v in verdicts] == [expected] * len(verdicts), (favour, verdicts)


def _merit(case: Case) -> float:
    order = ["PCAH", "IMH-PCA", "IMH-LE_B", "IMH-LE", "IMH-SNE", "IMH-EE", "IMH-tSNE"]
    rotated = case.method.endswith("-ITQ")
    plain = case.method.removesuffix("-ITQ")
    merit = order.index(plain) + 0.5 * rotated if plain in order else -1
    merit += 10 * case.method.startswith("IMHs")
    bases = {"random": 0.0, "kmedians": 0.1, "kmeans": 0.2}
    return merit + bases.get(str(dict(case.options).get("base")), 0.0)


def test_a_number_stands_beside_the_papers() -> None:
    records = [made_up(Case("mnist", "IMH-tSNE", 64, seed)) for seed in (0, 1)]
    mean = np.mean([record["result"]["map"] for record in records])
    cell = beside_paper(records, "map", paper.Reported(10.0))
    assert cell == f"{mean:.2f} (0.05), paper 10, {mean - 10:+.2f}"
    assert beside_paper([], "map", None) == "–"


def test_the_exact_scan_goes_across_the_figure() -> None:
    cases = [Case("cifar10", "ITQ", n) for n in (16, 128)] + [Case("cifar10", SCAN, 0)]
    (figure,) = by_bits(("map", "MAP"))([made_up(c) for c in cases]).figures.values()
    lines: dict[Any, Any] = {line.get_label(): line for line in figure.axes[0].containers}
    assert set(lines) == {"ITQ", SCAN}
    assert list(lines[SCAN].lines[0].get_xdata()) == [16, 128]


def test_the_grid_has_means_dashes_and_refusals() -> None:
    cases = [Case("digits", "ITQ", n, seed) for n in (16, 128) for seed in (0, 1)]
    records = [made_up(case) for case in cases]
    for record in records[2:]:
        record["result"] = {"refused": "n_bits of ITQ must be at most n_features=64, got 128."}
    table = grid(records)
    assert [n for _, n in table.heads] == [16, 128] * 4
    name, cells = table.rows[0]
    mean = np.mean([record["result"]["map"] for record in records[:2]])
    assert (name, cells[0], cells[1]) == ("ITQ", f"{mean:.1f}", "–")
    assert table.refusals == ["n_bits of ITQ must be at most n_features=64, got 128."]
    assert measure_table(records, MEASURES[0]).splitlines()[2] == f"| ITQ | {mean:.1f} | – |"


def test_the_shortest_code_that_is_nearly_the_best_is_recommended() -> None:
    scores = {("ITQ", 16): 50.0, ("SH", 16): 60.2, ("ITQ", 32): 61.0, ("SH", 32): 40.0}
    cases = {Case("digits", method, n_bits): score for (method, n_bits), score in scores.items()}
    records = [Records(None).add(case, {"map": score}) for case, score in cases.items()]
    assert recommend(records) == ("SH", 16, 60.2)
    assert recommend(records, slack=0.5) == ("ITQ", 32, 61.0)
    assert recommend([Records(None).add(Case("digits", "ITQ", 99), {"refused": "."})]) is None


def test_arrays_survive_json() -> None:
    array = np.arange(12, dtype=np.uint16).reshape(3, 4)
    np.testing.assert_array_equal(unpack(pack(array)), array)
    assert set(PAPER) <= METHODS.keys()


def test_the_page_of_comparisons_has_every_data_set_and_measure(tmp_path: Path) -> None:
    records = Records(None)
    for data in ("mnist", "manifold-10"):
        records.add(Case(data, "ITQ", 16), {"map": 12.34})
    text = comparison.page(records, tmp_path).read_text(encoding="utf-8")
    assert text.count("## ") == 2
    assert "curved sheets in 10 dimensions" in text
    assert text.count("| ITQ | 12.3 |") == 2
    assert text.count("| ITQ | – |") == 6
