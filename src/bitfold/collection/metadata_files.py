"""Metadata in files: CSV, JSON lines and Parquet, read batch by batch.

A first pass finds the types of the columns, so that a file may be larger than memory.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from bitfold import _validation
from bitfold._types import PathLike
from bitfold.collection.columns import ColumnValues, infer_type, to_values
from bitfold.errors import DataError, FormatError
from bitfold.io.formats.request import import_optional, translate_errors

_OWNER = "open_metadata_file"

_INTEGER = re.compile(r"[+-]?[0-9]+")
_MAX_DIGITS = 19
"""Number of digits of the largest integer of 64 bits."""

_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?")

_ROWS_PER_BATCH = 1 << 12

Record = dict[str, Any]


class FileSource:
    """Metadata that are read forward from a file; each column has one type.

    Parameters
    ----------
    path
        The file, for errors.
    read_records
        Starts reading: returns an iterator of records, whose values are Python objects.

    Attributes
    ----------
    types
        Types of the columns by name.
    n_rows
        Number of records.

    Examples
    --------
    >>> source = FileSource(Path("x.jsonl"), lambda: iter([{"year": 2020}, {"year": None}]))
    >>> source.types, source.n_rows, source.read(10)
    ({'year': <class 'int'>}, 2, {'year': [2020, None]})
    """

    def __init__(self, path: Path, read_records: Callable[[], Iterator[Record]]) -> None:
        self._path = path
        self._read_records = read_records
        self.types, self.n_rows = self._find_types()
        self._records = read_records()

    def without(self, column: str) -> FileSource:
        """Return the metadata without a column.

        Parameters
        ----------
        column
            Name of the column.

        Returns
        -------
        The same file, read from the beginning.
        """
        read = self._read_records
        return FileSource(
            self._path,
            lambda: ({k: v for k, v in record.items() if k != column} for record in read()),
        )

    def read(self, n_rows: int) -> ColumnValues:
        """Return the values of the next rows.

        Parameters
        ----------
        n_rows
            Number of rows.

        Returns
        -------
        One list per column; fewer values at the end of the file.
        """
        records = list(islice(self._records, n_rows))
        return {name: to_values([each.get(name) for each in records]) for name in self.types}

    def read_column(self, name: str) -> list[Any]:
        """Return all values of one column.

        Parameters
        ----------
        name
            Name of the column.

        Returns
        -------
        One value per record; None marks a missing value.
        """
        return [record.get(name) for record in self._read_records()]

    def _find_types(self) -> tuple[dict[str, type], int]:
        types: dict[str, type | None] = {}
        records, count = self._read_records(), 0
        while batch := list(islice(records, _ROWS_PER_BATCH)):
            count += len(batch)
            for name in dict.fromkeys(name for record in batch for name in record):
                values = to_values([record.get(name) for record in batch])
                types[name] = _combine(types.get(name), values, name)
        return {name: kind or str for name, kind in types.items()}, count


def open_metadata_file(path: PathLike) -> FileSource:
    r"""Open a table of metadata without loading it into memory.

    Parameters
    ----------
    path
        A ``.csv`` file with a header; ``.jsonl``, one JSON object per line; or ``.parquet``, of
        which columns of lists, such as vectors, are ignored. Numbers, true and false, and times
        such as 2024-01-31 are recognized in CSV if all values of a column are such; empty values
        are missing, integers of more than 64 bits stay text, and columns without a name, which
        pandas and R use for row numbers, are ignored.

    Returns
    -------
    The metadata.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    FormatError
        If it is damaged, or has another format.
    ParameterError
        If its suffix is unknown, or a column has values of several types.

    Examples
    --------
    >>> _ = Path("news.csv").write_text("year,title\n2020,one\n2021,\n")
    >>> source = open_metadata_file("news.csv")
    >>> source.read(2)
    {'year': [2020, 2021], 'title': ['one', None]}
    """
    file = Path(path)
    readers = {".csv": _read_csv, ".jsonl": _read_json_lines, ".parquet": _read_parquet}
    reader = readers.get(file.suffix.lower())
    if reader is None:
        requirement = f"a file with the suffix {', '.join(readers)}"
        _validation.raise_invalid("path", _OWNER, requirement, repr(file.name))
    if not file.is_file():
        raise FileNotFoundError(f"{path} does not exist.")
    return FileSource(file, reader(file))


def _combine(kind: type | None, values: list[Any], name: str) -> type | None:
    """Return the type of a column from that of earlier values and of more values."""
    known = [] if kind is None else [kind]
    examples = [value for value in values if value is not None]
    found = infer_type(examples, name) if examples else None
    if {kind, found} == {int, float}:
        return float
    if kind is not None and found is not None and kind is not found:
        wanted = " and ".join(sorted(each.__name__ for each in (*known, found)))
        _validation.raise_invalid(f"column {name!r}", "Collection", "of one type", wanted)
    return kind or found


def _read_csv(path: Path) -> Callable[[], Iterator[Record]]:
    possible: dict[str, list[Callable[[str], Any]]] = {}
    for name, values in _iter_csv_columns(path):
        before = possible.get(name, _CONVERTERS)
        possible[name] = [each for each in before if all(_accepts(each, text) for text in values)]

    def read() -> Iterator[Record]:
        for record in _iter_csv(path):
            yield {name: possible[name][0](text) if text else None for name, text in record.items()}

    return read


def _iter_csv(path: Path) -> Iterator[dict[str, str]]:
    """Yield the records of a file as text."""
    with (
        translate_errors(path, "a CSV file in UTF-8 with a header", UnicodeDecodeError, csv.Error),
        path.open(encoding="utf-8-sig", newline="") as file,
    ):
        reader = csv.DictReader(file, strict=True)
        _check_header(list(reader.fieldnames or []), path)
        for record in reader:
            if None in record or None in record.values():
                raise FormatError(
                    f"{path} has more or fewer values in line {reader.line_num} than in its header."
                )
            record.pop("", None)  # row numbers, as pandas and R write them
            yield record


def _check_header(names: list[str], path: Path) -> None:
    """Raise if two columns have the same name, of which one would be lost."""
    repeated = [name for name in names if name and names.count(name) > 1]
    if repeated:
        raise FormatError(f"{path} has two columns with the name {repeated[0]!r}.")


def _iter_csv_columns(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the names of columns with some of their values that are not empty."""
    records = _iter_csv(path)
    while batch := list(islice(records, _ROWS_PER_BATCH)):
        for name in batch[0]:
            yield name, [record[name] for record in batch if record[name]]


