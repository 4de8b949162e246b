"""HTML of the verdicts on the paper's statements, and their count."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape

from reproduction.paper import deviations
from reproduction.paper.statement import Outcome, Verdict, join_sentences

CSS_CLASSES = {
    Outcome.HOLDS: "yes",
    Outcome.FAILS: "no",
    Outcome.NOT_TESTABLE: "none",
    Outcome.NOT_RUN: "none",
}

N_LISTED = 6
"""Items of a list that are shown; the others are folded."""


def count_outcomes(verdicts: Iterable[Verdict]) -> Counter[Outcome]:
    """Return how many statements have each outcome."""
    return Counter(verdict.outcome for verdict in verdicts)


def summarize(verdicts: Iterable[Verdict]) -> str:
    """Return the count of whole statements in one sentence or two."""
    counts = Counter(join_sentences(verdicts))
    text = (
        f"Of {counts.total()} statements of the paper, {counts[Outcome.HOLDS]} hold as written, "
        f"{counts[Outcome.FAILS]} fail, and {counts[Outcome.NOT_TESTABLE]} cannot be tested here."
    )
    missing = counts[Outcome.NOT_RUN]
    return text + (f" Not run yet: {missing}." if missing else "")


def describe_parts(verdicts: Iterable[Verdict]) -> str:
    """Return the count of statements by data set and measure, and how certain it is."""
    known = [v for v in verdicts if v.outcome in (Outcome.HOLDS, Outcome.FAILS)]
    if not known:
        return ""
    counts = count_outcomes(known)
    text = (
        f"A statement holds if it holds for every data set and measure. Counted one by one, "
        f"{counts[Outcome.HOLDS]} hold and {counts[Outcome.FAILS]} fail"
    )
    unclear = count_outcomes(v for v in known if not v.is_clear)
    if unclear:
        text += (
            f"; {unclear[Outcome.HOLDS]} and {unclear[Outcome.FAILS]} of these are within the "
            "noise of the seeds"
        )
    on_others = count_outcomes(v for v in known if v.statement.stand_in)
    if on_others:
        text += (
            f". On stand-ins for SIFT1M and GIST1M, {on_others[Outcome.HOLDS]} of "
            f"{on_others.total()} hold"
        )
    return f"{text}."


def render_verdicts(verdicts: Iterable[Verdict], *, is_quick: bool = False) -> str:
    """Return a list of statements and verdicts."""
    items = [_render_verdict(verdict, is_quick) for verdict in verdicts]
    return f'<ul class="verdicts">{"".join(items)}</ul>' if items else ""


def _render_verdict(verdict: Verdict, is_quick: bool) -> str:
    statement, outcome = verdict.statement, verdict.outcome
    quick = is_quick and outcome is Outcome.NOT_RUN
    word = "not judged in a quick version" if quick else outcome.value
    stand_in = " on a stand-in for the paper's data" if statement.stand_in else ""
    lines = [
        f"<p>“{escape(statement.text)}” <small>(line {statement.line})</small></p>",
        f'<p class="soft">Tested: {escape(statement.criterion)}.</p>',
        f"<p><b>{word}{stand_in}</b>{_explain(verdict)}</p>",
        *([f"<p>{escape(verdict.remark)}.</p>"] if verdict.remark else []),
    ]
    if outcome is Outcome.FAILS:
        failed = [check.text for check in verdict.checks if not check.holds]
        lines.append(render_list(failed[1:]))
        if statement.id in deviations.DISAGREEMENTS:
            reason = deviations.DISAGREEMENTS[statement.id]
            lines.append(f"<p>Reason: {escape(reason)}.</p>")
    return f'<li id="{statement.id}" class="{CSS_CLASSES[outcome]}">{"".join(lines)}</li>'


def _explain(verdict: Verdict) -> str:
    """Return the deciding comparison: the one that fails most, or is closest to failing."""
    if not verdict.checks:
        return ""
    n, n_all = verdict.n_holding, len(verdict.checks)
    has_seeds = any(math.isfinite(check.margin.low) for check in verdict.checks)
    noise = ", within the noise of the seeds" if has_seeds and not verdict.is_clear else ""
    count = f": {n} of {n_all} comparisons hold" if n_all > 1 else ""
    what = "The clearest failure" if verdict.outcome is Outcome.FAILS else "The closest"
    lead = f"{count}. {what}: " if n_all > 1 else ": "
    return f"{noise}{lead}{escape(verdict.checks[0].text)}."


def render_list(sentences: list[str]) -> str:
    """Return a list whose later items are folded."""
    if not sentences:
        return ""
    items = [f"<li>{escape(sentence)}</li>" for sentence in sentences]
    shown, rest = "".join(items[:N_LISTED]), "".join(items[N_LISTED:])
    n_more = len(items) - N_LISTED
    folded = f"<details><summary>{n_more} more</summary><ul>{rest}</ul></details>"
    return f"<ul>{shown}</ul>" + (folded if rest else "")


def _decide(verdict: Verdict) -> str:
    """Return the deciding comparison and the remark on the verdict."""
    texts = (verdict.checks[0].text if verdict.checks else "", verdict.remark)
    return ". ".join(filter(None, texts))


def render_overview(verdicts: Mapping[str, list[Verdict]]) -> str:
    """Return a table of all statements and what decided them, by the number of their artifact."""
    rows = [
        f'<tr class="{CSS_CLASSES[v.outcome]}"><td>{escape(number)}</td>'
        f'<td class="text"><a href="#{v.statement.id}">{escape(v.statement.text)}</a></td>'
        f'<td class="text">{escape(_decide(v))}</td>'
        f"<td>{v.outcome.value}</td></tr>"
        for number, own in verdicts.items()
        for v in own
    ]
    heads = ("about", "statement", "decided by", "verdict")
    head = f"<thead><tr>{''.join(f'<th>{name}</th>' for name in heads)}</tr></thead>"
    return (
        f'<div class="wide"><table class="all">{head}<tbody>{"".join(rows)}</tbody></table></div>'
    )
