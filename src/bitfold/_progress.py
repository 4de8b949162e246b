"""Progress of long calls: silent by default, bars on stderr after ``bf.set_progress(True)``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bitfold._types import ProgressCallback

bars_enabled = False
"""Whether calls without a callback of their own draw bars; see :func:`set_progress`."""


def set_progress(enabled: bool) -> None:
    """Show progress bars on stderr during long calls, or stop showing them.

    Downloads, feature extraction, the search for true nearest neighbors, ``fit`` and ``encode``
    show a bar unless they are given a ``progress`` callback of their own. The library is silent
    by default.

    Parameters
    ----------
    enabled
        Whether to show bars.

    Examples
    --------
    >>> import bitfold as bf
    >>> bf.set_progress(True)
    >>> bf.set_progress(False)
    """
    global bars_enabled
    bars_enabled = bool(enabled)


def ignore_progress(stage: str, done: int, total: int) -> None:
    """Show nothing."""


def ignore_step(done: int, total: int) -> None:
    """Show nothing."""


@contextmanager
def show_progress(progress: ProgressCallback | None) -> Iterator[ProgressCallback]:
    """Yield the callback to report to: the caller's own, one that draws bars, or a silent one."""
    if progress is not None:
        yield progress
    elif bars_enabled:
        with draw_bars() as report:
            yield report
    else:
        yield ignore_progress


@contextmanager
def draw_bars() -> Iterator[ProgressCallback]:
    """Yield a callback that draws one bar per stage."""
    # rich takes a while to import and is only needed here.
    from rich.console import Console
    from rich.progress import Progress, TaskID

    with Progress(console=Console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage)
            bars.update(tasks[stage], completed=done, total=total or None)

        yield report
