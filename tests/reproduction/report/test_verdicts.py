"""The count of verdicts."""

from __future__ import annotations

from reproduction.paper.checks import Check
from reproduction.paper.intervals import Estimate
from reproduction.paper.statement import Outcome, Statement, Verdict
from reproduction.report.verdicts import (
    describe_parts,
    render_list,
    render_overview,
    render_verdicts,
    summarize,
)


def make_verdict(
    outcome: Outcome, name: str = "id", *, stand_in: bool = False, low: float = -1.0
) -> Verdict:
    statement = Statement(name, 7, "a < b", "MAP", None, stand_in=stand_in, sentence=name)
    holds = outcome is Outcome.HOLDS
    first = Estimate(3, low, 4) if holds else Estimate(-3, -4, -low)
    checks = [Check("first", holds, first), Check("second", True, Estimate(1, 0.5, 2))]
    return Verdict(statement, outcome, checks, "But a remark")


def test_the_count_is_honest() -> None:
    verdicts = [
        make_verdict(Outcome.HOLDS, "a"),
        # A statement with a part that fails does not hold, whatever the other parts do.
        make_verdict(Outcome.HOLDS, "b", low=1.0),
        make_verdict(Outcome.FAILS, "b"),
        make_verdict(Outcome.FAILS, "c", stand_in=True, low=1.0),
        make_verdict(Outcome.NOT_TESTABLE, "d"),
        # Nor does one with a part that was not run.
        make_verdict(Outcome.HOLDS, "e"),
        make_verdict(Outcome.NOT_RUN, "e"),
    ]
    assert summarize(verdicts) == (
        "Of 5 statements of the paper, 1 hold as written, 2 fail, and 1 cannot be tested here. "
        "Not run yet: 1."
    )
    assert describe_parts(verdicts) == (
        "A statement holds if it holds for every data set and measure. Counted one by one, 3 hold "
        "and 2 fail; 2 and 1 of these are within the noise of the seeds. On stand-ins for SIFT1M "
        "and GIST1M, 0 of 1 hold."
    )
    assert describe_parts(verdicts[-1:]) == ""


def test_the_overview_names_what_decided_a_statement() -> None:
    text = render_overview({"Fig. 9": [make_verdict(Outcome.FAILS)]})
    assert '<td class="text">first. But a remark</td><td>fails</td>' in text


def test_a_verdict_names_the_deciding_comparison() -> None:
    text = render_verdicts([make_verdict(Outcome.FAILS, stand_in=True, low=1.0)])
    assert "“a &lt; b” <small>(line 7)</small>" in text
    assert "<b>fails on a stand-in for the paper's data</b>: 1 of 2 comparisons hold." in text
    assert "The clearest failure: first." in text


def test_a_verdict_within_the_noise_says_so() -> None:
    noise = "within the noise of the seeds"
    for outcome in (Outcome.HOLDS, Outcome.FAILS):
        assert noise in render_verdicts([make_verdict(outcome)])
        assert noise not in render_verdicts([make_verdict(outcome, low=1.0)])


def test_a_remark_is_next_to_the_verdict() -> None:
    verdict = make_verdict(Outcome.HOLDS)
    assert "<p>But a remark.</p>" in render_verdicts([verdict])
    assert "first. But a remark" in render_overview({"Fig. 9": [verdict]})


def test_long_lists_are_folded() -> None:
    assert render_list([]) == ""
    assert "more</summary>" not in render_list(["a"] * 6)
    assert "<summary>1 more</summary>" in render_list(["a"] * 7)
