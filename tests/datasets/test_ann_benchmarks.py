"""HDF5 files of ann-benchmarks, in miniature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import bitfold as bf
from bitfold import datasets, metrics
from bitfold.errors import FormatError, ParameterError

RNG = np.random.default_rng(0)
BASE, QUERIES = (RNG.standard_normal((n, 16)).astype(np.float32) for n in (50, 9))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BITFOLD_DATA", str(tmp_path / "data"))
    (tmp_path / "data" / "ann-benchmarks").mkdir(parents=True)
    return tmp_path / "data" / "ann-benchmarks"


def write(path: Path, distance: str, base: Any, queries: Any, kind: str = "dense") -> Any:
    """Write a file and return the neighbors in it."""
    sides = [np.asarray(side, np.float64) for side in (base, queries)]
    if distance == "angular":
        sides = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides]
    neighbors = metrics.closest_neighbors(*sides, k=10)
    with h5py.File(path, "w") as file:
        file.attrs["distance"], file.attrs["type"] = distance, kind
        file.attrs["point_type"] = "bit" if distance == "hamming" else "float"
        file["train"], file["test"], file["neighbors"] = base, queries, neighbors
        file["distances"] = np.zeros((len(queries), 10), np.float32)
    return neighbors


def test_euclidean_vectors_are_mapped(folder: Path) -> None:
    neighbors = write(folder / "a-16-euclidean.hdf5", "euclidean", BASE, QUERIES)
    data = datasets.ann_benchmarks("a-16-euclidean", 4)
    assert data.name == "a-16-euclidean"
    assert isinstance(data.database, np.memmap)
    assert np.array_equal(data.database, BASE)
    assert np.array_equal(data.queries, QUERIES[:4])
    assert data.neighbors is not None
    assert np.array_equal(data.neighbors, neighbors[:4])
    assert data.labels is None


def test_angular_vectors_are_scaled_to_unit_length(folder: Path) -> None:
    lengths = RNG.uniform(0.1, 50, (50, 1))
    neighbors = write(folder / "a-angular.hdf5", "angular", BASE * lengths, QUERIES)
    assert not np.array_equal(metrics.closest_neighbors(BASE * lengths, QUERIES, k=10), neighbors)
    data = datasets.ann_benchmarks("a-angular")
    assert np.allclose(np.linalg.norm(data.database, axis=1), 1, atol=1e-6)
    found = metrics.closest_neighbors(data.database, data.queries, k=10)
    assert np.array_equal(found, neighbors)
    assert isinstance(data.database, np.memmap)


def test_zero_vector_stays_zero(folder: Path) -> None:
    base = BASE.copy()
    write(folder / "a-angular.hdf5", "angular", base, QUERIES)
    with h5py.File(folder / "a-angular.hdf5", "a") as file:
        file["train"][3] = 0
    assert not datasets.ann_benchmarks("a-angular").database[3].any()


def test_hamming_vectors_are_bits(folder: Path) -> None:
    base, queries = BASE > 0, QUERIES > 0
    write(folder / "a-16-hamming.hdf5", "hamming", base, queries)
    data = datasets.ann_benchmarks("a-16-hamming")
    assert data.database.dtype == np.uint8
    codes = bf.Codes.from_bits(data.database)
    assert codes.n_bits == 16
    assert np.array_equal(codes.unpack(), base)
    assert np.array_equal(data.queries, queries)
    assert data.neighbors is not None
    assert np.array_equal(data.closest(0.2), data.neighbors)


def test_invalid_files_are_rejected(folder: Path) -> None:
    write(folder / "a.hdf5", "jaccard", BASE, QUERIES, "sparse")
    with pytest.raises(FormatError, match=r"sparse .* jaccard distance"):
        datasets.ann_benchmarks("a")
    write(folder / "a.hdf5", "euclidean", BASE, QUERIES, "sparse")
    with pytest.raises(FormatError, match=r"sparse .* euclidean distance"):
        datasets.ann_benchmarks("a")
    write(folder / "b.hdf5", "hamming", BASE, QUERIES)
    with pytest.raises(FormatError, match=r"bits.*float32"):
        datasets.ann_benchmarks("b")
    write(folder / "c.hdf5", "euclidean", BASE, QUERIES)
    with h5py.File(folder / "c.hdf5", "a") as file:
        file["neighbors"][0, 0] = 50
    with pytest.raises(FormatError, match="ids below 50"):
        datasets.ann_benchmarks("c")
    with h5py.File(folder / "c.hdf5", "a") as file:
        del file["test"]
    with pytest.raises(FormatError, match="an HDF5 file of ann-benchmarks"):
        datasets.ann_benchmarks("c")
    with h5py.File(folder / "c.hdf5", "a") as file:
        file["test"], file["neighbors"][0, 0] = QUERIES[:, :5], 0
    with pytest.raises(FormatError, match="do not match"):
        datasets.ann_benchmarks("c")
    (folder / "d.hdf5").write_bytes(b"hello")
    with pytest.raises(FormatError, match="an HDF5 file of ann-benchmarks"):
        datasets.ann_benchmarks("d")


@pytest.mark.parametrize("name", ["", "../a", "a/b", "a\n", ".a"])
def test_invalid_name_is_rejected(name: str) -> None:
    with pytest.raises(ParameterError, match="name of ann_benchmarks"):
        datasets.ann_benchmarks(name)
