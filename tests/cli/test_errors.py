"""Exit codes and messages."""

from __future__ import annotations

import errno

import pytest
import typer

from bitfold import errors
from bitfold.cli._errors import EXIT_CODES, choose_exit_code, describe_exit_codes, format_error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (typer.BadParameter("--bits"), 2),
        (errors.ParameterError("n_bits", "ITQ", "at most 9", 10), 2),
        (errors.ParameterTypeError("n_bits", "ITQ", "an integer", "x"), 2),
        (errors.DataError("NaN"), 3),
        (errors.ModelMismatchError("other"), 3),
        (errors.FormatError("damaged"), 4),
        (errors.NewerFormatError("newer"), 4),
        (FileNotFoundError("x"), 5),
        (errors.MissingDataError("x"), 5),
        (errors.MissingStoreError("x"), 5),
        (errors.DownloadError("x"), 5),
        (FileExistsError("x"), 6),
        (errors.LockedError("x"), 7),
        (errors.StoreError("x"), 8),
        (OSError(errno.ENOSPC, "No space left on device"), 1),
        (ImportError("x"), 1),
    ],
)
def test_exit_code_follows_from_the_class(error: Exception, code: int) -> None:
    assert choose_exit_code(error) == code


def test_description_names_every_code() -> None:
    text = describe_exit_codes()
    for code, meaning, _ in EXIT_CODES:
        assert f"{code}: {meaning}" in text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("x must\n  be 1."), "x must be 1."),
        (MemoryError(), "MemoryError."),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device."),
        (
            PermissionError(errno.EACCES, "Permission denied", "a.csv"),
            "a.csv: Permission denied.",
        ),
    ],
)
def test_message_is_one_line(error: Exception, text: str) -> None:
    assert format_error(error) == text
