"""JSON lines: arrays and fields of objects, and errors that name the line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from bitfold.errors import FormatError, ParameterError
from bitfold.hashers import LSH
from bitfold.io import Stream, open_vectors, read_labels, read_vectors
from bitfold.io.formats import lines

X = np.array([[1, 2.5, -3e-4], [4, 5, 6]], np.float32)


def write_lines(path: Path, *values: Any) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), "utf-8")
    return path


finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2), elements=finite), st.booleans())
def test_written_numbers_are_read_exactly(
    tmp_path_factory: pytest.TempPathFactory, matrix: Any, as_objects: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "exact.jsonl"
    write_lines(path, *({"v": row} if as_objects else row for row in matrix.tolist()))
    found = read_vectors(path)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, matrix)


def test_fields_are_chosen_by_name(tmp_path: Path) -> None:
    items = [
        {"id": i, "text": "é", "tags": ["a"], "v": row, "w": [i]}
        for i, row in enumerate(X.tolist())
    ]
    path = write_lines(tmp_path / "x.jsonl", *items)
    assert np.array_equal(read_vectors(path, "v"), X)
    assert read_vectors(path, "w").tolist() == [[0], [1]]
    with pytest.raises(ParameterError, match=r"numbers in x\.jsonl \('v', 'w'\), got None"):
        read_vectors(path)
    with pytest.raises(FormatError, match="line 1: no field 'u'"):
        read_vectors(path, "u")
    with pytest.raises(FormatError, match="line 1: expected an array of numbers"):
        read_vectors(path, "tags")
    assert read_labels(path, "id").tolist() == [0, 1]
    assert read_labels(path, "text").tolist() == ["é", "é"]


def test_lines_without_objects_have_no_fields(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [1, 2])
    with pytest.raises(FormatError, match="line 1: not an object, so it has no field 'v'"):
        read_vectors(path, "v")


def test_only_a_few_blocks_are_read_at_a_time(tmp_path: Path) -> None:
    matrix = np.random.default_rng(0).standard_normal((9000, 3)).astype(np.float32)
    path = write_lines(tmp_path / "x.ndjson", *matrix.tolist())
    stream = open_vectors(path)
    assert isinstance(stream, Stream)
    assert stream.n_rows is None
    assert np.array_equal(stream[:], matrix)
    hasher = LSH(8, random_state=0).fit(matrix)
    assert hasher.encode(open_vectors(path)) == hasher.encode(matrix)


INVALID = {
    "text": (b"[1]\nhello\n", "line 2: not valid JSON"),
    "cut": (b"[1, 2]\n[1, 2", "line 2: not valid JSON"),
    "nan": (b"[1]\n[NaN]\n", "line 2: not valid JSON"),
    "nested": (b"[1, [2]]\n", "line 1: expected an array of numbers"),
    "words": (b'["1"]\n', "line 1: expected an array of numbers"),
    "booleans": (b"[1, true]\n", "line 1: expected an array of numbers"),
    "null": (b"[1]\nnull\n", "line 2: expected an array of numbers"),
    "no numbers": (b"[]\n", "line 1: expected an array of numbers"),
    "short row": (b"[1, 2]\n\n[1]\n", "line 3: 1 numbers, but the first row has 2"),
    "long integer": (b"[1" + b"0" * 400 + b"]\n", "line 1: a number is too large"),
    "endless integer": (b"[1" + b"0" * 9000 + b"]\n", "line 1: not valid JSON"),
    "brackets": (b"[" * 100_000, "line 1: not valid JSON"),
    "not utf-8": (b"[1]\n[\xff]\n", "line 2: not valid JSON"),
    "no array": (b'{"a": 1}\n', "contains no fields with arrays of numbers"),
    "missing field": (b'{"a": [1]}\n{"b": [1]}\n', "line 2: no field 'a'"),
    "blank": (b"\n \n", "contains no rows"),
}


@pytest.mark.parametrize("name", INVALID)
def test_error_names_the_line(name: str, tmp_path: Path) -> None:
    content, message = INVALID[name]
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message) as caught:
        read_vectors(path)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 300


def test_endless_line_does_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "_MAX_RECORD_CHARS", 1000)
    (tmp_path / "x.jsonl").write_text("[1]\n[" + "1," * 2000)
    with pytest.raises(FormatError, match="line 2: longer than 1,000 characters"):
        read_vectors(tmp_path / "x.jsonl")


def test_labels_are_numbers_or_strings(tmp_path: Path) -> None:
    path = tmp_path / "y.jsonl"
    assert read_labels(write_lines(path, 3, 1)).tolist() == [3, 1]
    assert read_labels(write_lines(path, {"y": "a", "x": [1]}, {"y": "b"})).tolist() == ["a", "b"]
    for values in ([1, "a"], [None, 1], [[1], [2]]):
        with pytest.raises(FormatError, match="numbers or strings"):
            read_labels(write_lines(path, *values))
