"""Data sets by name: relevance, availability, and what is kept in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from reproduction.data.loader import LOADERS, UNLABELED, DataLoader, is_available
from reproduction.records import Case

from bitfold import datasets
from bitfold.datasets import Dataset

X = np.random.default_rng(0).standard_normal((300, 8)).astype(np.float32)


@pytest.mark.parametrize("name", UNLABELED)
def test_labels_of_some_data_sets_are_ignored(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(n_queries: int, progress: object = None) -> Dataset:
        y = np.zeros(len(X), int)
        return Dataset(X[n_queries:], X[:n_queries], y[n_queries:], y[:n_queries])

    monkeypatch.setitem(LOADERS, name, load)
    data = DataLoader()(Case(name, "ITQ", 8, n_queries=50))
    assert data.labels is None
    assert data.query_labels is None


def test_last_data_set_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []

    def load(n_queries: int) -> Dataset:
        loaded.append(n_queries)
        return datasets.digits(n_queries)

    monkeypatch.setitem(LOADERS, "digits", load)
    loader = DataLoader()
    first = loader(Case("digits", "ITQ", 8, n_queries=30))
    assert loader(Case("digits", "SH", 16, 3, n_queries=30)) is first
    part = loader(Case("digits", "SH", 16, n_queries=30, n_rows=100))
    assert len(part.database) == len(part.train) == 100
    np.testing.assert_array_equal(part.database, first.database[:100])
    assert loaded == [30, 30]


def test_large_data_sets_must_be_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("BITFOLD_CACHE", str(tmp_path / "cache"))
    names = ("sift_photos", "sift1m", "gist1m", "text")
    assert [is_available(name) for name in names] == [False] * 4
    assert is_available("mnist")  # it can be downloaded
    files = ("data/sift/base.npy.xz", "cache/sift1m/sift_base.fvecs", "data/gist.tar.gz")
    for file in (*files, "data/text/debian.npz"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert [is_available(name) for name in names] == [True] * 4
