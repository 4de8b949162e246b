"""Signals: Ctrl-C at any moment ends the command with exit code 130, without a traceback.

While modules are imported there is nothing to clean up, and an exception could be swallowed, so a
signal ends the process at once. While a command runs it raises KeyboardInterrupt or SystemExit, so
that no partial file remains.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

UNWIND_SECONDS = 2.0
"""After a Ctrl-C, further ones are ignored for this time, so that files can be removed."""

_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
"""Signals that end a command; Windows has no SIGHUP."""

_last_interrupt: float | None = None


def exit_on_signals() -> None:
    """Let signals end the process at once.

    A signal that is ignored, as under nohup, stays ignored.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _exit_at_once)


def unwind_on_signals() -> None:
    """Let signals raise exceptions in the command, which then removes its partial files."""
    for number in _SIGNALS:
        if signal.getsignal(number) is _exit_at_once:
            signal.signal(number, _interrupt if number == signal.SIGINT else _terminate)
    sys.unraisablehook = _repeat_swallowed_interrupt


def was_interrupted() -> bool:
    """Return whether Ctrl-C was pressed; libraries sometimes turn it into another error."""
    return _last_interrupt is not None


def finish(code: int) -> None:
    """Let nothing interrupt the end of the process, unless it was interrupted and hangs."""
    for number in _SIGNALS:
        if signal.getsignal(number) in (_interrupt, _terminate, _exit_at_once):
            signal.signal(number, signal.SIG_IGN if code == 0 else _exit_at_once)


def _exit_at_once(number: int, frame: object) -> None:
    os._exit(128 + number)


def _terminate(number: int, frame: object) -> None:
    sys.exit(128 + number)


def _interrupt(number: int, frame: object) -> None:
    from time import monotonic

    global _last_interrupt
    if _last_interrupt is None or monotonic() - _last_interrupt > UNWIND_SECONDS:
        _last_interrupt = monotonic()
        raise KeyboardInterrupt


def _repeat_swallowed_interrupt(unraisable: Any) -> None:
    """Interrupt again if the first interrupt was lost in a finalizer or a callback."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    from threading import Timer

    global _last_interrupt
    _last_interrupt = None
    repeat = Timer(0.05, _signal_main_thread)
    repeat.daemon = True
    repeat.start()


def _signal_main_thread() -> None:
    if sys.platform == "win32":
        signal.raise_signal(signal.SIGINT)
        return
    from threading import main_thread

    ident = main_thread().ident
    if ident is not None:
        signal.pthread_kill(ident, signal.SIGINT)
