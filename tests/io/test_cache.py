"""The cache folder and the arrays in it."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bitfold.io.cache import cache_root, cache_rows, hash_arrays, hash_files, make_cache_folder

X = np.arange(10.0)


def test_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_cache_folder("a/b") == tmp_path / "cache" / "a" / "b"
    assert (tmp_path / "cache" / "a" / "b").is_dir()
    monkeypatch.delenv("BITFOLD_CACHE")
    assert cache_root() == Path.home() / ".cache" / "bitfold"


def test_unwritable_cache_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("BITFOLD_CACHE", str(tmp_path / "file"))
    with pytest.raises(OSError, match="Set BITFOLD_CACHE to a writable folder"):
        make_cache_folder("a")


def test_hash_depends_on_content_type_and_shape() -> None:
    arrays = [X, X + 1, X.astype(np.float32), X.reshape(2, 5)]
    assert len({hash_arrays(array) for array in arrays}) == 4
    assert hash_arrays(X) == hash_arrays(X.copy()) == hash_arrays(np.repeat(X, 2)[::2])
    assert hash_arrays(X, X[:0]) != hash_arrays(X)


def test_hash_does_not_depend_on_file_names(tmp_path: Path) -> None:
    for name, content in (("a", b"1"), ("b", b"1"), ("c", b"2")):
        (tmp_path / name).write_bytes(content)
    first, second, third = (hash_files([tmp_path / name]) for name in "abc")
    assert first == second != third


def test_rows_are_computed_once(tmp_path: Path) -> None:
    computed: list[slice] = []

    def compute(rows: slice) -> NDArray[Any]:
        computed.append(rows)
        return X[rows]

    def load(dtype: str = "f8", shape: tuple[int, ...] = (10,)) -> NDArray[Any]:
        return cache_rows(tmp_path / "x.npy", shape, dtype, compute, step=4, stage="x")

    array = load()
    assert isinstance(array, np.memmap)
    assert np.array_equal(array, X)
    assert np.array_equal(load(), X)
    assert computed == [slice(0, 4), slice(4, 8), slice(8, 10)]
    # Another type, another shape or a damaged file is replaced.
    assert load("f4").dtype == np.float32
    assert load("f4", (8,)).shape == (8,)
    (tmp_path / "x.npy").write_bytes(b"junk")
    assert np.array_equal(load(), X)


def test_second_caller_waits_for_the_first(tmp_path: Path) -> None:
    computed: list[slice] = []
    first_started, second_started = Event(), Event()

    def compute(rows: slice) -> NDArray[Any]:
        first_started.set()
        assert second_started.wait(10)
        time.sleep(0.1)  # time for the second caller to compute, too
        computed.append(rows)
        return X[rows]

    def load() -> NDArray[Any]:
        return cache_rows(tmp_path / "x.npy", (10,), "f8", compute, step=10, stage="x")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(load)
        assert first_started.wait(10)
        second = pool.submit(load)
        second_started.set()
        assert np.array_equal(first.result(), second.result())
    assert computed == [slice(0, 10)]
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_progress_is_reported(tmp_path: Path) -> None:
    reports: list[tuple[str, int, int]] = []
    cache_rows(
        tmp_path / "x.npy",
        (10,),
        "f8",
        X.__getitem__,
        step=6,
        stage="work",
        progress=lambda *report: reports.append(report),
    )
    assert reports == [("work", 6, 10), ("work", 10, 10)]


def test_failure_leaves_no_file(tmp_path: Path) -> None:
    def fail(rows: slice) -> NDArray[Any]:
        raise RuntimeError("failed")

    with pytest.raises(RuntimeError, match="failed"):
        cache_rows(tmp_path / "x.npy", (10,), "f8", fail, step=4, stage="x")
    assert not (tmp_path / "x.npy").exists()
