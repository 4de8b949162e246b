"""The command line: one file per command, imported when the command runs."""

from __future__ import annotations

import sys

from bitfold.cli import _interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    # typing takes longer to import than everything before Ctrl-C is handled.
    from typing import NoReturn

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
    _interrupts.exit_on_signals()
    from bitfold.cli import _errors, _streams

    _streams.prepare()
    try:
        code = _run("--debug" in sys.argv)
    except KeyboardInterrupt:
        code = _errors.INTERRUPTED
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        code = _errors.report(error)
    _interrupts.finish(code)
    sys.exit(code)


def _run(debug: bool) -> int:
    """Run the command; return its exit code."""
    import warnings

    from bitfold.cli import _streams
    from bitfold.cli._app import app

    if not debug:
        warnings.showwarning = _show_warning
    # --debug is accepted anywhere, also after the command.
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    code = app(arguments, prog_name="bitfold", standalone_mode=False)
    _streams.flush()
    return code or 0


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as one line, without its position in the code."""
    sys.stderr.write(f"bitfold: warning: {' '.join(str(message).split())}\n")
