"""CSV: separators, headers, chosen columns, and errors that name the line."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from bitfold.errors import FormatError, ParameterError
from bitfold.hashers import LSH
from bitfold.io import Stream, open_vectors, read_labels, read_vectors
from bitfold.io.formats import lines

X = np.array([[1, 2.5, -3e-4], [4, 5, 6]], np.float32)

SAME = {
    "plain": "1,2.5,-3e-4\n4,5,6\n",
    "no line break at the end": "1,2.5,-3e-4\n4,5,6",
    "windows": "1,2.5,-3e-4\r\n4,5,6\r\n",
    "old mac": "1,2.5,-3e-4\r4,5,6\r",
    "spaces": " 1 , 2.5,\t-3e-4\n4,5,6 \n".replace("\t", " "),
    "blank lines": "\n1,2.5,-3e-4\n\n  \n4,5,6\n\n",
    "byte order mark": "\ufeff1,2.5,-3e-4\n4,5,6\n",
    "semicolons": "1;2.5;-3e-4\n4;5;6\n",
    "tabs": "1\t2.5\t-3e-4\n4\t5\t6\n",
    "quotes": '"1","2.5","-3e-4"\n4,5,6\n',
    "header": "a,b,c\n1,2.5,-3e-4\n4,5,6\n",
    "header with a number": "0,b,2\n1,2.5,-3e-4\n4,5,6\n",
    "header with a comma": '"a, b";b;c\n1;2.5;-3e-4\n4;5;6\n',
}


@pytest.mark.parametrize("name", SAME)
def test_forms_of_the_same_matrix(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(SAME[name].encode())
    matrix = read_vectors(path)
    assert matrix.dtype == np.float32
    assert matrix.tolist() == X.tolist()


@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2), elements=st.floats(width=32)))
def test_written_numbers_are_read_exactly(
    tmp_path_factory: pytest.TempPathFactory, matrix: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "exact.csv"
    pd.DataFrame(matrix).to_csv(path, index=False, header=False, na_rep="nan")
    np.testing.assert_array_equal(read_vectors(path), matrix)


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("names", [None, ["a", "b", "c"]])
def test_row_and_column_numbers_of_pandas_are_skipped(
    index: bool, names: list[str] | None, tmp_path: Path
) -> None:
    pd.DataFrame(X, columns=names).to_csv(tmp_path / "x.csv", index=index)
    assert read_vectors(tmp_path / "x.csv").tolist() == X.tolist()


def test_first_row_of_numbers_is_data(tmp_path: Path) -> None:
    for text in ("0,1\n", "1,2,3\n", "0,1,2.0\n"):
        (tmp_path / "x.csv").write_text(text)
        assert len(read_vectors(tmp_path / "x.csv")) == 1


def test_columns_are_chosen_by_the_beginning_of_their_names(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    table = pd.DataFrame({"id": [7, 8], "text": ['a "quoted"\nline, two', "b"]})
    table[["v0", "v1", "v2"]] = X
    table["vector_length"] = 3.0
    table.to_csv(path, index=False)
    assert read_vectors(path, "v").shape == (2, 4)
    assert read_vectors(path, "v1").tolist() == X[:, 1:2].tolist()
    assert read_labels(path, "id").tolist() == ["7", "8"]
    with pytest.raises(
        ParameterError, match=r"names in x\.csv \('id', 'text', .*\), got 'w'"
    ) as caught:
        read_vectors(path, "w")
    assert (caught.value.name, caught.value.owner) == ("name", "read_vectors")
    with pytest.raises(
        FormatError, match=r"line 3: 'a .*column 'text'; select columns .* x\.csv:v"
    ):
        read_vectors(path)
    with pytest.raises(ParameterError, match=r"'id', 'text', .*, got None"):
        read_labels(path)


def test_only_a_few_blocks_are_read_at_a_time(tmp_path: Path) -> None:
    matrix = np.random.default_rng(0).standard_normal((9000, 3)).astype(np.float32)
    path = tmp_path / "x.csv"
    np.savetxt(path, matrix, delimiter=";", fmt="%.9g")
    stream = open_vectors(path)
    assert isinstance(stream, Stream)
    assert stream.n_rows is None  # opening reads the first block only
    assert np.array_equal(stream[:], matrix)
    assert np.array_equal(stream[10:20], matrix[10:20])  # a second pass
    assert stream.shape == matrix.shape
    hasher = LSH(8, random_state=0).fit(matrix)
    assert hasher.encode(open_vectors(path)) == hasher.encode(matrix)
    assert LSH(8, random_state=0).fit(open_vectors(path)).model_digest == hasher.model_digest


INVALID = {
    "word": (b"1,2\n3,x\n", "line 2: 'x' is not a number in column 2"),
    "word below a header": (b"a,b\n1,2\n3,x\n", "line 3: 'x' is not a number in column 'b'"),
    "missing in the first line": (b",2,3\n1,2,3\n", "line 1: a number is missing in column 1"),
    "missing": (b"1,2\n3,\n", "line 2: a number is missing in column 2"),
    "short row": (b"1,2\n\n3\n", "line 3: 1 fields, but the first line has 2"),
    "long row": (b"1,2\n3,4,5\n", "line 2: 3 fields, but the first line has 2"),
    "decimal comma": (b"1;2\n1,5;2\n", "line 2: '1,5' is not a number"),
    "two separators": (b"1;2\n1,2\n", "line 2: 1 fields, but the first line has 2"),
    "open quote": (b'1,2\n"3,4\n', "line 2: "),
    "not utf-8": (b"1,2\n3,\xff\n", "line 2: '.udcff' is not a number"),
    "binary": (bytes(range(256)), "line 3: "),
    "nul": (b"1,2\n3,\0\n", "line 2: "),
    "endless field": (b"1,2\n3," + b"4" * 200_000, "line 2: field larger"),
    "only a header": (b"a,b\n", "contains no rows below its header"),
    "blank": (b" \n\n", "contains no rows"),
}


@pytest.mark.parametrize("name", INVALID)
def test_error_names_the_line(name: str, tmp_path: Path) -> None:
    content, message = INVALID[name]
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message) as caught:
        read_vectors(path)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 300


def test_endless_records_do_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "_MAX_RECORD_CHARS", 1000)
    (tmp_path / "line.csv").write_text("1,2\n" + "1," * 2000)
    (tmp_path / "record.csv").write_text("a,b\n" + '"\n",' * 2000)
    (tmp_path / "rows.csv").write_text("1,2\n" * 2000)
    for name in ("line.csv", "record.csv"):
        with pytest.raises(FormatError, match="longer than 1,000 characters"):
            read_vectors(tmp_path / name)
    assert read_vectors(tmp_path / "rows.csv").shape == (2000, 2)


def test_names_need_a_header(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("1,2\n")
    for read in (read_vectors, read_labels):
        with pytest.raises(FormatError, match="has no header"):
            read(tmp_path / "x.csv", "v")


def test_labels_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "y.csv").write_text("3\n-1\n")
    assert read_labels(tmp_path / "y.csv").tolist() == ["3", "-1"]


def test_numbers_too_large_for_float32_are_infinite(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("1,1e300\n")
    assert np.isinf(read_vectors(tmp_path / "x.csv")[0, 1])


def test_pandas_reads_the_same(tmp_path: Path) -> None:
    text = SAME["header"]
    (tmp_path / "x.tsv").write_text(text.replace(",", "\t"))
    table = pd.read_csv(io.StringIO(text))
    assert np.array_equal(read_vectors(tmp_path / "x.tsv"), table.to_numpy(np.float32))
