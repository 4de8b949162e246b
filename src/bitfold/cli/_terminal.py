"""What a person at a terminal sees while a verb works; a pipe or a file gets none of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

Report = Callable[[str, int, int], None]
"""Told (stage, done, total), as :meth:`bitfold.hashers.Hasher.fit` does."""

STAGES = ("base set", "embedding", "rotation", "encode")
"""What a hasher goes through, in order."""


class Bars:
    """One bar per piece of work."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    @contextmanager
    def spinner(self, text: str) -> Iterator[None]:
        """Show that something of unknown length goes on."""
        task = self._progress.add_task(text, total=None, stage="")
        yield
        self._progress.remove_task(task)

    @contextmanager
    def bar(self, name: str) -> Iterator[Report]:
        """Show a bar for one hasher, full at the end; yield what it reports to."""
        task = self._progress.add_task(name, total=len(STAGES), stage=STAGES[0])

        def report(stage: str, done: int, total: int) -> None:
            place, at_work = position(stage, done, total)
            self._progress.update(task, completed=place, stage=at_work)

        yield report
        self._progress.update(task, completed=len(STAGES), stage="")


def position(stage: str, done: int, total: int) -> tuple[float, str]:
    """How many stages are behind, and which one is at work; a finished one names its next."""
    if stage not in STAGES:
        return 0.0, stage
    place = STAGES.index(stage) + done / max(total, 1)
    return place, STAGES[min(int(place), len(STAGES) - 1)]


@contextmanager
def bars() -> Iterator[Bars]:
    """Show bars on the terminal while the block runs; they vanish at its end."""
    progress = Progress(
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[stage]}", style="dim"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not (sys.stdout.isatty() and sys.stderr.isatty()),
    )
    with progress:
        yield Bars(progress)


def output() -> Console:
    """Where results go: as wide as the terminal, or wide enough for any table in a pipe."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)
