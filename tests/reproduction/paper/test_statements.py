"""The paper's statements, judged by fake records and by those of the documentation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from reproduction.artifacts import ARTIFACTS
from reproduction.columns import (
    BITFOLD,
    PUBLISHED,
    find_column,
    get_plain_name,
    select_column,
)
from reproduction.paper.checks import CODE_LENGTHS, Measured
from reproduction.paper.deviations import DISAGREEMENTS
from reproduction.paper.statement import Outcome, Verdict, judge_statements
from reproduction.paper.statements import STATEMENTS
from reproduction.paper.statements.main_claims import beats_several, labels_help
from reproduction.protocol import Protocol
from reproduction.records import Case, RunRecords
from reproduction.report.select_records import select_records
from reproduction.shared_types import Record
from tests.reproduction.fake_records import make_record

DOCS_RECORDS = Path(__file__).parents[3] / "docs" / "report" / "records.jsonl"
ALL = [(name, statement) for name, own in STATEMENTS.items() for statement in own]


def test_ids_are_unique() -> None:
    ids = [statement.id for _, statement in ALL]
    assert len(ids) == len(set(ids))
    assert 60 <= len(ids) <= 120
    assert set(ids) >= DISAGREEMENTS.keys()
    assert STATEMENTS.keys() <= ARTIFACTS.keys()
    sentences = {statement.sentence or statement.id for _, statement in ALL}
    assert 60 <= len(sentences) <= 90
    # Names of sentences are not those of other statements.
    assert not {statement.sentence for _, statement in ALL} & set(ids)


def make_all_records(*, column: str | None = None, n_seeds: int = 1) -> dict[str, list[Record]]:
    """Return fake records of all artifacts; of one column alone if it is named."""
    return {
        name: [
            make_record(case)
            for case in artifact.cases(Protocol(n_seeds))
            if column is None or find_column(case.method) in (None, column)
        ]
        for name, artifact in ARTIFACTS.items()
    }


def judge_all(records: dict[str, list[Record]]) -> dict[str, Verdict]:
    return {
        verdict.statement.id: verdict
        for name, own in STATEMENTS.items()
        for verdict in judge_statements(own, name, records)
    }


def test_every_statement_is_judged_as_published() -> None:
    # With one seed, a lead cannot be significant.
    everything = judge_all(make_all_records(n_seeds=2))
    published = judge_all(make_all_records(column=PUBLISHED, n_seeds=2))
    for _, statement in ALL:
        verdict = everything[statement.id]
        expected = {Outcome.HOLDS, Outcome.FAILS} if statement.checks else {Outcome.NOT_TESTABLE}
        assert verdict.outcome in expected, statement.id
        # The column of bitfold has no influence.
        assert verdict == published[statement.id]


COUNTS = ("base-random-above-agh", "classify-space")
"""Statements that are decided by a number of cases or by arithmetic."""


def test_every_comparison_states_its_interval() -> None:
    for name, verdict in judge_all(make_all_records(n_seeds=3)).items():
        for check in verdict.checks:
            is_counted = name in COUNTS or " methods: " in check.text
            has_interval = "95 % interval" in check.text or "one seed" in check.text
            assert has_interval or is_counted, (name, check.text)
            assert check.margin.low <= check.margin.mean <= check.margin.high or is_counted


def test_a_code_length_that_a_method_cannot_produce_is_not_testable() -> None:
    """The other statements are judged, and the report can be written."""
    records = make_all_records()
    broken: list[Record] = [
        {**record, "result": {"error": "too few eigenvectors"}}
        if record["case"]["method"].startswith("AGH")
        else record
        for record in records["fig-cifar-pr"]
    ]
    verdicts = judge_all({**records, "fig-cifar-pr": broken})
    assert verdicts["pr-sth-agh-precise"].outcome is Outcome.NOT_TESTABLE
    assert verdicts["mnist-tsne-best-map"] == judge_all(records)["mnist-tsne-best-map"]


def test_methods_without_a_common_seed_are_not_compared_by_seed() -> None:
    """Records may be incomplete in any way."""
    part = {
        name: [r for r in own if r["case"]["seed"] == ("-tSNE" in r["case"]["method"])
               or "IMHs" in r["case"]["method"]]
        for name, own in make_all_records(n_seeds=2).items()
    }  # fmt: skip
    part["fig-supervised"] = [
        r for r in part["fig-supervised"]
        if r["case"]["seed"] == r["case"]["method"].startswith("IMHs-ITQ")
    ]  # fmt: skip
    verdicts = judge_all(part)
    for name in ("mnist-margin-grows", "classify-itq-short", "supervised-itq-more-on-cifar"):
        assert verdicts[name].outcome is Outcome.NOT_RUN
    assert verdicts["mnist-tsne-above-le"].outcome in (Outcome.HOLDS, Outcome.FAILS)


def test_no_statement_is_judged_without_its_records() -> None:
    for verdict in judge_all({}).values():
        trivial = verdict.statement.id == "classify-space"
        assert (verdict.outcome in (Outcome.NOT_RUN, Outcome.NOT_TESTABLE)) != trivial


@pytest.mark.parametrize("name", ["fig-cifar", "fig-mnist", "fig-classify", "fig-itq"])
def test_every_comparison_counts(name: str) -> None:
    """Without one of its methods a statement is not judged."""
    cases = ARTIFACTS[name].cases(Protocol(2))
    records = [make_record(case) for case in cases]
    for method in {case.method for case in cases}:
        rest = [r for r in records if r["case"]["method"] != method]
        before = judge_statements(STATEMENTS[name], name, {name: records})
        after = judge_statements(STATEMENTS[name], name, {name: rest})
        for full, part in zip(before, after, strict=True):
            if part.outcome is not Outcome.NOT_RUN:
                assert part == full
                assert not any(method in check.text.split() for check in full.checks)


def make_better(case: Case, winners: tuple[str, ...]) -> Record:
    value = 50.0 if case.method.startswith(winners) else 20.0
    return make_record(case, value + case.seed / 10 + (case.method[-1] == "t") / 100)


def test_several_methods_are_more_than_half() -> None:
    """IMH-LE is above four of the seven others, or above three."""
    values = {"STH": 1.0, "SH": 2.0, "PCAH": 3.0, "AGH": 4.0, "ITQ": 5.0, "SpH": 6.0, "BRE": 7.0}
    for own, holds in ((4.5, True), (3.5, False)):
        records = [
            make_record(Case("mnist", name, n), value)
            for name, value in (values | {"IMH-LE": own}).items()
            for n in CODE_LENGTHS
        ]
        checks = list(beats_several("map", "mnist", ["IMH-LE"])(Measured(records)))
        assert len(checks) == len(CODE_LENGTHS)
        assert {check.holds for check in checks} == {holds}


def test_labels_are_useful_if_the_best_method_with_labels_is_much_better() -> None:
    cases = ARTIFACTS["fig-supervised"].cases(Protocol(1))
    for best, holds in ((22.5, True), (21.5, False)):
        records = [
            make_record(case, 20.0 if get_plain_name(case.method) == "IMH-tSNE" else
                        best if case.method == "KSH" else 15.0)
            for case in cases if find_column(case.method) != BITFOLD
        ]  # fmt: skip
        checks = list(labels_help("mnist")(Measured(select_column(records, PUBLISHED))))
        assert {check.text.split()[2] for check in checks} == {"KSH"}
        assert {check.holds for check in checks} == {holds}


def test_a_superior_method_makes_its_statements_hold() -> None:
    cases = ARTIFACTS["fig-mnist"].cases(Protocol(2))
    for winner, outcome in (("IMH-tSNE", Outcome.HOLDS), ("ITQ", Outcome.FAILS)):
        records = {"fig-mnist": [make_better(case, (winner,)) for case in cases]}
        verdicts = judge_statements(STATEMENTS["fig-mnist"], "fig-mnist", records)
        found = {v.statement.id: v.outcome for v in verdicts}
        assert found["mnist-tsne-best-map"] is outcome
        assert found["mnist-tsne-best-f1"] is outcome


def test_random_base_sets_may_be_below_agh_once() -> None:
    statement = next(s for _, s in ALL if s.id == "base-random-above-agh")
    cases = ARTIFACTS["table-base-method"].cases(Protocol(1))
    for n_below, outcome in ((1, Outcome.HOLDS), (2, Outcome.FAILS)):
        random = [case for case in cases if dict(case.options)["base"] == "random"]
        below = [c for c in random if find_column(c.method) == PUBLISHED][:n_below]
        records = [
            make_record(case, 1.0 if case in below else 9.0 if case in random else 5.0)
            for case in cases
        ]
        (verdict,) = judge_statements(
            [statement], "table-base-method", {"table-base-method": records}
        )
        assert verdict.outcome is outcome


def test_the_margin_of_two_methods_must_grow() -> None:
    statement = next(s for _, s in ALL if s.id == "mnist-margin-grows")
    cases = ARTIFACTS["fig-mnist"].cases(Protocol(1))
    for sign, outcome in ((1, Outcome.HOLDS), (-1, Outcome.FAILS)):
        records = [
            make_record(case, 50 + sign * case.n_bits * case.method.startswith("IMH-tSNE") / 10)
            for case in cases
        ]
        (verdict,) = judge_statements([statement], "fig-mnist", {"fig-mnist": records})
        assert verdict.outcome is outcome


def read_docs_records() -> dict[str, list[Record]]:
    """Return the records that the documentation shows, by artifact."""
    known = list(RunRecords(DOCS_RECORDS))
    return {
        name: select_records(artifact, Protocol(), known, quick=False)
        for name, artifact in ARTIFACTS.items()
    }


def test_records_of_the_docs_are_used() -> None:
    """Every record is shown, except those with fewer queries than others of their data set."""
    shown = {str(r["case"]) for own in read_docs_records().values() for r in own}
    known = list(RunRecords(DOCS_RECORDS))
    settings = {
        replace(case, seed=0, n_queries=0)
        for artifact in ARTIFACTS.values()
        for case in artifact.cases(Protocol(1))
    }
    unused = [r for r in known if Case.from_record(r).setting not in settings]
    assert shown
    assert unused == []
