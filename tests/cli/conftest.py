"""Run the command as a user does: as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Bitfold = Callable[..., "subprocess.CompletedProcess[str]"]

COLOURFUL = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR", "COLUMNS")


def environment() -> dict[str, str]:
    """Return the environment without what would colour, or widen, a pipe."""
    return {name: value for name, value in os.environ.items() if name not in COLOURFUL}


@pytest.fixture(scope="session")
def command() -> list[str]:
    return [str(Path(sys.executable).with_name("bitfold"))]


@pytest.fixture(scope="session")
def bitfold(command: list[str]) -> Bitfold:
    def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=environment(),
            timeout=120,
            check=False,
        )

    return run
