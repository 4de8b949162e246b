"""A statement of the paper, and the verdict on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import NamedTuple

from reproduction.columns import PUBLISHED, select_column
from reproduction.paper.checks import (
    Check,
    Checks,
    Measured,
    MissingRecordsError,
    NoSuchCodesError,
)
from reproduction.shared_types import Record


class Outcome(Enum):
    """What can be said about a statement."""

    HOLDS = "holds"
    FAILS = "fails"
    NOT_TESTABLE = "not testable here"
    NOT_RUN = "not run yet"


class Statement(NamedTuple):
    """A sentence of the paper, judged as it is written.

    Parameters
    ----------
    id
        Unique name.
    line
        Line in the LaTeX source of the paper.
    text
        The sentence, shortened with "…" but not changed.
    criterion
        How the sentence is tested, if its words leave that open; or why it cannot be tested.
    checks
        The comparisons; None if the statement cannot be tested here.
    source
        Artifact whose records are needed, if it is another one than the statement is about.
    stand_in
        Whether other data replace the paper's.
    sentence
        Name that the parts of a sentence share, if it is judged in parts, such as one per data
        set and measure.
    remark
        Makes a text from the records that is shown next to the verdict; empty if nothing needs
        to be said.
    """

    id: str
    line: int
    text: str
    criterion: str
    checks: Checks | None
    source: str = ""
    stand_in: bool = False
    sentence: str = ""
    remark: Callable[[Measured], str] | None = None


class Verdict(NamedTuple):
    """The outcome of a statement, its comparisons, the least favorable first, and a remark."""

    statement: Statement
    outcome: Outcome
    checks: list[Check]
    remark: str = ""

    @property
    def n_holding(self) -> int:
        """Number of comparisons that hold."""
        return sum(check.holds for check in self.checks)

    @property
    def is_clear(self) -> bool:
        """Whether the outcome is outside the noise of the seeds.

        One comparison that clearly fails is enough for a failure; a statement holds clearly if
        every comparison does.
        """
        if self.outcome is Outcome.FAILS:
            return any(check.margin.high < 0 for check in self.checks if not check.holds)
        return bool(self.checks) and all(check.margin.low > 0 for check in self.checks)


Group = dict[str, list[Statement]]
"""Statements by the artifact that they are about."""


def judge_statements(
    statements: Iterable[Statement], artifact: str, records: Mapping[str, list[Record]]
) -> list[Verdict]:
    """Return a verdict on each statement.

    Parameters
    ----------
    statements
        Statements about one artifact.
    artifact
        Its name.
    records
        Records by artifact; only those with the authors' settings are used.
    """
    find = _measured_by_artifact(records)
    return [_judge(statement, find(statement.source or artifact)) for statement in statements]


def join_sentences(verdicts: Iterable[Verdict]) -> list[Outcome]:
    """Return the outcomes of whole sentences: one that is judged in parts holds if all do."""
    parts: dict[str, set[Outcome]] = {}
    for verdict in verdicts:
        statement = verdict.statement
        parts.setdefault(statement.sentence or statement.id, set()).add(verdict.outcome)
    decisive = (Outcome.FAILS, Outcome.NOT_RUN, Outcome.HOLDS, Outcome.NOT_TESTABLE)
    return [next(outcome for outcome in decisive if outcome in own) for own in parts.values()]


def _measured_by_artifact(records: Mapping[str, list[Record]]) -> Callable[[str], Measured]:
    known: dict[str, Measured] = {}

    def find(name: str) -> Measured:
        if name not in known:
            known[name] = Measured(select_column(records.get(name, []), PUBLISHED))
        return known[name]

    return find


def _judge(statement: Statement, measured: Measured) -> Verdict:
    if statement.checks is None:
        return Verdict(statement, Outcome.NOT_TESTABLE, [])
    try:
        checks = sorted(statement.checks(measured), key=_rank)
    except MissingRecordsError:
        return Verdict(statement, Outcome.NOT_RUN, [])
    except NoSuchCodesError:
        return Verdict(statement, Outcome.NOT_TESTABLE, [])
    if not checks:
        return Verdict(statement, Outcome.NOT_RUN, [])
    outcome = Outcome.HOLDS if checks[0].holds else Outcome.FAILS
    remark = statement.remark(measured) if statement.remark else ""
    return Verdict(statement, outcome, checks, remark)


def _rank(check: Check) -> tuple[bool, float, float]:
    """Order comparisons that may have different units: those that fail most clearly come first."""
    return check.holds, check.margin.strength, check.margin.mean
