"""Progress bars in the terminal; nothing is shown if the output goes to a pipe or a file."""

from __future__ import annotations

import sys
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

from reproduction.experiments.run import ShowCase
from reproduction.records import Case
from reproduction.shared_types import ProgressCallback

OUTPUT_WIDTH = 120
"""Characters per line of output that does not go to a terminal."""


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

    def show_cases(self, cases: list[Case], estimate: Callable[[Case], float]) -> ShowCase:
        """Show a bar for all cases, which moves by their estimated seconds.

        Returns
        -------
        A context manager that shows the bar of one case.
        """
        total = sum(map(estimate, cases))
        task = self._progress.add_task("all runs", total=total, stage=f"0 of {len(cases)}")
        n_done = 0

        @contextmanager
        def show_case(case: Case) -> Iterator[ProgressCallback]:
            nonlocal n_done
            with self.show_task(case.title) as report:
                yield report
            n_done += 1
            self._progress.update(task, advance=estimate(case), stage=f"{n_done} of {len(cases)}")

        return show_case


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
