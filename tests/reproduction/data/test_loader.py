"""The data of the experiments: what is right without labels, what is there, what is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from reproduction.data import DATA, UNLABELED, Loader, at_hand
from reproduction.records import Case

from bitfold import datasets
from bitfold.datasets import Dataset

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 8)).astype(np.float32)


@pytest.mark.parametrize("name", UNLABELED)
def test_the_nearest_rows_are_right_even_where_labels_are_known(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def labeled(n_queries: int, progress: object = None) -> Dataset:
        y = np.zeros(len(X), int)
        return Dataset(X[n_queries:], X[:n_queries], y[n_queries:], y[:n_queries])

    monkeypatch.setitem(DATA, name, labeled)
    data = Loader()(Case(name, "ITQ", 8, queries=50))
    assert data.labels is None
    ids = [answered.items for answered in data.relevance.blocks(1)]
    np.testing.assert_array_equal(np.sort(ids[0]), np.sort(data.closest()[0]))


def test_the_last_data_set_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []

    def counted(n_queries: int) -> Dataset:
        loaded.append(n_queries)
        return datasets.digits(n_queries)

    monkeypatch.setitem(DATA, "digits", counted)
    load = Loader()
    first = load(Case("digits", "ITQ", 8, queries=30))
    assert load(Case("digits", "SH", 16, 3, queries=30)) is first
    part = load(Case("digits", "SH", 16, queries=30, rows=100))
    assert len(part.database) == len(part.train) == 100
    np.testing.assert_array_equal(part.database, first.database[:100])
    assert loaded == [30, 30]


def test_rows_and_queries_of_a_file_are_drawn_from_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.arange(1000.0)[:, None] * np.ones(3))
    np.save(tmp_path / "y.npy", np.arange(1000))
    case = Case(str(path), "ITQ", 2, queries=100, rows=200, labels=str(tmp_path / "y.npy"))
    data = Loader()(case)
    rows, asked = data.database[:, 0], data.queries[:, 0]
    assert (len(rows), len(asked)) == (200, 100)
    assert not set(rows) & set(asked)
    assert min(rows) < 50 < 950 < max(rows)
    np.testing.assert_array_equal(data.labels, rows)
    np.testing.assert_array_equal(data.query_labels, asked)
    with pytest.raises(
        ValueError, match=r"queries must be fewer than the 1000 rows of .*, got 1000"
    ):
        Loader()(Case(str(path), "ITQ", 2, queries=1000))
    np.save(tmp_path / "y.npy", np.arange(999))
    with pytest.raises(ValueError, match=r"labels must be one for each of 1000 rows, got shape"):
        Loader()(case)


def test_what_not_everybody_has_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("BITFOLD_CACHE", str(tmp_path / "cache"))
    names = ("sift_photos", "sift1m", "gist1m")
    assert [at_hand(name) for name in names] == [False] * 3
    assert at_hand("mnist")  # it can be downloaded
    for place in ("data/sift/base.npy.xz", "cache/sift1m/sift_base.fvecs", "data/gist.tar.gz"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    assert [at_hand(name) for name in names] == [True] * 3
