"""Many cases on the terminal: a bar for all of them with the time left, and one for the case."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bitfold._types import ProgressCallback
from bitfold.cli.terminal import show_progress

if TYPE_CHECKING:
    from reproduction.data import Loader
    from reproduction.records import Case, Record, Records


class Pace:
    """How far a run is, in estimated seconds, and how long the rest will take.

    Estimates are off by a factor that is the same for the next cases, more or less: what the
    cases so far took against what was expected of them.
    """

    def __init__(self, expected: list[float]) -> None:
        self._left = sum(expected)
        self._expected_so_far = self._took_so_far = 0.0

    def done(self, expected: float, took: float) -> None:
        """Tell that a case is done."""
        self._left = max(self._left - expected, 0.0)
        self._expected_so_far += expected
        self._took_so_far += took

    @property
    def left(self) -> float:
        """Seconds that the rest will take."""
        so_far = self._expected_so_far
        return self._left * (self._took_so_far / so_far if so_far else 1.0)


def in_words(seconds: float) -> str:
    """Round a time as a person would: 40 s, 12 min, 3.5 h."""
    if seconds < 60:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def run_cases(
    cases: list[Case],
    records: Records,
    load: Loader,
    estimate: Callable[[Case], float],
) -> list[Record]:
    """Run the cases that have no record yet, shown on a terminal; return the records of all."""
    from reproduction.run import run

    missing = [case for case in cases if case not in records]
    pace = Pace([estimate(case) for case in missing])
    with show_progress() as shown:
        overall = shown.counter("all runs", len(missing))

        @contextmanager
        def showing(case: Case) -> Iterator[ProgressCallback]:
            start, expected = time.perf_counter(), estimate(case)
            overall(0, f"about {in_words(pace.left)} left")
            with shown.bar(case.title, remove=True) as report:
                yield report
            pace.done(expected, time.perf_counter() - start)
            overall(1, f"about {in_words(pace.left)} left")

        return run(cases, records, load, showing)
