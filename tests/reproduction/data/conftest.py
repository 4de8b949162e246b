"""Folders for data and cache."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def copy_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where the JPEG copy of CIFAR-10 belongs, in an empty folder."""
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("BITFOLD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BITFOLD_OFFLINE", "1")
    (tmp_path / "data" / "cifar10").mkdir(parents=True)
    return tmp_path / "data" / "cifar10" / "cifar10-jpeg.npz"