def _accepts(convert: Callable[[str], Any], value: str) -> bool:
    try:
        convert(value)
    except ValueError:
        return False
    return True


def _to_int(text: str) -> int:
    digits = _match(_INTEGER, text)
    number = int(digits) if len(digits.lstrip("+-0")) <= _MAX_DIGITS else 1 << 63
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(text)
    return number


def _to_float(text: str) -> float:
    if len(text.lstrip("+-0")) >= _MAX_DIGITS and _INTEGER.fullmatch(text):
        raise ValueError(text)  # an id that would lose digits
    return float(_match(_REAL, text))


def _to_bool(text: str) -> bool:
    return {"true": True, "false": False}[_match(re.compile("true|false"), text.lower())]


def _to_time(text: str) -> datetime | date:
    return datetime.fromisoformat(_match(_TIME, text))


def _match(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        raise ValueError(text)
    return text


_CONVERTERS: list[Callable[[str], Any]] = [_to_int, _to_float, _to_bool, _to_time, str]
"""The types of a column, in the order in which they are preferred."""


def _read_json_lines(path: Path) -> Callable[[], Iterator[Record]]:
    def read() -> Iterator[Record]:
        with (
            translate_errors(path, "a UTF-8 file of JSON lines", UnicodeDecodeError),
            path.open(encoding="utf-8-sig") as file,
        ):
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _parse_line(line, path, number)

    return read


def _parse_line(line: str, path: Path, number: int) -> Record:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise FormatError(f"Line {number} of {path} is not a JSON object.")
    for name, value in record.items():
        if isinstance(value, (list, dict)):
            raise DataError(f"Column {name!r} in line {number} of {path} is not a single value.")
    return record


def _read_parquet(path: Path) -> Callable[[], Iterator[Record]]:
    parquet = import_optional("pyarrow.parquet", ".parquet files", "parquet")
    pa = import_optional("pyarrow", ".parquet files", "parquet")

    def read() -> Iterator[Record]:
        with translate_errors(path, "a Parquet file", pa.ArrowException, OSError, ValueError):
            file = parquet.ParquetFile(path)
            names = [
                field.name for field in file.schema_arrow if not pa.types.is_nested(field.type)
            ]
            for batch in file.iter_batches(_ROWS_PER_BATCH, columns=names):
                yield from batch.to_pylist()

    return read
