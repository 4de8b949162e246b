"""Every hasher learns the same model and codes from arrays, files and streams of blocks."""

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
from tests.testing.test_hashers import HASHERS, hasher_id
from threadpoolctl import threadpool_limits

from bitfold.hashers import Hasher
from bitfold.io import open_vectors, rows, stream

DIGITS, LABELS = load_digits(return_X_y=True)
PASSES = {"LSH": 2, "PCAH": 3, "ITQ": 3, "KSH": 4}
"""Maximum number of passes over the vectors of ``fit`` and ``encode`` together."""

X, Y = DIGITS[:700].astype(np.float32), LABELS[:700]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use blocks of 64 rows and hold few of them, so that 700 rows fill several blocks."""
    monkeypatch.setattr(rows, "BLOCK_BYTES", 1)
    monkeypatch.setattr(stream, "_MAX_BLOCK_BYTES", 1)
    with threadpool_limits(1):
        yield


class UnevenBlocks:
    """An iterable of blocks of different lengths, some of them empty, that counts its passes."""

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


@pytest.mark.parametrize("hasher", HASHERS, ids=hasher_id)
def test_same_model_and_codes_from_every_source(
    hasher: Hasher, files: Path, tmp_path: Path
) -> None:
    expected = clone(hasher).fit(X, Y)
    expected.save(tmp_path / "expected")
    codes = expected.encode(X)
    blocks = UnevenBlocks()
    for source in (*map(open_vectors, sorted(files.iterdir())), blocks, lambda: UnevenBlocks()):
        ours = clone(hasher).fit(source, Y)
        ours.save(tmp_path / "ours")
        assert (tmp_path / "ours").read_bytes() == (tmp_path / "expected").read_bytes()
        assert ours.encode(source) == codes
    assert expected.encode(iter(UnevenBlocks())) == codes
    assert blocks.n_passes <= PASSES.get(type(hasher).__name__, 99)
