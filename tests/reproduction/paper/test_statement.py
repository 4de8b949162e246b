"""Verdicts on a statement, from comparisons that are made up."""

from __future__ import annotations

import pytest
from reproduction.paper.checks import Check, Checks, Measured, Setting
from reproduction.paper.intervals import Estimate
from reproduction.paper.statement import Outcome, Statement, Verdict, judge_statements
from reproduction.records import Case
from reproduction.shared_types import Record
from tests.reproduction.fake_records import make_record


def judge(checks: Checks | None, records: list[Record]) -> Verdict:
    statement = Statement("id", 1, "text", "criterion", checks)
    (verdict,) = judge_statements([statement], "fig-mnist", {"fig-mnist": records})
    return verdict


def above(*bounds: float) -> Checks:
    def checks(measured: Measured) -> list[Check]:
        mean = measured.mean("map", "mnist", Setting("ITQ", 64)).mean
        return [Check(f"above {b}", mean > b, Estimate(mean - b, -1, 1)) for b in bounds]

    return checks


RECORD = make_record(Case("mnist", "ITQ", 64), 5.0)


@pytest.mark.parametrize(
    ("checks", "records", "outcome"),
    [
        (None, [RECORD], Outcome.NOT_TESTABLE),
        (above(0), [], Outcome.NOT_RUN),
        (above(), [RECORD], Outcome.NOT_RUN),
        (above(0, 3), [RECORD], Outcome.HOLDS),
        (above(0, 9, 7), [RECORD], Outcome.FAILS),
    ],
)
def test_outcomes(checks: Checks | None, records: list[Record], outcome: Outcome) -> None:
    assert judge(checks, records).outcome is outcome


def test_the_least_favorable_comparison_comes_first() -> None:
    assert [c.text for c in judge(above(0, 9, 7), [RECORD]).checks][:2] == ["above 9", "above 7"]
    assert judge(above(0, 3), [RECORD]).checks[0].text == "above 3"
    assert judge(above(0, 9, 7), [RECORD]).n_holding == 1


def test_comparisons_of_different_units_are_ordered_by_their_certainty() -> None:
    """A lead of 5 % MAP that is noise comes before one of 0.1 in F1 that is not."""
    noise = Check("map", True, Estimate(5.0, -5.0, 15.0))
    certain = Check("f1", True, Estimate(0.1, 0.09, 0.11))
    exact = Check("exact", True, Estimate(0.01, 0.01, 0.01))
    verdict = judge(lambda _: [exact, certain, noise], [RECORD])
    assert [check.text for check in verdict.checks] == ["map", "f1", "exact"]


def test_one_clear_failure_is_enough_and_a_clear_hold_needs_all() -> None:
    clear, unclear = Estimate(2.0, 1.0, 3.0), Estimate(2.0, -1.0, 5.0)
    fails, may_fail = Estimate(-2.0, -3.0, -1.0), Estimate(-2.0, -5.0, 1.0)

    def is_clear(*margins: Estimate) -> bool:
        return judge(lambda _: [Check("", m.mean > 0, m) for m in margins], [RECORD]).is_clear

    assert is_clear(clear, clear)
    assert not is_clear(clear, unclear)
    assert is_clear(unclear, may_fail, fails)
    assert not is_clear(clear, may_fail)


def test_a_remark_is_made_from_the_records() -> None:
    statement = Statement("id", 1, "text", "criterion", above(0),
                          remark=lambda measured: f"{len(measured.records)} record")  # fmt: skip
    (verdict,) = judge_statements([statement], "fig-mnist", {"fig-mnist": [RECORD]})
    assert verdict.remark == "1 record"
    (verdict,) = judge_statements([statement], "fig-mnist", {})
    assert verdict.remark == ""
