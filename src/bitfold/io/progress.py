"""What a person at a terminal sees while files come in or features are computed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int], None]
"""Told (stage, done, total) as the work goes on."""


@contextmanager
def shown(progress: Progress | None) -> Iterator[Progress]:
    """Yield what to report to: the caller's function, else a bar where stderr is a terminal."""
    if progress is not None:
        yield progress
    elif sys.stderr.isatty():
        with _bars() as report:
            yield report
    else:
        yield _silent


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import Progress as Bars

    with Bars(console=Console(stderr=True), transient=True) as bars:
        tasks = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage)
            bars.update(tasks[stage], completed=done, total=total)

        yield report


def _silent(stage: str, done: int, total: int) -> None:
    """Show nothing."""
