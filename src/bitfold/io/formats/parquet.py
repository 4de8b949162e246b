"""Parquet: vectors as a column of lists, read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bitfold._types import AnyArray
from bitfold.errors import DataError, FormatError
from bitfold.io import arrow
from bitfold.io.formats.request import Asked, guarded
from bitfold.io.sources import Stream


def open_parquet(asked: Asked) -> Stream:
    """Open a column of lists of a file, or of a folder of files."""
    pa = _import_pyarrow()
    reading = asked.reading("a Parquet file with lists of numbers", pa.ArrowException)
    with reading():
        file = _open(pa, asked)
        n_rows = arrow.n_rows(file)
    column = asked.chosen(arrow.list_columns(file), "columns of lists")
    if not n_rows:
        raise FormatError(f"{asked.path} must hold lists of one length, got none.")
    return Stream.of_blocks(lambda: guarded(_matrices(file, column, asked), reading), n_rows)


def read_column(asked: Asked) -> AnyArray:
    """Read a column of numbers or texts."""
    pa = _import_pyarrow()
    reading = asked.reading("a Parquet file with a column of labels", pa.ArrowException)
    with reading():
        file = pa.parquet.ParquetFile(asked.path)
    with file:
        lists = arrow.list_columns(file)
        names = [column.name for column in file.schema_arrow if column.name not in lists]
        column = asked.chosen(names, "columns")
        with reading():
            values = file.read([column]).column(0)
            if values.null_count:
                raise FormatError(f"{asked.path} must hold a label in every row, got missing ones.")
            array: AnyArray = values.to_numpy()
    return array.astype(str) if array.dtype.kind == "O" else array


def _open(pa: Any, asked: Asked) -> Any:
    if asked.path.is_dir():
        return pa.dataset.dataset(asked.path, format="parquet")
    # A row group is not read ahead: it may be as large as the file.
    return pa.parquet.ParquetFile(asked.path, pre_buffer=False, buffer_size=1 << 20)


def _matrices(file: Any, column: str, asked: Asked) -> Iterator[AnyArray]:
    widths = {0}
    try:
        for block in arrow.blocks(file, column, str(asked.path)):
            widths = widths - {0} | {block.shape[1]}
            if widths == {0} or len(widths) > 1:
                raise FormatError(
                    f"{asked.path} must hold lists of one length, got {sorted(widths)}."
                )
            asked.check_numbers(block.dtype)
            yield block
    except DataError as error:
        raise FormatError(str(error)) from None


def _import_pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.dataset
        import pyarrow.parquet
    except ImportError:
        extra = 'pip install "bitfold[parquet]"'
        raise ImportError(f"reading .parquet files needs pyarrow: {extra}.") from None
    return pyarrow
