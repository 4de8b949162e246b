"""Parquet: a column of lists, in a file or a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import parquet

from bitfold.errors import BitfoldError, FormatError
from bitfold.io import Stream, open_vectors, read_vectors

X = np.random.default_rng(0).integers(0, 200, (300, 5)).astype(np.float32)


def write_parquet(path: Path, matrix: NDArray[Any] = X) -> Path:
    lists = pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), matrix.shape[1])
    parquet.write_table(pa.table({"v": lists}), path, row_group_size=70)
    return path


def test_file_is_streamed(tmp_path: Path) -> None:
    stream = open_vectors(write_parquet(tmp_path / "x.parquet"))
    assert isinstance(stream, Stream)
    assert (stream.shape, stream.dtype) == (X.shape, X.dtype)
    assert np.array_equal(stream[33:99], X[33:99])


def test_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    folder = tmp_path / "x.parquet"
    folder.mkdir()
    for number in range(3):
        write_parquet(folder / f"{number}.parquet", X[100 * number : 100 * number + 100])
    assert np.array_equal(read_vectors(folder), X)


def test_lists_of_variable_type_may_have_one_length(tmp_path: Path) -> None:
    column = pa.array([row.tolist() for row in X])
    parquet.write_table(pa.table({"x": column}), tmp_path / "x.parquet")
    assert np.array_equal(read_vectors(tmp_path / "x.parquet"), X)


INVALID_COLUMNS = {
    "lengths": pa.array([[1.0, 2.0], [3.0, 4.0, 5.0, 6.0]]),
    "missing list": pa.array([[1.0, 2.0], None]),
    "missing number": pa.array([[1.0, 2.0], [3.0, None]]),
    "no features": pa.array([[], []], pa.list_(pa.float32())),
    "no rows": pa.array([], pa.list_(pa.float32())),
    "words": pa.array([["a"], ["b"]]),
    "no lists": pa.array([1.0, 2.0]),
}


@pytest.mark.parametrize("name", INVALID_COLUMNS)
def test_invalid_column_is_rejected(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"x": INVALID_COLUMNS[name]}), path)
    with pytest.raises(FormatError) as caught:
        read_vectors(path)
    assert str(caught.value).startswith(str(path))


def test_length_that_changes_between_batches_is_rejected(tmp_path: Path) -> None:
    folder = tmp_path / "x.parquet"
    folder.mkdir()
    for width in (2, 3):
        column = pa.array([[1.0] * width] * 5)
        parquet.write_table(pa.table({"x": column}), folder / f"{width}.parquet")
    with pytest.raises(FormatError, match=r"got lengths \[2, 3\]"):
        read_vectors(folder)


def test_other_content_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"hello")
    with pytest.raises(FormatError, match=r"x\.parquet .* a Parquet file"):
        read_vectors(tmp_path / "x.parquet")


def test_every_damaged_byte_of_the_footer_is_handled(tmp_path: Path) -> None:
    """Found by the fuzzer: a footer may say that there are -1 rows."""
    path = write_parquet(tmp_path / "x.parquet", X[:20])
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for at in range(start, len(content)):
        path.write_bytes(content[:at] + b"\x01" + content[at + 1 :])
        try:
            read_vectors(path)
        except BitfoldError:
            continue
