"""CSV: one vector per line, separated by commas, tabs or semicolons, with or without a header."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple, NoReturn

import numpy as np

from bitfold import _validation
from bitfold._types import AnyArray, Float32Array
from bitfold.errors import FormatError
from bitfold.io.formats.lines import LineReader, convert_row, stack_rows
from bitfold.io.formats.request import ReadRequest
from bitfold.io.stream import Stream


def open_csv(request: ReadRequest) -> Stream:
    """Open the columns whose names begin with the requested name, or all columns."""

    def read_blocks() -> Iterator[Float32Array]:
        with LineReader.open(request.path) as lines:
            yield from stack_rows(_read_rows(_Table.open(lines), request))

    return Stream.from_blocks(lambda: request.guard_blocks(read_blocks(), "a CSV file of numbers"))


def read_csv_labels(request: ReadRequest) -> AnyArray:
    """Read a column as strings."""
    expected = "a CSV file with a column of labels"
    with request.translate_errors(expected), LineReader.open(request.path) as lines:
        table = _Table.open(lines)
        column = _choose_column(table, request)
        return np.array([record[column].strip() for record in table.records])


class _Table(NamedTuple):
    """An open file: names of its columns, None without a header, and the records after it."""

    lines: LineReader
    header: list[str] | None
    n_columns: int
    records: Iterator[list[str]]

    @classmethod
    def open(cls, lines: LineReader) -> _Table:
        """Read the first line, which determines the separator and whether there is a header."""
        line = next((line for line in lines if line.strip()), None)
        if line is None:
            raise FormatError(f"{lines.path} contains no rows.")
        records = _read_records(lines, line)
        first = next(records)
        is_header = _is_header(first)
        rest = _check_lengths(records if is_header else chain([first], records), lines, len(first))
        return cls(lines, first if is_header else None, len(first), rest)

    def describe(self, column: int) -> str:
        """Return the name of a column, or its number from 1, for errors."""
        return repr(self.header[column]) if self.header else str(column + 1)


def _read_records(lines: LineReader, first: str) -> Iterator[list[str]]:
    """Yield the fields of each record, beginning with a line that has been read; skip blanks."""
    # Decimal commas and commas in names do not separate where tabs or semicolons do.
    separator = next((sign for sign in "\t;" if sign in first), ",")
    reader = csv.reader(chain([first], lines), delimiter=separator, strict=True)
    while True:
        lines.start_record()
        try:
            record = next(reader, None)
        except csv.Error as error:
            lines.fail(str(error))
        if record is None:
            return
        if len(record) > 1 or "".join(record).strip():
            yield record


def _check_lengths(
    records: Iterator[list[str]], lines: LineReader, n_columns: int
) -> Iterator[list[str]]:
    """Yield records that all have the same number of fields, at least one record."""
    record = None
    for record in records:
        if len(record) != n_columns:
            lines.fail(f"{len(record)} fields, but the first line has {n_columns}")
        yield record
    if record is None:
        raise FormatError(f"{lines.path} contains no rows below its header.")


def _read_rows(table: _Table, request: ReadRequest) -> Iterator[Float32Array]:
    """Yield the chosen columns of each record as numbers."""
    columns = _choose_columns(table, request)
    for record in table.records:
        chosen = record if len(columns) == len(record) else [record[i] for i in columns]
        try:
            yield convert_row(map(float, chosen), len(chosen))
        except ValueError:
            _raise_not_a_number(table, columns, record, request)


def _choose_columns(table: _Table, request: ReadRequest) -> list[int]:
    """Return the columns whose names begin with the requested name; without one, all.

    Columns without a name are left out: pandas and R write row numbers to them.
    """
    if request.name is None:
        names = table.header or map(str, range(table.n_columns))
        return [column for column, name in enumerate(names) if name.strip()]
    header = _require_header(table, request)
    chosen = [i for i, name in enumerate(header) if name.startswith(request.name)]
    if not chosen:
        listed = ", ".join(map(repr, header[:9]))
        requirement = f"the beginning of column names in {request.path.name} ({listed})"
        _validation.raise_invalid("name", request.owner, requirement, repr(request.name))
    return chosen


def _choose_column(table: _Table, request: ReadRequest) -> int:
    """Return the column of the requested name; without one, the only column."""
    if request.name is None and table.n_columns == 1:
        return 0
    header = _require_header(table, request)
    return header.index(request.choose_name(header, "columns"))


def _require_header(table: _Table, request: ReadRequest) -> list[str]:
    if table.header is None:
        raise FormatError(f"{request.path} has no header, so its columns have no names to choose.")
    return table.header


def _raise_not_a_number(
    table: _Table, columns: list[int], record: list[str], request: ReadRequest
) -> NoReturn:
    """Raise the error about the first field that is not a number."""
    column = next(i for i in columns if not _is_number(record[i]))
    hint = ""
    if table.header and request.name is None:
        hint = f"; select columns by the beginning of their names, as in {request.path.name}:v"
    field = record[column].strip()
    what = f"{field!r:.40} is not a number" if field else "a number is missing"
    table.lines.fail(f"{what} in column {table.describe(column)}{hint}")


def _is_header(fields: list[str]) -> bool:
    """Return whether the first line has names: words, or numbers as pandas gives to columns."""
    if any(field.strip() and not _is_number(field) for field in fields):
        return True
    # pandas writes "0,1,2,…", after an empty field if it writes the row numbers too.
    names = fields[1:] if fields[0] == "" else fields
    return len(names) > 2 and names == [str(i) for i in range(len(names))]


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
