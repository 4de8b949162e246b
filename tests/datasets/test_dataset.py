"""Dataset: its checks, its split, and the right answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest

from bitfold import datasets
from bitfold.datasets import Dataset, dataset, draw_queries, split_dataset
from bitfold.errors import DataError, MissingDataError, ParameterError

RNG = np.random.default_rng(0)
X, Q = RNG.integers(0, 256, (60, 4)).astype(np.uint8), RNG.random((5, 4)).astype(np.float32)


def test_all_lists_the_public_names() -> None:
    names = {
        name
        for name, value in vars(datasets).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert datasets.__all__ == sorted(names)


def test_dataset_of_own_vectors() -> None:
    data = Dataset(X, Q, np.arange(60) % 3, np.arange(5) % 3)
    assert data.train is X
    assert data.neighbors is None
    assert repr(Dataset(X, Q, name="mine")) == "Dataset(mine: 60 x 4, 5 queries)"
    assert Dataset(X, Q, train=X[:9]).train.shape == (9, 4)
    with pytest.raises(AttributeError):
        data.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"queries": Q[:, :3]}, r"queries .* 4 features.*\(5, 3\)"),
        ({"train": X[:, :3]}, r"train .* 4 features.*\(60, 3\)"),
        ({"labels": [1], "query_labels": [1] * 5}, r"labels .* 60 rows.* 1\b"),
        ({"labels": [1] * 60, "query_labels": [1]}, r"query_labels .* 5 rows.* 1\b"),
        ({"labels": [1] * 60}, "labels and query_labels, or neither"),
        ({"neighbors": np.zeros((4, 2), int)}, r"neighbors .* 5 rows.* 4\b"),
    ],
)
def test_parts_that_do_not_match_are_rejected(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Dataset(**cast(dict[str, Any], {"database": X, "queries": Q} | wrong))


def test_relevance_by_labels() -> None:
    data = Dataset(X, Q, np.arange(60) % 3, np.arange(5) % 3)
    relevance = data.relevance
    assert relevance.items(int(relevance.group_of[4])).tolist() == list(range(1, 60, 3))
    assert data.relevance is relevance


def test_relevance_by_distance() -> None:
    data = Dataset(X, Q)
    distances = ((Q[:, None].astype(float) - X) ** 2).sum(axis=2)
    nearest = np.argsort(distances, axis=1, kind="stable")
    assert data.closest(0.1).tolist() == nearest[:, :6].tolist()
    # Two percent of 60 rows is one row.
    assert [data.relevance.items(q).tolist() for q in range(5)] == nearest[:, :1].tolist()


def test_closest_rows_of_large_data_are_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "_QUERIES_PER_BLOCK", 2)
    expected = Dataset(X, Q).closest(0.1)
    folder = tmp_path / "cache" / "neighbors"
    assert not folder.exists()
    monkeypatch.setattr(dataset, "_MIN_CACHED_PAIRS", 0)
    reports: list[tuple[str, int, int]] = []
    first = Dataset(X, Q).closest(0.1, progress=lambda *x: reports.append(x))
    assert np.array_equal(first, expected)
    assert isinstance(first, np.memmap)
    assert reports == [("neighbors", done, 5) for done in (2, 4, 5)]
    reports.clear()
    assert np.array_equal(Dataset(X, Q).closest(0.1, progress=lambda *x: reports.append(x)), first)
    assert reports == []
    # Other vectors, or another fraction, have their own file.
    changed = X.copy()
    changed[7, 2] ^= 255
    assert not np.array_equal(Dataset(changed, Q).closest(0.5), Dataset(X, Q).closest(0.5))
    assert len(list(folder.iterdir())) == 3


def test_damaged_cache_file_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "_MIN_CACHED_PAIRS", 0)
    expected = np.array(Dataset(X, Q).closest(0.1))
    (cached,) = (tmp_path / "cache" / "neighbors").iterdir()
    for content in (b"", cached.read_bytes()[:-1]):
        cached.write_bytes(content)
        assert np.array_equal(Dataset(X, Q).closest(0.1), expected)


def test_queries_are_drawn_by_seed() -> None:
    split = draw_queries(100, 30, seed=1)
    assert len(split.queries) == 30
    assert sorted(np.concatenate(split).tolist()) == list(range(100))
    assert np.array_equal(split.queries, draw_queries(100, 30, seed=1).queries)
    assert not np.array_equal(split.queries, draw_queries(100, 30, seed=2).queries)


@pytest.mark.parametrize("n_queries", [0, 60, 2.5])
def test_impossible_split_is_rejected(n_queries: Any) -> None:
    with pytest.raises(ParameterError, match="n_queries of mine") as caught:
        split_dataset(X, np.arange(60), n_queries, name="mine")
    assert str(n_queries) in str(caught.value.value)


def test_missing_data_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path))
    loaders: dict[str, Callable[[], Dataset]] = {
        "mnist/train-images-idx3-ubyte.gz": datasets.mnist,
        "cifar10/cifar-10-binary.tar.gz": datasets.cifar10,
        "sift/sift.tar.gz": datasets.sift1m,
        "gist/gist.tar.gz": datasets.gist1m,
        "ann-benchmarks/a-2-euclidean.hdf5": lambda: datasets.ann_benchmarks("a-2-euclidean"),
    }
    for file, load in loaders.items():
        with pytest.raises(MissingDataError, match=f"{file}.*BITFOLD_DATA"):
            load()
