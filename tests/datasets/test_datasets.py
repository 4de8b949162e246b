"""Where data sets are looked for, and what they hold."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from bitfold import datasets
from bitfold.datasets.mnist import read_idx


def test_digits_are_split() -> None:
    data = datasets.digits(n_queries=100, seed=3)
    assert data.database.shape == (1697, 64)
    assert data.queries.shape == (100, 64)
    assert len(np.unique(data.labels)) == 10
    again = datasets.digits(n_queries=100, seed=3)
    assert np.array_equal(data.queries, again.queries)


def test_missing_data_say_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("BITFOLD_DATA", raising=False)
    with pytest.raises(datasets.MissingData, match="set BITFOLD_DATA to a folder with mnist/"):
        datasets.mnist()
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path))
    with pytest.raises(datasets.MissingData, match=r"cifar10-jpeg\.npz does not exist"):
        datasets.cifar10()


@pytest.mark.parametrize("content", [b"", b"\x00\x00\x08\x01", b"\x00\x00\x08\x01\0\0\0\x05abc"])
def test_what_is_no_idx_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(content))
    with pytest.raises(ValueError, match="must be an idx file of bytes"):
        read_idx(path)


def test_an_idx_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"\x00\x00\x08\x02\0\0\0\x02\0\0\0\x03abcdef"))
    assert read_idx(path).tobytes() == b"abcdef"
    assert read_idx(path).shape == (2, 3)


def test_mnist_in_the_paper_s_split() -> None:
    try:
        data = datasets.mnist()
    except datasets.MissingData as error:
        pytest.skip(f"needs real data: {error}")
    assert data.database.shape == (69000, 784)
    assert data.queries.shape == (1000, 784)
    counts = np.bincount(np.concatenate([data.labels, data.query_labels]))
    assert counts.tolist() == [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]
