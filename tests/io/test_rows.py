"""Rows reads any numeric matrix as centered float32, block by block."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from bitfold._types import Float32Array
from bitfold.errors import DataError, ParameterTypeError
from bitfold.io import Stream, rows
from bitfold.io.rows import BLOCK_BYTES, Rows, block_length, iter_blocks
from bitfold.io.unit_length import scale_to_unit_length

DTYPES = ["f2", "f4", "f8", "g", "?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">f4", ">i2"]


def uncentered(matrix: NDArray[Any]) -> Rows:
    return Rows(matrix, np.zeros(matrix.shape[1], np.float32), "T")


def read_all(rows: Rows) -> Float32Array:
    return np.concatenate([values for _, values in rows.blocks()])


@pytest.fixture
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use blocks of 64 rows and take 10 at a time, so that a few hundred rows need several."""
    monkeypatch.setattr(rows, "BLOCK_BYTES", 1)
    monkeypatch.setattr(rows, "_N_SCATTERED_ROWS", 10)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_numeric_dtype_becomes_float32(dtype: str) -> None:
    X = np.random.default_rng(0).integers(0, 2, (50, 3)).astype(dtype)
    got = read_all(uncentered(X))
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, X.astype(np.float32))
    np.testing.assert_array_equal(uncentered(X).take(np.arange(50)), got)


@pytest.mark.parametrize("dtype", ["i4", "i8", "f8"])
def test_large_values_are_centered_before_rounding(dtype: str) -> None:
    X = np.array([[10**9 + 1], [10**9 + 2], [10**9 + 3]], dtype)
    center = np.array([1e9], np.float32)
    np.testing.assert_array_equal(Rows(X, center, "T").block(0, 3), [[1], [2], [3]])


@given(
    st.lists(st.floats(width=32, min_value=-(2.0**120), max_value=2.0**120), min_size=1),
    st.floats(width=32, min_value=-(2.0**120), max_value=2.0**120),
)
def test_float32_and_float64_give_the_same_bits(values: list[float], center: float) -> None:
    singles = np.array(values, np.float32)[:, None]
    at = np.array([center], np.float32)
    expected = Rows(singles, at, "T").block(0, len(values))
    got = Rows(singles.astype(np.float64), at, "T").block(0, len(values))
    np.testing.assert_array_equal(got.view(np.uint32), expected.view(np.uint32))


@given(st.lists(st.integers(0, 255), min_size=1), st.floats(0, 255, width=32))
def test_integers_and_floats_give_the_same_bits(values: list[int], center: float) -> None:
    at, stored = np.array([center], np.float32), np.array(values, np.uint8)[:, None]
    expected = Rows(stored.astype(np.float32), at, "T").block(0, len(values))
    for dtype in (np.uint8, np.int32, np.int64, np.float64):
        got = Rows(stored.astype(dtype), at, "T").block(0, len(values))
        np.testing.assert_array_equal(got, expected)


@pytest.mark.usefixtures("short_blocks")
def test_blocks_cover_all_rows_once_in_order() -> None:
    X = np.arange(1000.0).reshape(500, 2)
    blocks = list(uncentered(X).blocks())
    assert [block.start for block in blocks] == list(range(0, 500, 64))
    np.testing.assert_array_equal(np.concatenate([b.values for b in blocks]), X)


def test_blocks_are_shorter_if_their_results_are_wide() -> None:
    X = np.zeros((300, 2), np.uint8)
    assert len(list(uncentered(X).blocks(width=10**9))) == 5


@pytest.mark.usefixtures("short_blocks")
def test_center_is_the_mean() -> None:
    X = np.random.default_rng(0).integers(0, 255, (500, 7)).astype(np.uint8)
    rows = Rows.centered(X, "T")
    assert rows.center.dtype == np.float32
    np.testing.assert_allclose(rows.center, X.mean(axis=0), rtol=1e-7)
    np.testing.assert_allclose(read_all(rows).mean(axis=0), 0, atol=1e-4)
    np.testing.assert_array_equal(rows.block(100, 120), X[100:120] - rows.center)
    assert (len(rows), rows.n_features) == (500, 7)


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize(
    "change_layout",
    [
        lambda X: X[::2],
        lambda X: X[::-1],
        lambda X: X[:, ::3],
        lambda X: np.asfortranarray(X),
        lambda X: np.broadcast_to(X[0], X.shape),
        lambda X: X.reshape(150, 2, -1)[:, 1],
    ],
    ids=["step", "backward", "columns", "fortran", "broadcast", "plane"],
)
def test_any_layout_is_read(change_layout: Any) -> None:
    X = change_layout(np.random.default_rng(0).standard_normal((300, 9)).astype(np.float32))
    got = read_all(uncentered(X))
    assert got.flags.c_contiguous
    np.testing.assert_array_equal(got, X)


