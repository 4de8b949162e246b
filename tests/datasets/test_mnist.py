"""MNIST: idx files, and the split of the paper."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bitfold import datasets, metrics
from bitfold.datasets.mnist import FILES, read_idx
from bitfold.errors import FormatError, MissingDataError


def test_idx_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"\x00\x00\x08\x02\0\0\0\x02\0\0\0\x03abcdef"))
    assert read_idx(path).tobytes() == b"abcdef"
    assert read_idx(path).shape == (2, 3)


@pytest.mark.parametrize(
    "content", [b"", b"\0\0\x08\x01", b"\0\0\x08\x01\0\0\0\x05abc", b"\0\0\x08\x02\0\0\0\x05"]
)
def test_other_content_is_rejected(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    for damaged in (gzip.compress(content), content, gzip.compress(content)[:-9]):
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match=r"x\.gz .* a gzipped idx file"):
            read_idx(path)


def write_idx(path: Path, array: NDArray[np.uint8]) -> None:
    sizes = np.array(array.shape, ">u4").tobytes()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()))


def test_training_and_test_images_are_pooled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path))
    images = np.random.default_rng(0).integers(0, 256, (30, 28, 28)).astype(np.uint8)
    labels = np.arange(30, dtype=np.uint8)
    parts = (images[:20], images[20:], labels[:20], labels[20:])
    for file, part in zip(FILES, parts, strict=True):
        write_idx(tmp_path / "mnist" / file.name, part)
    data, split = datasets.mnist(5, 1), datasets.images("mnist", 5, 1)
    assert np.array_equal(data.database, images[data.labels].reshape(25, -1))
    assert np.array_equal(split.queries, images[data.query_labels])


def test_split_of_the_paper() -> None:
    try:
        data = datasets.mnist()
    except MissingDataError as error:
        pytest.skip(f"needs real data: {error}")
    assert data.database.shape == (69000, 784)
    assert data.queries.shape == (1000, 784)
    counts = np.bincount(np.concatenate([data.labels, data.query_labels]))
    assert counts.tolist() == [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]
    assert isinstance(data.relevance, metrics.Relevance)
