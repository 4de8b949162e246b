"""Run doctests in temporary folders, because some save files, and without downloads."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("BITFOLD_OFFLINE", "1")


@pytest.fixture(autouse=True)
def _own_folder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)
