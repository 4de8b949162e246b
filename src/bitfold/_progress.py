"""Progress of long calls: silent by default, bars after ``bf.set_progress(True)``.

Bars appear on stderr, or in the output of a notebook cell, if a call takes more than a moment.
"""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from bitfold._types import ProgressCallback

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")

DELAY_SECONDS = 0.5
"""Time after which a call shows its bars; shorter calls show nothing."""

_SECONDS_PER_FRAME = 0.2
"""Time between two updates in a notebook."""

bars_enabled = False

_drawing = threading.Lock()
"""Held by the call whose bars are shown. Calls inside it, or in other threads, show none."""


def set_progress(enabled: bool) -> None:
    """Show progress bars during long calls, or stop showing them.

    ``fit``, ``encode``, adding to an index, searches, exact searches, downloads and feature
    extraction show a bar if they take longer than half a second, unless they are given a
    ``progress`` callback of their own. Bars appear on stderr, or below the cell of a notebook. The
    library is silent by default.

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
    elif bars_enabled and _drawing.acquire(blocking=False):
        try:
            with _draw_bars() as report:
                yield report
        finally:
            _drawing.release()
    else:
        yield ignore_progress


def track(results: Iterable[T], stage: str, total: int) -> Iterator[T]:
    """Yield the results of blocks of work, and show how many of ``total`` blocks are done."""
    with show_progress(None) as report:
        for done, result in enumerate(results, 1):
            report(stage, done, total)
            yield result


@contextmanager
def _draw_bars() -> Iterator[ProgressCallback]:
    """Yield a callback that draws one bar per stage."""
    # rich takes a while to import and is only needed here.
    from rich.console import Console
    from rich.progress import Progress, TaskID

    console = Console(stderr=True)
    bars = Progress(console=console, disable=console.is_jupyter)
    tasks: dict[str, TaskID] = {}
    with _draw_in_notebook(bars) if console.is_jupyter else _draw_in_terminal(bars) as redraw:

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total or None)
            bars.update(tasks[stage], completed=done, total=total or None)
            redraw()

        yield report


@contextmanager
def _draw_in_terminal(bars: Progress) -> Iterator[Any]:
    """Start the bars after the delay, in a thread: the work may not report for a long time."""
    starter = threading.Timer(DELAY_SECONDS, bars.start)
    starter.daemon = True
    starter.start()
    try:
        yield lambda: None
    finally:
        starter.cancel()
        starter.join()
        if bars.live.is_started:
            bars.stop()


@contextmanager
def _draw_in_notebook(bars: Progress) -> Iterator[Any]:
    """Replace the text of one cell output; the bars of rich would need ipywidgets."""
    from IPython.display import display

    handle: Any = None
    next_frame = time.monotonic() + DELAY_SECONDS

    def redraw(is_last: bool = False) -> None:
        nonlocal handle, next_frame
        if time.monotonic() < next_frame and not (is_last and handle):
            return
        content = {"text/plain": _render_text(bars)}
        if handle is None:
            handle = display(content, raw=True, display_id=True)
        else:
            handle.update(content, raw=True)
        next_frame = time.monotonic() + _SECONDS_PER_FRAME

    try:
        yield redraw
    finally:
        redraw(is_last=True)


def _render_text(bars: Progress) -> str:
    """Return the bars as plain text."""
    from rich.console import Console

    file = io.StringIO()
    Console(file=file, width=80, color_system=None, force_jupyter=False).print(bars)
    return file.getvalue().rstrip()
