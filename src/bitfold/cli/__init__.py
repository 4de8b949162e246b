"""The command line: one file per command, imported when the command runs."""

from __future__ import annotations

import signal
import sys
import warnings
from typing import NoReturn

from bitfold.cli import _errors

__all__ = ["main"]


def main() -> NoReturn:
    """Run the ``bitfold`` command with the arguments of the process, and exit.

    An error is printed as one line on stderr; ``--debug`` shows its traceback instead.

    Raises
    ------
    SystemExit
        Always. The exit code follows from the class of the error, see ``bitfold --help``.

    Examples
    --------
    >>> sys.argv = ["bitfold", "--version"]
    >>> main()
    Traceback (most recent call last):
    SystemExit: 0
    """
    _unwind_on_signals()
    debug = "--debug" in sys.argv
    if not debug:
        warnings.showwarning = _show_warning
    try:
        # Imported here, so that Ctrl-C during the import is quiet too.
        from bitfold.cli._app import app

        # --debug is accepted anywhere, also after the command.
        arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
        code = app(arguments, prog_name="bitfold", standalone_mode=False)
    except KeyboardInterrupt:
        code = _errors.INTERRUPTED
    except Exception as error:
        if debug:
            raise
        sys.stderr.write(f"bitfold: {_errors.format_error(error)}\n")
        code = _errors.choose_exit_code(error)
    sys.exit(code or 0)


def _unwind_on_signals() -> None:
    """Exit cleanly on SIGTERM and SIGHUP, so that no partial file remains.

    A signal that is ignored, as under nohup, stays ignored.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda number, _: sys.exit(128 + number))


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as one line, without its position in the code."""
    sys.stderr.write(f"bitfold: warning: {' '.join(str(message).split())}\n")
