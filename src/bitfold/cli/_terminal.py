"""The terminal: results, and progress that is not shown in a pipe or a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import typer
from rich import progress
from rich.console import Console
from rich.text import Text

from bitfold._types import ProgressCallback
from bitfold.cli._streams import ClosedOutput

PIPE_WIDTH = 120
"""Width of tables that go to a pipe or a file."""


class _RateColumn(progress.ProgressColumn):
    """The number of steps per second."""

    def render(self, task: progress.Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed and speed >= 1 else "", style="dim")


class _TimeLeftColumn(progress.TimeRemainingColumn):
    """The time left, once it is known."""

    def render(self, task: progress.Task) -> Text:
        # Runs of a series differ too much for an estimate from their mean.
        if task.finished or task.time_remaining is None or not task.fields.get("is_timed", True):
            return Text("")
        return Text(f"{super().render(task)} left", style="cyan")


class ProgressDisplay:
    """Spinners, bars and counters on a terminal."""

    def __init__(self, bars: progress.Progress) -> None:
        self._progress = bars

    @contextmanager
    def spinner(self, text: str) -> Iterator[None]:
        """Show a spinner while the block runs."""
        task = self._progress.add_task(text, total=None, stage="")
        yield
        self._progress.remove_task(task)

    def counter(self, name: str, total: int) -> Callable[[str], None]:
        """Show a bar that counts runs; return a function that advances it by one.

        The function takes a note, such as the time that is left.
        """
        task = self._progress.add_task(name, total=total, stage=f"0 of {total:,}", is_timed=False)
        finished = count(1)

        def advance(note: str) -> None:
            done = next(finished)
            stage = ", ".join(filter(None, [f"{done:,} of {total:,}", note]))
            self._progress.update(task, completed=done, stage=stage)

        return advance

    def line(self, text: str) -> None:
        """Print a line on stderr if no bars are shown, as in a pipe or a file."""
        if self._progress.disable:
            typer.echo(text, err=True)

    @contextmanager
    def bar(self, name: str, *, remove: bool = False) -> Iterator[ProgressCallback]:
        """Show a bar while the block runs; yield a callback that takes (stage, done, total).

        ``remove`` removes the bar at the end, for long series of bars.
        """
        task = self._progress.add_task(name, total=1, stage="")
        current_stage = ""

        def report(stage: str, done: int, total: int) -> None:
            nonlocal current_stage
            if stage != current_stage:
                # The rate of one stage does not apply to the next.
                self._progress.reset(task, total=total, stage=stage)
                current_stage = stage
            self._progress.update(task, completed=done, total=total, stage=stage)

        yield report
        if remove:
            self._progress.remove_task(task)
        else:
            self._progress.update(task, completed=1, total=1, stage="")


@contextmanager
def show_progress() -> Iterator[ProgressDisplay]:
    """Show progress on stderr while the block runs, if stdout and stderr are terminals."""
    visible = sys.stdout.isatty() and sys.stderr.isatty()
    bars = progress.Progress(
        progress.SpinnerColumn(finished_text="✓"),
        progress.TextColumn("{task.description}"),
        progress.BarColumn(bar_width=24),
        progress.TextColumn("{task.fields[stage]}", style="dim"),
        _RateColumn(),
        progress.TimeElapsedColumn(),
        _TimeLeftColumn(compact=True),
        # Some versions of rich print an empty line at the end even if disabled.
        console=Console(stderr=True, quiet=not visible),
        transient=True,
        disable=not visible,
    )
    with bars:
        yield ProgressDisplay(bars)


def make_console() -> Console:
    """Return a console for results: as wide as the terminal, or wide enough for any table."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)


def print_summary(summary: dict[str, Any], text: str, *, as_json: bool) -> None:
    """Print what a command did, in words or as JSON; if stdout is closed, it is not an error."""
    if not isinstance(sys.stdout, ClosedOutput):
        print_result(summary, text, as_json=as_json)


def print_result(summary: dict[str, Any], text: str, *, as_json: bool) -> None:
    """Print what a command was asked for, in words or as JSON."""
    typer.echo(json.dumps(summary) if as_json else text)