def test_input_is_not_modified() -> None:
    X = np.random.default_rng(0).standard_normal((30, 4))
    copy = X.copy()
    X.flags["W"] = False
    read_all(Rows.centered(X, "T"))
    np.testing.assert_array_equal(X, copy)


def test_block_writes_to_out() -> None:
    X = np.arange(20.0).reshape(10, 2)
    out = np.empty((3, 2), np.float32)
    assert uncentered(X).block(4, 7, out) is out
    np.testing.assert_array_equal(out, X[4:7])


@pytest.mark.usefixtures("short_blocks")
def test_take_allows_any_order_and_repetition() -> None:
    X = np.arange(400.0).reshape(200, 2)
    indices = np.random.default_rng(0).integers(200, size=95)
    np.testing.assert_array_equal(uncentered(X).take(indices), X[indices])
    assert uncentered(X).take(np.empty(0, np.int64)).shape == (0, 2)


def test_sample_is_ascending_without_repetition() -> None:
    X = np.arange(300.0)[:, None]
    got = uncentered(X).sample(100, np.random.default_rng(0))[:, 0]
    assert got.shape == (100,)
    assert (np.diff(got) > 0).all()
    again, other = (uncentered(X).sample(100, np.random.default_rng(seed))[:, 0] for seed in (0, 1))
    np.testing.assert_array_equal(got, again)
    assert not np.array_equal(got, other)


@pytest.mark.parametrize("size", [300, 301, 10**9])
def test_large_sample_is_all_rows(size: int) -> None:
    X = np.arange(300.0)[:, None]
    np.testing.assert_array_equal(uncentered(X).sample(size, np.random.default_rng(0)), X)


def test_sample_is_uniform() -> None:
    X = np.arange(10.0)[:, None]
    rng = np.random.default_rng(0)
    drawn = np.concatenate([uncentered(X).sample(3, rng)[:, 0] for _ in range(2000)])
    counts = np.bincount(drawn.astype(int), minlength=10)
    assert (np.abs(counts - 600) < 5 * np.sqrt(600 * 0.7)).all()


# Invalid values

NAN = "X of T .* NaN in row {}"
HUGE = "X of T .* infinity or a value too large for float32 in row {}"


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize(
    ("value", "message"), [(np.nan, NAN), (np.inf, HUGE), (-np.inf, HUGE)], ids=str
)
def test_error_names_the_row(dtype: str, value: float, message: str) -> None:
    X = np.zeros((300, 3), dtype)
    X[217, 1] = value
    with pytest.raises(DataError, match=message.format(217)):
        Rows.centered(X, "T")
    with pytest.raises(DataError, match=message.format(217)):
        uncentered(X).take(np.arange(7, 300, 10))
    uncentered(X).take(np.arange(8, 300, 10))


@pytest.mark.usefixtures("short_blocks")
def test_infinities_that_cancel_are_found() -> None:
    X = np.zeros((300, 3), np.float32)
    X[100], X[101] = np.inf, -np.inf
    with pytest.raises(DataError, match=HUGE.format(100)):
        read_all(uncentered(X))


@pytest.mark.parametrize("value", [1e38, 1e39, 1e300])
def test_values_beyond_float32_are_rejected(value: float) -> None:
    X = np.zeros((3, 2))
    X[1, 1] = value
    for matrix in (X, X[1:2], np.concatenate([X, -X])):
        with pytest.raises(DataError, match="too large for float32 in row"):
            uncentered(matrix).block(0, len(matrix))


def test_large_float32_values_are_accepted() -> None:
    X = np.full((200, 3), 8e37)
    X[::2] *= -1
    np.testing.assert_array_equal(read_all(uncentered(X)), X.astype(np.float32))


def test_centered_rejects_distances_beyond_float32() -> None:
    X = np.zeros((300, 4))
    X[217, 2] = -1e30
    with pytest.raises(DataError, match=r"X of T .*±2\.3e\+18.*-1e\+30 in row 217"):
        Rows.centered(X, "T")


# Memory maps


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize("mode", ["r", "r+", "c"])
@pytest.mark.parametrize("part", [slice(None), slice(7, 291), slice(3, None, 5), slice(299, None)])
def test_memory_maps_read_like_arrays(tmp_path: Path, mode: Any, part: slice) -> None:
    X = np.random.default_rng(0).standard_normal((300, 33))
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode=mode)[part]
    np.testing.assert_array_equal(read_all(uncentered(mapped)), X[part].astype(np.float32))
    indices = np.random.default_rng(1).integers(len(mapped), size=50)
    np.testing.assert_array_equal(
        uncentered(mapped).take(indices), X[part][indices].astype(np.float32)
    )


