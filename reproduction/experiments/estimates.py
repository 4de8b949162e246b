"""Rough estimates of how long a case takes, from the records of similar cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import fmean

from reproduction.records import Case
from reproduction.shared_types import Record

N_ROWS = {
    "digits": 1_500, "mnist": 69_000, "cifar10": 59_000, "text": 58_979, "gist_cifar": 1_000_000,
    "sift_photos": 1_000_000, "sift1m": 1_000_000, "gist1m": 1_000_000,
}  # fmt: skip
"""Rows of the data sets; others count as 10,000."""

SECONDS_PER_ROW = 2e-4
"""Duration of a case of which nothing similar was run, on two cores."""


def estimate_from(records: Iterable[Record]) -> Callable[[Case], float]:
    """Return a function that estimates the seconds of a case.

    It is the mean over the recorded cases that differ only in seed and number of queries, or over
    those of the same method and data set, or proportional to the number of rows.
    """
    by_setting: dict[Case, list[float]] = {}
    by_method: dict[tuple[str, str, int], list[float]] = {}
    for record in records:
        if "seconds" in record:
            case = Case.from_record(record)
            by_setting.setdefault(case.setting, []).append(record["seconds"])
            by_method.setdefault(_method_of(case), []).append(record["seconds"])

    def estimate(case: Case) -> float:
        seconds = by_setting.get(case.setting) or by_method.get(_method_of(case))
        return fmean(seconds) if seconds else SECONDS_PER_ROW * _count_rows(case)

    return estimate


def _method_of(case: Case) -> tuple[str, str, int]:
    return case.method, case.data, case.n_rows


def _count_rows(case: Case) -> int:
    return case.n_rows or N_ROWS.get(case.data, 10_000)


def format_duration(seconds: float) -> str:
    """Return a rounded duration such as 40 s, 12 min or 3.5 h."""
    if seconds < 60:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
