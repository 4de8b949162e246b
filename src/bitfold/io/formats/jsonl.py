"""JSON lines: an array of numbers per line, or an object with such an array in a field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from bitfold._types import AnyArray, Float32Array
from bitfold.errors import FormatError
from bitfold.io.formats.lines import LineReader, convert_row, stack_rows
from bitfold.io.formats.request import ReadRequest
from bitfold.io.stream import Stream

_NUMBERS = {int, float}


def open_jsonl(request: ReadRequest) -> Stream:
    """Open the arrays of a file, or those in a field of its objects."""

    def read_blocks() -> Iterator[Float32Array]:
        with LineReader.open(request.path) as lines:
            yield from stack_rows(_read_rows(lines, request))

    expected = "JSON lines with arrays of numbers"
    return Stream.from_blocks(lambda: request.guard_blocks(read_blocks(), expected))


def read_jsonl_labels(request: ReadRequest) -> AnyArray:
    """Read one number or string per line, or a field of objects with one."""
    expected = "JSON lines with labels"
    with request.translate_errors(expected), LineReader.open(request.path) as lines:
        values = list(_read_values(lines, request, "fields with labels", _is_label))
        kinds = {type(value) for value in values}
        if not all(map(_is_label, values)) or (str in kinds and len(kinds) > 1):
            raise FormatError(f"{request.path} must have numbers or strings as labels, not both.")
        return np.array(values)


def _read_rows(lines: LineReader, request: ReadRequest) -> Iterator[Float32Array]:
    width = None
    for value in _read_values(lines, request, "fields with arrays of numbers", _is_row):
        if not _is_row(value):
            lines.fail("expected an array of numbers")
        width = width or len(value)
        if len(value) != width:
            lines.fail(f"{len(value)} numbers, but the first row has {width}")
        try:
            row = convert_row(value, width)
        except OverflowError:
            lines.fail("a number is too large")
        yield row


def _read_values(
    lines: LineReader, request: ReadRequest, kind: str, is_wanted: Any
) -> Iterator[Any]:
    """Yield the value of each line; of an object, the value of the requested or only field."""
    name, is_empty = request.name, True
    for value in _parse_lines(lines):
        is_empty = False
        if not isinstance(value, dict):
            if request.name is not None:
                lines.fail(f"not an object, so it has no field {name!r:.40}")
            yield value
            continue
        if name is None:
            fields = [field for field, content in value.items() if is_wanted(content)]
            name = request.choose_name(fields, kind)
        if name not in value:
            lines.fail(f"no field {name!r:.40}")
        yield value[name]
    if is_empty:
        raise FormatError(f"{request.path} contains no rows.")


def _parse_lines(lines: LineReader) -> Iterator[Any]:
    """Yield the value of each line that is not blank."""
    decoder = json.JSONDecoder(parse_constant=_reject_constant)
    for line in lines:
        lines.start_record()
        if line.strip():
            yield _parse(decoder, line, lines)


def _parse(decoder: json.JSONDecoder, line: str, lines: LineReader) -> Any:
    try:
        return decoder.decode(line)
    except json.JSONDecodeError as error:
        lines.fail(f"not valid JSON ({error.msg} at character {error.pos + 1})")
    except (ValueError, RecursionError):
        lines.fail("not valid JSON (NaN, infinity, an endless number or too many brackets)")


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _is_row(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and set(map(type, value)) <= _NUMBERS


def _is_label(value: Any) -> bool:
    return type(value) in (*_NUMBERS, bool, str)
