"""Run the command as a user does: as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# What would colour a pipe, or widen it.
COLOURFUL = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR", "COLUMNS")


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in COLOURFUL}


@pytest.fixture(scope="session")
def command() -> str:
    """The command that an installation puts beside its Python."""
    return str(Path(sys.executable).with_name("bitfold"))


@pytest.fixture(scope="session")
def bitfold(
    command: str, environment: dict[str, str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``bitfold`` with some arguments, piped."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command, *arguments],
            capture_output=True,
            encoding="utf-8",
            env=environment,
            timeout=120,
            check=False,
        )

    return run
