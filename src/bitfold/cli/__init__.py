"""The command line: one file per verb, and nothing heavy is imported before a verb runs."""

from __future__ import annotations

import signal
import sys
import warnings
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Run ``bitfold``; an error is one sentence and exit code 1, Ctrl-C is exit code 130."""
    _end_in_order()
    debug = "--debug" in sys.argv
    if not debug:
        warnings.showwarning = _warn
    try:
        # Imported here, so that Ctrl-C during the import is as quiet as later.
        from bitfold.cli._app import app

        code = app(_without_debug(sys.argv[1:]), prog_name="bitfold", standalone_mode=False)
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        if debug:
            raise
        sys.stderr.write(f"bitfold: {_sentence(error)}\n")
        code = getattr(error, "exit_code", 1)  # 2, when the command was not understood
    sys.exit(code or 0)


def _end_in_order() -> None:
    """Let a kill and a closed terminal unwind as Ctrl-C does, so that nothing half-written stays.

    What is ignored stays so, as under nohup.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda number, _: sys.exit(128 + number))


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """Show a warning as a sentence, without the place in the code."""
    sys.stderr.write(f"bitfold: note: {' '.join(str(message).split())}\n")


def _without_debug(arguments: list[str]) -> list[str]:
    """Take ``--debug`` out wherever it stands, so that it may follow the verb too."""
    return [argument for argument in arguments if argument != "--debug"]


def _sentence(error: Exception) -> str:
    """Say in one line what went wrong; an error without words gives at least its name."""
    if isinstance(error, OSError) and error.strerror:
        return " ".join(filter(None, [_named(error.filename), f"{error.strerror}."]))
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    words = " ".join(text.split()) or type(error).__name__
    return words if words.endswith((".", "!", "?")) else f"{words}."


def _named(filename: object) -> str:
    return f"{filename}:" if filename else ""
