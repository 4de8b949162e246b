"""Checks of what files say about themselves; files are not trusted."""

from __future__ import annotations

import json
from typing import Any

from bitfold._types import PathLike
from bitfold.errors import FormatError, NewerFormatError


def check_version(path: PathLike, version: Any, known: int) -> None:
    """Raise unless a file has the format version that this version of bitfold reads.

    Parameters
    ----------
    path
        The file that the error names.
    version
        The version that the file states.
    known
        The version that can be read.

    Raises
    ------
    NewerFormatError
        The file was written by a newer version of bitfold.
    FormatError
        The version is not a positive integer.

    Examples
    --------
    >>> check_version("model.bitfold", 2, 1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    bitfold.errors.NewerFormatError: model.bitfold has format version 2; ... Upgrade bitfold.
    """
    if is_count(version) and version > known:
        raise NewerFormatError(
            f"{path} has format version {version}; this version of bitfold reads version {known}. "
            f"Upgrade bitfold."
        )
    if not is_count(version) or version != known:
        raise FormatError(f"{path} is damaged: {version!r:.20} is not a valid format version.")


def is_count(value: object) -> bool:
    """Return whether a JSON value is an integer that can count bytes or items.

    Parameters
    ----------
    value
        A value that came from JSON.

    Returns
    -------
    True for integers from 0 to 2**48 - 1.

    Examples
    --------
    >>> is_count(3), is_count(True), is_count(-1)
    (True, False, False)
    """
    return type(value) is int and 0 <= value < 1 << 48


def parse_json_object(text: str | bytes) -> dict[str, Any] | None:
    """Parse a JSON object from a source that is not trusted.

    Parameters
    ----------
    text
        JSON, or anything else.

    Returns
    -------
    The object, or None if the text is not one.

    Examples
    --------
    >>> parse_json_object('{"a": 1}')
    {'a': 1}
    >>> parse_json_object("[1, 2]") is None
    True
    """
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return tree if isinstance(tree, dict) else None
