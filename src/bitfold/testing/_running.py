"""Runs the checks of a contract, and names the one that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def run_checks(checks: Iterable[Callable[[T], None]], subject: T) -> None:
    """Call each check with the subject; the error of the first that fails names the check."""
    for check in checks:
        try:
            check(subject)
        except Exception as error:
            reason = str(error) or type(error).__name__
            raise AssertionError(f"{check.__name__} failed: {reason}") from error
