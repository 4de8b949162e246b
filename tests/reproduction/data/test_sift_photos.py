"""SIFT-1M-photos in miniature."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pytest
from reproduction.data.sift_photos import load_sift_photos

from bitfold.errors import FormatError, MissingDataError, ParameterError

X = np.random.default_rng(0).integers(0, 256, (60, 4)).astype(np.uint8)


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path))
    monkeypatch.setenv("BITFOLD_CACHE", str(tmp_path / "cache"))
    (tmp_path / "sift").mkdir()
    np.save(tmp_path / "sift" / "query.npy", X[:3])
    np.save(tmp_path / "base.npy", X)
    path = tmp_path / "sift" / "base.npy.xz"
    path.write_bytes(lzma.compress((tmp_path / "base.npy").read_bytes()))
    return path


@pytest.mark.usefixtures("base")
def test_base_is_decompressed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    data = load_sift_photos(2)
    assert np.array_equal(data.database, X)
    assert isinstance(data.database, np.memmap)
    assert np.array_equal(data.queries, X[:2])
    assert data.labels is None
    monkeypatch.setattr(lzma, "open", None)
    assert np.array_equal(load_sift_photos().database, X)


def test_damaged_base_is_rejected(base: Path) -> None:
    base.write_bytes(base.read_bytes()[:-20])
    with pytest.raises(FormatError, match=r"base\.npy\.xz"):
        load_sift_photos()


def test_missing_base_is_reported(base: Path) -> None:
    base.unlink()
    with pytest.raises(MissingDataError, match=r"sift/base\.npy\.xz"):
        load_sift_photos()


@pytest.mark.usefixtures("base")
def test_too_many_queries_are_rejected() -> None:
    with pytest.raises(ParameterError, match=r"n_queries of load_sift_photos .*3, got 4"):
        load_sift_photos(4)
