"""Ids: validation, uniqueness and automatic numbering."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bitfold.errors import DataError, ParameterError
from bitfold.search import IdAssigner, check_ids, check_unique_ids
from bitfold.search.ids import MAX_ID


def test_automatic_ids_follow_the_largest() -> None:
    assigner = IdAssigner("HammingIndex", 0)
    assert assigner.assign(None, 2).tolist() == [0, 1]
    assert assigner.assign([40, -7], 2).tolist() == [40, -7]
    assert assigner.assign([3], 1).tolist() == [3]
    assert assigner.assign(None, 0).tolist() == []
    assert assigner.assign(None, 2).tolist() == [41, 42]


def test_no_automatic_ids_are_left() -> None:
    assigner = IdAssigner("HammingIndex", 0)
    assigner.assign([MAX_ID - 1], 1)
    assert assigner.assign(None, 1).tolist() == [MAX_ID]
    assert assigner.assign(None, 0).tolist() == []
    with pytest.raises(DataError, match=f"HammingIndex .* {MAX_ID}; pass ids"):
        assigner.assign(None, 1)


@pytest.mark.parametrize("ids", [[1, 2], [], [[1]]])
def test_one_id_per_code(ids: Any) -> None:
    with pytest.raises(ParameterError, match="ids of HammingIndex"):
        IdAssigner("HammingIndex", 0).assign(ids, 1)


def test_duplicates_are_named() -> None:
    with pytest.raises(DataError, match=r"HammingIndex .* 1, 2, 3 and 1 more\.$"):
        check_unique_ids(np.array([4, 3, 2, 1, 1, 2, 3, 4, 9]), "HammingIndex")
    check_unique_ids(np.array([], np.int64), "HammingIndex")


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (5, [5]),
        ([], []),
        (np.array([3, 1], np.uint8), [3, 1]),
        (np.array([MAX_ID], np.uint64), [MAX_ID]),
        ([-(1 << 63), MAX_ID], [-(1 << 63), MAX_ID]),
    ],
)
def test_integers_of_any_width(ids: Any, expected: list[int]) -> None:
    checked = check_ids(ids, "HammingIndex")
    assert checked.dtype == np.int64
    assert checked.tolist() == expected


@pytest.mark.parametrize("ids", [[0.5], ["a"], [True], [[1]], [1 << 63], [1 << 70], None])
def test_other_values_are_errors(ids: Any) -> None:
    with pytest.raises(ParameterError) as error:
        check_ids(ids, "HammingIndex")
    assert error.value.name == "ids"
