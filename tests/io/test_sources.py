"""Sources: vectors in all forms are opened without being loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import zarr
from numpy.typing import NDArray
from pyarrow import dataset, parquet
from scipy import sparse

from bitfold.errors import DataError, ParameterError, ParameterTypeError
from bitfold.hashers import LSH
from bitfold.io import Stream, check_source, iter_blocks, open_source

X = np.random.default_rng(0).integers(0, 200, (500, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def hasher() -> LSH:
    return LSH(16, random_state=0).fit(X)


class RepeatableBlocks:
    def __iter__(self) -> Iterator[NDArray[Any]]:
        yield from np.split(X, [7, 7, 100, 101, 390])


def make_sources(folder: Path) -> dict[str, Any]:
    np.save(folder / "x.npy", X)
    file = h5py.File(folder / "x.h5", "w")
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 3)
    table = pa.table({"id": pa.array(range(500)), "v": lists})
    parquet.write_table(table, folder / "x.parquet", row_group_size=70)
    stored = zarr.create_array(folder / "x.zarr", shape=X.shape, chunks=(30, 2), dtype="f4")
    stored[:] = X
    return {
        "memory map": np.load(folder / "x.npy", mmap_mode="r"),
        "chunked hdf5": file.create_dataset("x", data=X, chunks=(33, 3), compression="gzip"),
        "contiguous hdf5": file.create_dataset("y", data=X),
        "zarr": stored,
        "parquet file": parquet.ParquetFile(folder / "x.parquet"),
        "parquet data set": dataset.dataset(folder / "x.parquet"),
        "arrow table": table,
        "dask": da.from_array(X, chunks=(40, 3)),
        "list of blocks": np.split(X, [1, 77]),
        "iterable of blocks": RepeatableBlocks(),
        "function": lambda: (X[i : i + 9] for i in range(0, 500, 9)),
        "stream": Stream.from_blocks(lambda: np.split(X, 5)),
    }


def test_all_forms_give_the_same_rows(tmp_path: Path, hasher: LSH) -> None:
    for name, form in make_sources(tmp_path).items():
        source = open_source(form)
        assert isinstance(source, Stream) == (name != "memory map"), name
        assert source.shape == X.shape, name
        assert np.array_equal(source[:], X), name
        assert LSH(16, random_state=0).fit(form).encode(form) == hasher.encode(X), name


def test_what_numpy_can_convert_is_returned_unchanged() -> None:
    frame = pd.DataFrame(X)
    others = (X, X.tolist(), frame, frame[0], [X[0], X[1]], "text", {"a": 1}, {1, 2}, None, 3)
    for form in (*others, sparse.csr_array(X)):
        assert open_source(form) is form


def test_iterator_can_be_encoded_but_not_fitted(hasher: LSH) -> None:
    assert hasher.encode(iter(np.split(X, [9, 200]))) == hasher.encode(X)
    assert np.array_equal(hasher.embed(block for block in [X]), hasher.embed(X))
    with pytest.raises(ParameterTypeError, match="readable more than once") as caught:
        hasher.fit(iter([X]))
    assert (caught.value.name, caught.value.owner) == ("X", "LSH")


def test_generator_may_reuse_its_array(hasher: LSH) -> None:
    def read_blocks() -> Iterator[NDArray[Any]]:
        block = np.empty((10, 3), np.float32)
        for start in range(0, 500, 10):
            block[:] = X[start : start + 10]
            yield block

    assert hasher.encode(read_blocks()) == hasher.encode(X)
    assert hasher.encode(read_blocks) == hasher.encode(X)


def test_codes_are_yielded_block_by_block_from_any_row(hasher: LSH) -> None:
    many = np.tile(X, (20, 1))
    whole = hasher.encode(many)
    for source in (many, open_source(lambda: [many]), iter([many[:5], many[5:]])):
        blocks = list(hasher.encode_blocks(source, first=4321))
        assert len(blocks) > 1
        packed = np.concatenate([block.packed for block in blocks])
        assert np.array_equal(packed, whole.packed[4321:])
    assert list(hasher.encode_blocks(many, first=len(many))) == []
    with pytest.raises(ParameterError, match=r"first of LSH .*-1"):
        hasher.encode_blocks(many, first=-1)


def with_nan(row: int) -> NDArray[Any]:
    bad = X.copy()
    bad[row, 1] = np.nan
    return bad


INVALID: dict[str, tuple[Callable[[], Any], str]] = {
    "no blocks": (lambda: iter([]), "X of LSH has 0 rows"),
    "no rows": (lambda: iter([X[:0]]), "X of LSH has 0 rows"),
    "widths": (lambda: iter([X, X[:, :2]]), "first has 3 features, another has 2"),
    "vector": (lambda: iter([X[0]]), "Each block .* 2-dimensional"),
    "text": (lambda: iter([X.astype(str)]), "Each block .* numbers"),
    "too few features": (lambda: iter([X[:, :2]]), "X has 2 features, but LSH is expecting 3"),
    "nan": (lambda: iter([X, with_nan(17)]), "X of LSH .* NaN in row 517"),
    "no lists": (lambda: pa.table({"a": pa.array([1])}), "one column of lists, got 0"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_source_is_rejected(name: str, hasher: LSH) -> None:
    make_source, message = INVALID[name]
    with pytest.raises(DataError, match=message):
        hasher.encode(make_source())


def test_check_source_needs_min_rows() -> None:
    with pytest.raises(DataError, match=r"X of T has 1 rows.* 2"):
        check_source(lambda: [X[:1]], "T", min_rows=2)
    assert check_source(lambda: [X[:2]], "T", min_rows=2).shape == (2, 3)


@pytest.mark.parametrize("make_matrix", [lambda: X, lambda: open_source(lambda: np.split(X, 5))])
def test_blocks_can_be_skipped(make_matrix: Callable[[], Any]) -> None:
    blocks = list(iter_blocks(make_matrix(), 100, stride=2, first=50))
    assert [block.start for block in blocks] == [50, 250, 450]
    for start, values in blocks:
        assert np.array_equal(values, X[start : start + 100])
