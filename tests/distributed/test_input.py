"""A column of a Dask DataFrame as vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from bitfold import distributed
from bitfold.errors import DataError, ParameterTypeError
from bitfold.hashers import ITQ
from distributed import Client

FloatArray = NDArray[np.float32]


def column(values: list[Any], npartitions: int = 3) -> Any:
    frame = pd.DataFrame({"id": range(len(values)), "v": pd.Series(values, dtype=object)})
    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_pandas(frame, npartitions=npartitions)["v"]


@pytest.mark.parametrize("kind", [list, np.asarray])
def test_column_of_lists_or_arrays(kind: Any, client: Client, X: FloatArray) -> None:
    v = column([kind(row.tolist()) for row in X[:900]])
    hasher = distributed.fit(ITQ(20, random_state=0), v)
    here = ITQ(20, random_state=0).fit(X[:900])
    assert np.array_equal(hasher.directions_, here.directions_)
    codes = distributed.encode(hasher, v)
    assert np.isnan(codes.shape[0])
    assert distributed.collect(codes, 20) == here.encode(X[:900])


def test_parquet_column_with_an_empty_partition(
    client: Client, X: FloatArray, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"id": range(900), "v": list(X[:900])})
    frame.to_parquet(tmp_path / "vectors.parquet", row_group_size=300)
    read = dd.read_parquet(tmp_path / "vectors.parquet", split_row_groups=True)
    assert read.npartitions == 3
    kept = read[(read["id"] < 200) | (read["id"] >= 600)]["v"]  # the second partition is empty
    rows = np.concatenate([X[:200], X[600:900]])
    hasher = distributed.fit(ITQ(20, random_state=0), kept)
    assert hasher.encode(rows) == ITQ(20, random_state=0).fit(rows).encode(rows)
    assert distributed.collect(distributed.encode(hasher, kept), 20) == hasher.encode(rows)


def test_integers_in_the_first_row_do_not_truncate_others() -> None:
    v = column([[0, 0], [0.5, 1.5], [1, 2], [2.5, 0]])
    hasher = distributed.fit(ITQ(2, random_state=0), v)
    assert np.allclose(hasher.center_, [1, 0.875])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0.0, 1], [1.0, 2], [3.0]], r"float64 of shape \(1,\) in row 0 of partition 2"),
        ([[0.0, 1], None, [3.0, 4]], "None in row 0 of partition 1"),
        ([[0.0, 1], ["a", "b"], [3.0, 4]], r"<U1 of shape \(2,\) in row 0 of partition 1"),
        ([[0.0, 1], [[1], [2, 3]], [3.0, 4]], r"object of shape \(2,\) in row 0 of partition 1"),
        ([*np.ones((2, 2), "f4"), np.ones(2)], "float32 .* got float64 in row 0 of partition 2"),
        ([], "empty column"),
    ],
)
def test_invalid_vectors_raise(values: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=rf"X\['v'\] of ITQ .*{message}"):
        distributed.fit(ITQ(1), column(values))


def test_lists_converted_to_strings_raise() -> None:
    frame = dd.from_pandas(pd.DataFrame({"v": ["[1.0, 2.0]", "[2.0, 3.0]"]}), npartitions=1)
    with pytest.raises(
        ParameterTypeError, match=r"X\['v'\] of ITQ .* got strings; .*convert-string"
    ):
        distributed.fit(ITQ(1), frame["v"])


def test_frame_raises(X: FloatArray) -> None:
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    with pytest.raises(ParameterTypeError, match="a column of a Dask DataFrame"):
        distributed.fit(ITQ(20), frame)
    hasher = distributed.fit(ITQ(20, random_state=0), frame.to_dask_array())
    assert np.array_equal(hasher.center_, ITQ(20).fit(X).center_)
