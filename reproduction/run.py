"""Running cases: what has a record is not run again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

from bitfold.datasets import Dataset
from reproduction.classification import classification
from reproduction.pictures import digits, plane, retrieved
from reproduction.records import Case, Record, Records
from reproduction.retrieval import Report, Result, retrieval, scan

MEASURES: dict[str, Callable[[Case, Dataset, Report | None], Result]] = {
    "retrieval": retrieval,
    "scan": scan,
    "classification": classification,
    "plane": plane,
    "retrieved": retrieved,
    "digits": digits,
}
"""What can be measured of a case."""

Load = Callable[[Case, Report], Dataset]
Showing = Callable[[Case], AbstractContextManager[Report]]
"""Shows a case at work; yields what its progress is told to."""


def run(cases: Iterable[Case], records: Records, load: Load, showing: Showing) -> list[Record]:
    """Run the cases that have no record yet; return the records of all.

    A method that cannot be asked for such codes leaves ``{"error": its sentence}``.
    """

    def work(case: Case) -> Result:
        with showing(case) as report:
            return _measured(case, load(case, report), report)

    return records.run_missing(cases, work)


def _measured(case: Case, data: Dataset, report: Report) -> Result:
    with warnings.catch_warnings():
        # Of little data a method's default may ask for more than there is; nobody else did.
        warnings.filterwarnings("ignore", message=".*base points were asked for")
        return MEASURES[case.measure](case, data, report)
