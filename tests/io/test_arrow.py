"""Columns of lists in Arrow and Parquet objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

from bitfold.errors import DataError
from bitfold.io import arrow

X = np.random.default_rng(0).standard_normal((200, 3)).astype(np.float32)


@pytest.fixture
def forms(tmp_path: Path) -> list[Any]:
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 3)
    table = pa.table({"id": pa.array(range(200)), "v": lists, "w": pa.array(X.tolist())})
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=70)
    file = parquet.ParquetFile(tmp_path / "x.parquet")
    return [table, file, dataset.dataset(tmp_path / "x.parquet")]


def test_every_form_is_recognized_and_read(forms: list[Any]) -> None:
    for form in forms:
        assert arrow.is_table(form)
        assert arrow.count_rows(form) == 200
        assert arrow.find_list_columns(form) == ["v", "w"]
        for column in ("v", "w"):
            matrix = np.concatenate(list(arrow.iter_blocks(form, column)))
            assert np.array_equal(matrix.astype(np.float32), X)
    assert not arrow.is_table(X)
    assert not arrow.is_table(pa.array([1]))


@pytest.mark.parametrize(
    ("lists", "message"),
    [([[1.0], None], "missing"), ([[1.0], [None]], "missing"), ([[1.0], [1.0, 2.0]], "one length")],
)
def test_incomplete_lists_are_rejected(lists: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=f"v must contain .*{message}"):
        arrow.to_matrix(pa.array(lists), "v")
