"""Progress bars in the terminal; one line per minute if the output goes to a pipe or a file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from reproduction.experiments.estimates import Durations, format_duration
from reproduction.experiments.run import ShowCase
from reproduction.records import Case
from reproduction.shared_types import ProgressCallback

OUTPUT_WIDTH = 120
"""Characters per line of output that does not go to a terminal."""

SECONDS_PER_LINE = 60
"""Time between two lines of progress where there is no terminal."""


def open_console() -> Console:
    """Return the console for results."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else OUTPUT_WIDTH)


class ProgressBars:
    """Bars of the tasks that are running."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    @contextmanager
    def show_task(self, name: str, *, keep: bool = False) -> Iterator[ProgressCallback]:
        """Show a bar, and yield the callback that moves it; ``keep`` leaves it there when done."""
        task = self._progress.add_task(name, total=None, stage="")

        def report(stage: str, done: int, total: int) -> None:
            self._progress.update(task, completed=done, total=total, stage=stage)

        yield report
        if keep:
            self._progress.update(task, completed=1, total=1, stage="")
        else:
            self._progress.remove_task(task)

    def show_cases(self, cases: list[Case], durations: Durations) -> ShowCase:
        """Show a bar for all cases, and return a context manager that shows that of one case."""
        count = self.count_cases(cases, durations)

        @contextmanager
        def show_case(case: Case) -> Iterator[ProgressCallback]:
            began = time.monotonic()
            with self.show_task(case.title) as report:
                yield report
            count(case, time.monotonic() - began)

        return show_case

    def count_cases(
        self, cases: list[Case], durations: Durations, n_jobs: int = 1
    ) -> Callable[[Case, float], None]:
        """Show a bar for all cases, which moves by their estimated seconds.

        The estimate of what is left is renewed after each case, from the durations of those that
        are finished. Without a terminal it is a line on the standard error, once per minute.

        Parameters
        ----------
        cases
            The cases to run.
        durations
            Durations of earlier runs.
        n_jobs
            Number of cases that run at the same time.

        Returns
        -------
        A function to call with each finished case and its seconds.
        """
        left = list(cases)
        stage = f"0 of {len(cases)}"
        task = self._progress.add_task(
            "all runs", total=_sum_estimates(left, durations) / n_jobs, stage=stage
        )
        start = last_line = time.monotonic()
        predicted = spent = 0.0

        def count(case: Case, seconds: float) -> None:
            nonlocal last_line, predicted, spent
            now = time.monotonic()
            predicted += durations.estimate(case)
            spent += seconds
            durations.add(case, seconds)
            left.remove(case)
            # A machine that is slower than in the records is so for what is left, too.
            rest = _sum_estimates(left, durations) * spent / predicted / n_jobs
            stage = f"{len(cases) - len(left)} of {len(cases)}"
            done = now - start
            self._progress.update(task, completed=done, total=done + rest, stage=stage)
            if self._progress.disable and now - last_line > SECONDS_PER_LINE:
                last_line = now
                text = f"{stage} runs, about {format_duration(rest)} left; {case.title}"
                sys.stderr.write(f"{text}\n")
                sys.stderr.flush()

        return count


def _sum_estimates(cases: list[Case], durations: Durations) -> float:
    return sum(map(durations.estimate, cases))


@contextmanager
def show_progress() -> Iterator[ProgressBars]:
    """Show progress bars while the block runs."""
    visible = sys.stdout.isatty() and sys.stderr.isatty()
    progress = Progress(
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[stage]}", style="dim"),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True, quiet=not visible),
        transient=True,
        disable=not visible,
    )
    with progress:
        yield ProgressBars(progress)
