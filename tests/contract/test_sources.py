"""Every hasher learns and encodes the same, bit for bit, wherever the vectors come from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pytest
import zarr
from numpy.typing import NDArray
from pyarrow import parquet
from sklearn.base import clone
from sklearn.datasets import load_digits
from tests.contract.test_laws import HASHERS, name
from threadpoolctl import threadpool_limits

from bitfold.datasets import open_vectors
from bitfold.hashers import Hasher
from bitfold.io import rows, sources

DIGITS, LABELS = load_digits(return_X_y=True)
PASSES = {"LSH": 2, "PCAH": 3, "ITQ": 3, "KSH": 4}
"""How often fit and encode together may read all vectors: for the mean, for the rest, to encode."""

X, Y = DIGITS[:700].astype(np.float32), LABELS[:700]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Blocks of 64 rows and a short memory of them, so that 700 rows are many."""
    monkeypatch.setattr(rows, "BLOCK_BYTES", 1)
    monkeypatch.setattr(sources, "_LONGEST_BYTES", 1)
    with threadpool_limits(1):
        yield


class Uneven:
    """Blocks of uneven lengths, some of them empty, and how often each pass was begun."""

    def __init__(self) -> None:
        self.n_passes = 0

    def __iter__(self) -> Iterator[NDArray[Any]]:
        self.n_passes += 1
        yield from np.split(X, [0, 1, 130, 130, 555])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    np.save(folder / "x.npy", X)
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("x", data=X, chunks=(90, 64), compression="gzip")
    zarr.create_array(folder / "x.zarr", shape=X.shape, chunks=(110, 40), dtype="f4")[:] = X
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 64)
    parquet.write_table(pa.table({"x": lists}), folder / "x.parquet", row_group_size=150)
    return folder


@pytest.mark.parametrize("hasher", HASHERS, ids=name)
def test_the_same_model_and_codes(hasher: Hasher, files: Path, tmp_path: Path) -> None:
    expected = clone(hasher).fit(X, Y)
    expected.save(tmp_path / "expected")
    codes = expected.encode(X)
    uneven = Uneven()
    for source in (*map(open_vectors, sorted(files.iterdir())), uneven, lambda: Uneven()):
        ours = clone(hasher).fit(source, Y)
        ours.save(tmp_path / "ours")
        assert (tmp_path / "ours").read_bytes() == (tmp_path / "expected").read_bytes()
        assert ours.encode(source) == codes
    assert expected.encode(iter(Uneven())) == codes
    assert uneven.n_passes <= PASSES.get(type(hasher).__name__, 99)
