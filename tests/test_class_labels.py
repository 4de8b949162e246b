"""Class labels: what passes, which error anything else raises, and what counts as a label."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bitfold._class_labels import check_labels, is_labeled
from bitfold.errors import DataError, ParameterError


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, -1],
        ["a", "b", "a"],
        [0.0, 1.0, -1.0],
        [True, False, True],
        np.array([[0], [1], [2]]),
        np.array(["a", "b", -1], object),
        np.array(["2020-01-01", "2020-01-02", "2020-01-01"], "datetime64[D]"),
    ],
    ids=str,
)
def test_labels_are_one_per_row(y: Any) -> None:
    got = check_labels(y, 3, "T")
    assert got.shape == (3,)
    assert got.tolist() == np.asarray(y).ravel().tolist()


@pytest.mark.parametrize(
    ("y", "value"),
    [
        ([0, 1], "shape (2,)"),
        (np.zeros((3, 2)), "shape (3, 2)"),
        ([0, np.nan, 1], "NaN or infinity"),
        (np.array(["a", None, "b"], object), "missing or mixed ones"),
        (np.array(["a", 2, "b"], object), "missing or mixed ones"),
    ],
)
def test_invalid_labels_are_named(y: Any, value: str) -> None:
    with pytest.raises(ParameterError) as caught:
        check_labels(y, 3, "T")
    assert (caught.value.name, caught.value.owner, caught.value.value) == ("y", "T", value)


@pytest.mark.parametrize(
    ("y", "parts"),
    [
        (None, ["3 labels", "requires y to be passed"]),
        ([0, 0.5, 1], ["Unknown label type", "reals"]),
    ],
)
def test_unusable_labels_are_described(y: Any, parts: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        check_labels(y, 3, "T")
    assert [part for part in parts if part not in str(caught.value)] == []


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.uint8, object])
def test_minus_one_is_unlabeled(dtype: type) -> None:
    y: NDArray[Any] = np.array([0, 1, 255 if dtype is np.uint8 else -1, 2]).astype(dtype)
    assert is_labeled(y).tolist() == [True, True, dtype is np.uint8, True]
    assert is_labeled(np.array(["-1", "a", ""])).tolist() == [False, True, False]
