"""The count of verdicts."""

from __future__ import annotations

from reproduction.paper.checks import Check
from reproduction.paper.intervals import Estimate
from reproduction.paper.statement import Outcome, Statement, Verdict
from reproduction.report.verdicts import render_list, render_verdicts, summarize


def make_verdict(outcome: Outcome, *, stand_in: bool = False, low: float = -1.0) -> Verdict:
    statement = Statement("id", 7, "a < b", "MAP", None, stand_in=stand_in)
    holds = outcome is Outcome.HOLDS
    checks = [
        Check("first", holds, Estimate(-2, -3, low)),
        Check("second", True, Estimate(1, 0, 2)),
    ]
    return Verdict(statement, outcome, checks)


def test_the_count_is_honest() -> None:
    verdicts = [
        make_verdict(Outcome.HOLDS),
        make_verdict(Outcome.FAILS),
        make_verdict(Outcome.FAILS, stand_in=True, low=1.0),
        make_verdict(Outcome.NOT_TESTABLE),
        make_verdict(Outcome.NOT_RUN),
    ]
    assert summarize(verdicts) == (
        "Of 5 statements of the paper, 1 hold as written, 2 fail, and 1 cannot be tested here. 1 "
        "were not run yet. 1 of them were judged on stand-ins for SIFT1M and GIST1M: 0 hold, 1 "
        "fail. Of those that fail, 1 do so within the noise of the seeds."
    )


def test_a_verdict_names_the_deciding_comparison() -> None:
    text = render_verdicts([make_verdict(Outcome.FAILS, stand_in=True)])
    assert "“a &lt; b” <small>(line 7)</small>" in text
    assert "<b>fails on a stand-in for the paper's data</b>: 1 of 2 comparisons hold." in text
    assert "The clearest failure: first." in text


def test_long_lists_are_folded() -> None:
    assert render_list([]) == ""
    assert "more</summary>" not in render_list(["a"] * 6)
    assert "<summary>1 more</summary>" in render_list(["a"] * 7)
