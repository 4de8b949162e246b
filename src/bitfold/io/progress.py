"""What a person at a terminal sees while files come in or features are computed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bitfold._types import ProgressCallback


@contextmanager
def shown(progress: ProgressCallback | None) -> Iterator[ProgressCallback]:
    """Yield what to report to: the caller's function, else a bar where stderr is a terminal."""
    if progress is not None:
        yield progress
    elif sys.stderr.isatty():
        with _bars() as report:
            yield report
    else:
        yield _silent


@contextmanager
def _bars() -> Iterator[ProgressCallback]:
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
