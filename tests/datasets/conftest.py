"""Keep tests away from the network and from the user's cache."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _separate_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITFOLD_OFFLINE", "1")
    monkeypatch.setenv("BITFOLD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
