"""Parquet: vectors as a column of lists, read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bitfold._types import AnyArray
from bitfold.errors import DataError, FormatError
from bitfold.io import arrow
from bitfold.io.formats.request import ReadRequest, import_optional
from bitfold.io.stream import Stream


def open_parquet(request: ReadRequest) -> Stream:
    """Open a column of lists of a file, or of a folder of files."""
    pa = _import_pyarrow()
    expected = "a Parquet file with lists of numbers"
    with request.translate_errors(expected, pa.ArrowException):
        file = _open_file(pa, request)
        n_rows = arrow.count_rows(file)
    column = request.choose_name(arrow.find_list_columns(file), "columns of lists")
    if n_rows < 1:  # a damaged file may say -1
        raise FormatError(f"{request.path} contains no rows.")

    def read_blocks() -> Iterator[AnyArray]:
        blocks = _read_matrices(file, column, request)
        return request.guard_blocks(blocks, expected, pa.ArrowException)

    return Stream.from_blocks(read_blocks, n_rows)


def read_parquet_labels(request: ReadRequest) -> AnyArray:
    """Read a column of numbers or strings."""
    pa = _import_pyarrow()
    expected = "a Parquet file with a column of labels"
    with request.translate_errors(expected, pa.ArrowException):
        file = pa.parquet.ParquetFile(request.path)
    with file:
        lists = arrow.find_list_columns(file)
        names = [column.name for column in file.schema_arrow if column.name not in lists]
        column = request.choose_name(names, "columns")
        with request.translate_errors(expected, pa.ArrowException):
            values = file.read([column]).column(0)
            if values.null_count:
                raise FormatError(f"Column {column!r} of {request.path} has missing labels.")
            array: AnyArray = values.to_numpy()
    return array.astype(str) if array.dtype.kind == "O" else array


def _open_file(pa: Any, request: ReadRequest) -> Any:
    if request.path.is_dir():
        return pa.dataset.dataset(request.path, format="parquet")
    # Without pre-buffering: a row group may be as large as the file.
    return pa.parquet.ParquetFile(request.path, pre_buffer=False, buffer_size=1 << 20)


def _read_matrices(file: Any, column: str, request: ReadRequest) -> Iterator[AnyArray]:
    width = 0
    try:
        for block in arrow.iter_blocks(file, column, str(request.path)):
            width = width or block.shape[1]
            if block.shape[1] != width or not width:
                lengths = sorted({width, block.shape[1]})
                raise FormatError(
                    f"{request.path} must contain lists of one length, got lengths {lengths}."
                )
            request.check_numeric(block.dtype)
            yield block
    except DataError as error:
        raise FormatError(str(error)) from None


def _import_pyarrow() -> Any:
    for submodule in ("dataset", "parquet"):
        import_optional(f"pyarrow.{submodule}", ".parquet files", "parquet")
    return import_optional("pyarrow", ".parquet files", "parquet")
