"""Run doctests in temporary folders, because some save files, and without downloads."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integrations.frameworks import list_ignored_files

collect_ignore = list_ignored_files()

os.environ.setdefault("BITFOLD_OFFLINE", "1")

COMMAND_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]

# A shell lets its background jobs ignore these signals, which would be inherited by the commands.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def _own_folder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _restore_signals() -> Iterator[None]:
    """Undo what a command changes when it runs in this process: at its end, it ignores signals."""
    before = {number: signal.getsignal(number) for number in COMMAND_SIGNALS}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)
