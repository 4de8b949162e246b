"""Errors on the command line: the exit code of each class, and a message in one line."""

from __future__ import annotations

import sys

from bitfold import errors
from bitfold.cli import _interrupts, _streams

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in a shell."""

EXIT_CODES: list[tuple[int, str, tuple[type[Exception], ...]]] = [
    (2, "wrong usage, or a value that is not allowed", (errors.ParameterError,)),
    (3, "data that cannot be used", (errors.DataError,)),
    (4, "a damaged or unknown file", (errors.FormatError,)),
    (5, "a missing file, data set or store", (FileNotFoundError, errors.DownloadError)),
    (6, "an output that already exists", (FileExistsError,)),
    (7, "files that another process is writing", (errors.LockedError,)),
    (8, "a request that a database rejected", (errors.StoreError,)),
    (1, "any other error", (Exception,)),
]
"""Exit code, meaning and exception classes; the first entry that matches is used."""


def report(error: Exception) -> int:
    """Print an error as one line, and return its exit code."""
    if _interrupts.was_interrupted():
        return INTERRUPTED
    sys.stderr.write(f"bitfold: {format_error(error)}\n")
    if isinstance(error, OSError) and error.filename == "stdout":
        _streams.discard_output()
    return choose_exit_code(error)


def choose_exit_code(error: Exception) -> int:
    """Return the exit code of an error; errors of the argument parser have their own."""
    if hasattr(error, "exit_code"):
        return int(error.exit_code)
    return next(code for code, _, classes in EXIT_CODES if isinstance(error, classes))


def describe_exit_codes() -> str:
    """Return the meaning of all exit codes in one sentence, for the help text."""
    meanings = sorted((code, meaning) for code, meaning, _ in EXIT_CODES)
    listed = "; ".join(f"{code}: {meaning}" for code, meaning in meanings)
    return f"Exit codes: 0: success; {listed}; {INTERRUPTED}: Ctrl-C."


def format_error(error: Exception) -> str:
    """Return the message of an error as one line that ends with a period."""
    if isinstance(error, OSError) and error.strerror:
        file = f"{error.filename}: " if error.filename else ""
        return f"{file}{error.strerror}."
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    line = " ".join(text.split()) or type(error).__name__
    return line if line.endswith((".", "!", "?")) else f"{line}."