# Rows of unit length


def normalized(matrix: NDArray[Any], center: Any = 0.0) -> Rows:
    at = np.full(matrix.shape[1], center, np.float32)
    return Rows(matrix, at, "T", normalize=True)


@pytest.mark.parametrize("n_features", [1, 3, 4, 37])
def test_normalized_rows_have_unit_length(n_features: int) -> None:
    X = np.random.default_rng(0).standard_normal((300, n_features))
    expected = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(scale_to_unit_length(X, "T"), expected, rtol=1e-15)
    np.testing.assert_allclose(read_all(normalized(X)), expected, rtol=1e-7)
    np.testing.assert_allclose(read_all(normalized(X, 0.5)), expected - 0.5, atol=1e-7)


@pytest.mark.usefixtures("short_blocks")
def test_center_of_normalized_rows_is_their_mean() -> None:
    X = np.random.default_rng(0).random((500, 7))
    rows = Rows.centered(X, "T", normalize=True)
    assert rows.normalize
    np.testing.assert_allclose(rows.center, scale_to_unit_length(X, "T").mean(axis=0), rtol=1e-6)
    expected = Rows(scale_to_unit_length(X, "T"), rows.center, "T").block(0, 500)
    np.testing.assert_array_equal(read_all(rows), expected)
    np.testing.assert_array_equal(rows.take(np.arange(500)), expected)
    np.testing.assert_array_equal(rows.sample(500, np.random.default_rng(0)), expected)
    mapped = rows.map(lambda values, start: values.copy(), 64)
    np.testing.assert_array_equal(np.concatenate([part for _, part in mapped]), expected)


@given(st.lists(st.floats(width=32, min_value=-(2.0**120), max_value=2.0**120), min_size=1))
def test_normalized_rows_do_not_depend_on_type_or_layout(values: list[float]) -> None:
    singles = np.array([values, values[::-1]], np.float32)
    doubles = singles.astype(np.float64)
    expected = normalized(singles, 0.25).block(0, 2)
    for same in (doubles, singles.astype(">f4"), doubles.astype("g"), np.asfortranarray(doubles)):
        got = normalized(same, 0.25).block(0, 2)
        np.testing.assert_array_equal(got.view(np.uint32), expected.view(np.uint32))
    alone = normalized(doubles, 0.25).block(1, 2)
    np.testing.assert_array_equal(alone.view(np.uint32), expected[1:].view(np.uint32))


def test_zeros_stay_zeros() -> None:
    X = np.zeros((2, 5), np.float32)
    np.testing.assert_array_equal(read_all(normalized(X)), X)
    np.testing.assert_array_equal(read_all(normalized(X, 0.5)), X - 0.5)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e38, 1e300])
def test_error_names_the_row_of_normalized_values(value: float) -> None:
    X = np.ones((500, 3))
    X[321, 1] = value
    for read in (
        lambda: Rows.centered(X, "T", normalize=True),
        lambda: normalized(X).take(np.array([5, 321])),
        lambda: scale_to_unit_length(X, "T"),
    ):
        with pytest.raises(DataError, match=r"X of T must be finite.* in row 321\."):
            read()


def test_normalize_must_be_a_boolean() -> None:
    with pytest.raises(ParameterTypeError, match="normalize of T must be True or False, got 1"):
        Rows.centered(np.eye(3), "T", normalize=1)  # type: ignore[arg-type]


# Blocks of stored rows

STORED = np.arange(90).reshape(30, 3)


def read_blocks() -> list[np.ndarray]:
    return [STORED[:1], STORED[1:14], STORED[14:]]


def test_block_length() -> None:
    assert block_length(784) == BLOCK_BYTES // (4 * 784)
    assert block_length(1) == block_length(0) == 4096
    assert block_length(10**9) == 64


@given(st.integers(1, 40), st.integers(1, 4), st.integers(0, 35), st.booleans())
def test_blocks_of_arrays_and_streams(step: int, stride: int, first: int, is_stream: bool) -> None:
    matrix = Stream.from_blocks(read_blocks) if is_stream else STORED
    found = list(iter_blocks(matrix, step, stride=stride, first=first))
    assert [start for start, _ in found] == list(range(first, 30, step * stride))
    for start, values in found:
        assert np.array_equal(values, STORED[start : start + step])
