"""What a data set is, which answers are right, and the small loaders."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from bitfold import datasets, metrics
from bitfold.datasets import Dataset, _base
from bitfold.datasets.mnist import FILES, read_idx
from bitfold.errors import MissingDataError
from bitfold.errors import FormatError

RNG = np.random.default_rng(0)
X, Q = RNG.integers(0, 256, (60, 4)).astype(np.uint8), RNG.random((5, 4)).astype(np.float32)


def test_all_is_what_is_public() -> None:
    names = {
        name
        for name, value in vars(datasets).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert datasets.__all__ == sorted(names)


def test_digits_are_split() -> None:
    data = datasets.digits(n_queries=100, seed=3)
    assert data.database.shape == (1697, 64)
    assert data.queries.shape == (100, 64)
    assert len(np.unique(data.labels)) == 10
    again = datasets.digits(n_queries=100, seed=3)
    assert np.array_equal(data.queries, again.queries)
    both = np.concatenate([data.database, data.queries])
    assert len(np.unique(both, axis=0)) == 1797


def test_a_data_set_of_one_s_own() -> None:
    data = Dataset(X, Q, np.arange(60) % 3, np.arange(5) % 3)
    assert data.train is X
    assert data.neighbors is None
    assert repr(Dataset(X, Q, name="mine")) == "Dataset(mine: 60 x 4, 5 queries)"
    assert Dataset(X, Q, train=X[:9]).train.shape == (9, 4)
    with pytest.raises(AttributeError):
        data.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"queries": Q[:, :3]}, r"queries of Dataset must be rows of 4 features, got shape \(5, 3"),
        ({"train": X[:, :3]}, "train of Dataset must be rows of 4 features"),
        ({"labels": [1], "query_labels": [1] * 5}, "labels .* one for each of 60 rows, got 1"),
        ({"labels": [1] * 60, "query_labels": [1]}, "query_labels .* one for each of 5 rows"),
        ({"labels": [1] * 60}, "labels of Dataset must be given for both sides or neither"),
        ({"neighbors": np.zeros((4, 2), int)}, "neighbors .* one for each of 5 rows, got 4"),
    ],
)
def test_parts_that_do_not_fit_are_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Dataset(**cast(dict[str, Any], {"database": X, "queries": Q} | wrong))


def test_relevance_is_by_labels_where_there_are_any() -> None:
    data = Dataset(X, Q, np.arange(60) % 3, np.arange(5) % 3)
    relevance = data.relevance
    assert relevance.items(int(relevance.group_of[4])).tolist() == list(range(1, 60, 3))
    assert data.relevance is relevance


def test_relevance_is_else_by_the_closest() -> None:
    data = Dataset(X, Q)
    distances = ((Q[:, None].astype(float) - X) ** 2).sum(axis=2)
    nearest = np.argsort(distances, axis=1, kind="stable")
    assert data.closest(0.1).tolist() == nearest[:, :6].tolist()
    # Two percent of 60 rows is one.
    assert [data.relevance.items(q).tolist() for q in range(5)] == nearest[:, :1].tolist()


def test_the_closest_of_many_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_base, "_QUERIES", 2)
    expected = Dataset(X, Q).closest(0.1)
    folder = tmp_path / "cache" / "neighbors"
    assert not folder.exists()
    monkeypatch.setattr(_base, "_WORTH_KEEPING", 0)
    reports: list[tuple[str, int, int]] = []
    first = Dataset(X, Q).closest(0.1, progress=lambda *x: reports.append(x))
    assert np.array_equal(first, expected)
    assert isinstance(first, np.memmap)
    assert reports == [("neighbors", done, 5) for done in (2, 4, 5)]
    reports.clear()
    assert np.array_equal(Dataset(X, Q).closest(0.1, progress=lambda *x: reports.append(x)), first)
    assert reports == []
    # Other vectors or another share are other neighbors.
    changed = X.copy()
    changed[7, 2] ^= 255
    assert not np.array_equal(Dataset(changed, Q).closest(0.5), Dataset(X, Q).closest(0.5))
    assert len(list(folder.iterdir())) == 3


def test_damaged_files_of_the_cache_are_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_base, "_WORTH_KEEPING", 0)
    expected = np.array(Dataset(X, Q).closest(0.1))
    (kept,) = (tmp_path / "cache" / "neighbors").iterdir()
    for content in (b"", kept.read_bytes()[:-1]):
        kept.write_bytes(content)
        assert np.array_equal(Dataset(X, Q).closest(0.1), expected)


@pytest.mark.parametrize("n_queries", [0, 1797, 2.5])
def test_a_split_that_cannot_be(n_queries: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="n_queries of digits must be"):
        datasets.digits(n_queries)


def test_pictures_are_in_the_order_of_the_vectors() -> None:
    data, pictures = datasets.digits(50, 7), datasets.images("digits", 50, 7)
    assert pictures.database.dtype == np.uint8
    for vectors, images in ((data.database, pictures.database), (data.queries, pictures.queries)):
        assert np.array_equal(np.round(images.reshape(len(images), -1) / 255 * 16), vectors)
    with pytest.raises(ValueError, match="name of pictures must be one of 'cifar10', 'digits'"):
        datasets.images("x")


def test_missing_data_say_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path))
    loaders: dict[str, Callable[[], Dataset]] = {
        "mnist/train-images-idx3-ubyte.gz": datasets.mnist,
        "cifar10/cifar-10-binary.tar.gz": datasets.cifar10,
        "sift/sift.tar.gz": datasets.sift1m,
        "gist/gist.tar.gz": datasets.gist1m,
        "sift/base.npy.xz": datasets.sift_photos,
    }
    for file, load in loaders.items():
        with pytest.raises(
            MissingDataError, match=f"needs {file}, which is neither below"
        ):
            load()
    with pytest.raises(
        MissingDataError, match=r"ann-benchmarks/a-2-euclidean\.hdf5, which"
    ):
        datasets.ann_benchmarks("a-2-euclidean")


@pytest.mark.parametrize(
    "content", [b"", b"\0\0\x08\x01", b"\0\0\x08\x01\0\0\0\x05abc", b"\0\0\x08\x02\0\0\0\x05"]
)
def test_what_is_no_idx_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    for damaged in (gzip.compress(content), content, gzip.compress(content)[:-9]):
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match="must be an idx file of bytes"):
            read_idx(path)


def test_an_idx_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"\x00\x00\x08\x02\0\0\0\x02\0\0\0\x03abcdef"))
    assert read_idx(path).tobytes() == b"abcdef"
    assert read_idx(path).shape == (2, 3)


def write_idx(path: Path, array: NDArray[np.uint8]) -> None:
    sizes = np.array(array.shape, ">u4").tobytes()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()))


def test_mnist_s_parts_are_pooled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path))
    images = RNG.integers(0, 256, (30, 28, 28)).astype(np.uint8)
    labels = np.arange(30, dtype=np.uint8)
    parts = (images[:20], images[20:], labels[:20], labels[20:])
    for file, part in zip(FILES, parts, strict=True):
        write_idx(tmp_path / "mnist" / file.name, part)
    data, pictures = datasets.mnist(5, 1), datasets.images("mnist", 5, 1)
    assert np.array_equal(data.database, images[data.labels].reshape(25, -1))
    assert np.array_equal(pictures.queries, images[data.query_labels])


def test_sift_photos_are_decompressed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path))
    (tmp_path / "sift").mkdir()
    packed = tmp_path / "sift" / "base.npy.xz"
    np.save(tmp_path / "sift" / "query.npy", X[:3])
    np.save(tmp_path / "base.npy", X)
    packed.write_bytes(lzma.compress((tmp_path / "base.npy").read_bytes()))
    data = datasets.sift_photos(2)
    assert np.array_equal(data.database, X)
    assert isinstance(data.database, np.memmap)
    assert np.array_equal(data.queries, X[:2])
    assert data.labels is None
    monkeypatch.setattr(lzma, "open", None)
    assert np.array_equal(datasets.sift_photos().database, X)
    monkeypatch.undo()
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path))
    monkeypatch.setenv("BITFOLD_CACHE", str(tmp_path / "cache"))
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(FormatError, match=r"base\.npy\.xz must be an \.xz file"):
        datasets.sift_photos()
    with pytest.raises(ValueError, match="n_queries of SIFT-1M-photos must be at most 3, got 4"):
        datasets.sift_photos(4)


def test_mnist_in_the_paper_s_split() -> None:
    try:
        data = datasets.mnist()
    except MissingDataError as error:
        pytest.skip(f"needs real data: {error}")
    assert data.database.shape == (69000, 784)
    assert data.queries.shape == (1000, 784)
    counts = np.bincount(np.concatenate([data.labels, data.query_labels]))
    assert counts.tolist() == [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]
    assert isinstance(data.relevance, metrics.Relevance)
