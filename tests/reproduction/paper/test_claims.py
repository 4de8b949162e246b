"""Claims of the paper held against records, made up and those of the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reproduction.artifacts import ARTIFACTS, Protocol
from reproduction.claims import CLAIMS, Check, Claim, Means, Missing, Refused, judge
from reproduction.methods import SCAN
from reproduction.records import Case, Record, Records
from reproduction.shown import choose
from tests.reproduction.made_up import WAYS, made_up

from reproduction import paper

COMMITTED = Path(__file__).parents[2] / "docs" / "report" / "records.jsonl"

CASE = Case("mnist", "ITQ", 64)


def one(value: float) -> Claim:
    return Claim("x", lambda of: [Check("so much", of("map", "mnist", "ITQ", 64) > value)])


def test_a_claim_about_cases_that_were_not_run_is_neither_true_nor_false() -> None:
    assert judge([one(0)], []) == [("x", None, [])]
    assert judge([one(0)], [made_up(CASE, 5.0)]) == [("x", True, [])]
    assert judge([one(9)], [made_up(CASE, 5.0)]) == [("x", False, ["so much"])]


@pytest.mark.parametrize("name", CLAIMS)
def test_no_claim_is_judged_without_all_of_its_records(name: str) -> None:
    assert [verdict.holds for verdict in judge(CLAIMS[name], [])] == [None] * len(CLAIMS[name])
    records = [made_up(case) for case in ARTIFACTS[name].cases(Protocol(1))]
    needed = {claim.text: _looked_at(claim, records) for claim in CLAIMS[name]}
    for method in {record["case"]["method"] for record in records}:
        verdicts = judge(CLAIMS[name], [r for r in records if r["case"]["method"] != method])
        unknown = {verdict.text for verdict in verdicts if verdict.holds is None}
        assert unknown == {text for text, methods in needed.items() if method in methods}


def _looked_at(claim: Claim, records: list[Record]) -> set[str]:
    """Methods that a claim speaks of, seen by watching what it asks for."""
    looked: set[str] = set()

    class Watching(Means):
        def __call__(
            self, measure: str, data: str, method: str, n_bits: int, **options: Any
        ) -> float:
            looked.add(method)
            return super().__call__(measure, data, method, n_bits, **options)

    list(claim.checks(Watching(records)))
    return looked or {record["case"]["method"] for record in records}


def test_means_are_over_seeds_and_tell_settings_apart() -> None:
    cases = [Case("mnist", "AGH", 64, seed, options=(("m", m),)) for m in (1, 2) for seed in (0, 4)]
    records = [made_up(case) for case in cases]
    for record in records[2:]:
        record["result"]["map"] = 99.0
    of = Means(records)
    expected = np.mean([record["result"]["map"] for record in records[:2]])
    assert of("map", "mnist", "AGH", 64, m=1) == pytest.approx(expected)
    assert of("map", "mnist", "AGH", 64, m=2) == 99
    with pytest.raises(Missing):
        of("map", "mnist", "AGH", 32)


def test_a_length_that_a_rival_cannot_have_does_not_count_against_a_claim() -> None:
    records = [_record("fig-mnist", case, 1) for case in ARTIFACTS["fig-mnist"].cases(Protocol(1))]
    for record in records:
        if (record["case"]["method"], record["case"]["n_bits"]) == ("PCAH", 128):
            record["result"] = {"error": "n_bits of PCAH must be less, got 128."}
    assert judge(CLAIMS["fig-mnist"], records)[0].holds is True
    with pytest.raises(Refused):
        Means(records)("map", "mnist", "PCAH", 128)


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("favor", [1, -1])
def test_every_claim_can_hold_and_can_fail(name: str, favor: int) -> None:
    """Records that favor the proposed methods bear a claim out, the opposite ones do not."""
    cases = ARTIFACTS[name].cases(Protocol(1))
    verdicts = judge(CLAIMS[name], [_record(name, case, favor) for case in cases])
    assert [(v.text, v.holds) for v in verdicts] == [(c.text, favor > 0) for c in CLAIMS[name]]
    assert all(bool(v.against) == (favor < 0) for v in verdicts)


def _record(name: str, case: Case, favor: int) -> Record:
    record = made_up(case, _value(name, case, favor))
    if case.measure == "digits":
        for i, way in enumerate(WAYS):
            record["result"][way] = {"share": 50.0 + favor * i}
    return record


def _value(name: str, case: Case, favor: int) -> float:
    """Return a number that every measure of a record shall have."""
    merit = _merit(case)
    if name == "table-time":
        # Here less is better.
        return 5 - favor * {"PCAH": 2, "STH": 0, "BRE": 0}.get(case.method, 1)
    if case.data == "sift_photos":
        best, low = ("ITQ", 0.9) if case.n_bits == 16 else ("IMH", 0.01)
        return 1.0 if case.method.startswith(best) == (favor > 0) else low
    if favor < 0:
        return 1 - merit / 100
    if name == "table-base-method":
        reported: paper.Reported = paper.BASE_METHOD[case.n_bits, "kmeans", case.method]
        return reported.mean + merit / 1000
    return 500 + merit


_ORDER = [
    "PCAH", SCAN, "BRE", "SH", "STH", "AGH", "IMH-LE_B", "IMH-PCA", "IMH-LE", "IMH-SNE", "IMH-EE",
    "IMH-tSNE", "IMHs",
]  # fmt: skip


def _merit(case: Case) -> float:
    plain = case.method.removesuffix("-ITQ")
    merit = _ORDER.index(plain) if plain in _ORDER else 0.5
    merit += 0.5 * (case.method.endswith("-ITQ") and plain in _ORDER)
    options = dict(case.options)
    bases = {"random": 0.0, "kmedoids": 0.1, "kmeans": 0.2}
    return float(merit + bases.get(str(options.get("base")), 0.0) + options.get("m", 0) / 1e4)


def committed() -> dict[str, list[Record]]:
    """Return the records that the documentation shows, by artifact."""
    known = list(Records(COMMITTED))
    protocol = Protocol(queries=1000)
    return {
        name: choose(artifact, protocol, known, quick=False) for name, artifact in ARTIFACTS.items()
    }


def test_the_committed_records_are_read() -> None:
    assert sum(map(len, committed().values())) >= len(Records(COMMITTED)) > 0


def test_claims_that_fail_are_those_that_the_report_explains() -> None:
    """A claim that the records do not bear out must have its reason, and no other may have one."""
    verdicts = {
        (name, verdict.text): verdict
        for name, records in committed().items()
        for verdict in judge(CLAIMS.get(name, []), records)
    }
    assert paper.DISAGREEMENTS.keys() <= verdicts.keys()
    failing = {key: verdict.against for key, verdict in verdicts.items() if verdict.holds is False}
    explained = {key for key in paper.DISAGREEMENTS if verdicts[key].holds is not None}
    assert failing.keys() == explained, failing
