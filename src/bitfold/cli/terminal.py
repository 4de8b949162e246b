"""What a person at a terminal sees while a verb works; a pipe or a file gets none of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from bitfold._types import ProgressCallback


class _Rate(ProgressColumn):
    """How much is done in a second."""

    def render(self, task: Task) -> Text:
        speed = 0 if "told" in task.fields else task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed and speed >= 1 else "", style="dim")


class _TimeLeft(TimeRemainingColumn):
    """The time left, once it can be told."""

    def render(self, task: Task) -> Text:
        if task.finished or task.time_remaining is None or "told" in task.fields:
            return Text(task.fields.get("told", ""), style="cyan")
        return Text(f"{super().render(task)} left", style="cyan")


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

    def count(self, name: str, total: int) -> Callable[[int, str], None]:
        """Show a bar for many pieces of work; return what is told of more done, and the time left.

        Pieces differ, so that their rate would say nothing.
        """
        task = self._progress.add_task(name, total=total, stage=f"0 of {total:,}", told="")
        done = 0

        def tell(more: int, told: str) -> None:
            nonlocal done
            done += more
            stage = f"{done:,} of {total:,}"
            self._progress.update(task, completed=done, stage=stage, told=told)

        return tell

    @contextmanager
    def bar(self, name: str, *, vanish: bool = False) -> Iterator[ProgressCallback]:
        """Show a bar for the stage a hasher is at; yield what it reports to.

        ``vanish`` takes it away at the end, where many would fill the terminal.
        """
        task = self._progress.add_task(name, total=1, stage="")

        before = ""

        def report(stage: str, done: int, total: int) -> None:
            nonlocal before
            if stage != before:
                # The rate of one stage says nothing of the next.
                self._progress.reset(task, total=total, stage=stage)
                before = stage
            self._progress.update(task, completed=done, total=total, stage=stage)

        yield report
        if vanish:
            self._progress.remove_task(task)
        else:
            self._progress.update(task, completed=1, total=1, stage="")


@contextmanager
def bars() -> Iterator[Bars]:
    """Show bars on the terminal while the block runs; they vanish at its end."""
    seen = sys.stdout.isatty() and sys.stderr.isatty()
    progress = Progress(
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[stage]}", style="dim"),
        _Rate(),
        TimeElapsedColumn(),
        _TimeLeft(compact=True),
        # Some versions end even what is disabled with an empty line.
        console=Console(stderr=True, quiet=not seen),
        transient=True,
        disable=not seen,
    )
    with progress:
        yield Bars(progress)


def output() -> Console:
    """Where results go: as wide as the terminal, or wide enough for any table in a pipe."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)
