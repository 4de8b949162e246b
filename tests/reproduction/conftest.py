"""Run the command within this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest
from reproduction.command import main


class Output(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    stdout: str
    stderr: str


RunCommand = Callable[..., Output]


@pytest.fixture
def run_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunCommand:
    """Return a function that runs ``python -m reproduction`` with some arguments."""

    def run(*arguments: str) -> Output:
        monkeypatch.setattr(sys, "argv", ["reproduction", *arguments])
        with pytest.raises(SystemExit) as caught:
            main()
        assert isinstance(caught.value.code, int)
        return Output(caught.value.code, *capsys.readouterr())

    return run
