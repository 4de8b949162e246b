"""Rows: any numeric matrix read as centered float32, block by block."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from bitfold.io import rows
from bitfold.io.rows import BLOCK_BYTES, Rows, block_length

FloatArray = NDArray[np.float32]
DTYPES = ["f2", "f4", "f8", "g", "?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">f4", ">i2"]


def plain(matrix: NDArray[Any]) -> Rows:
    return Rows(matrix, np.zeros(matrix.shape[1], np.float32), "T")


def all_of(rows: Rows) -> FloatArray:
    return np.concatenate([values for _, values in rows.blocks()])


@pytest.fixture
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 64 rows and gatherings of 10, so that a few hundred rows make several."""
    monkeypatch.setattr(rows, "BLOCK_BYTES", 1)
    monkeypatch.setattr(rows, "_SCATTERED", 10)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_numeric_dtype_becomes_float32(dtype: str) -> None:
    X = np.random.default_rng(0).integers(0, 2, (50, 3)).astype(dtype)
    got = all_of(plain(X))
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, X.astype(np.float32))
    np.testing.assert_array_equal(plain(X).take(np.arange(50)), got)


@pytest.mark.parametrize("dtype", ["i4", "i8", "f8"])
def test_large_numbers_are_centered_before_they_are_rounded(dtype: str) -> None:
    X = np.array([[10**9 + 1], [10**9 + 2], [10**9 + 3]], dtype)
    center = np.array([1e9], np.float32)
    np.testing.assert_array_equal(Rows(X, center, "T").block(0, 3), [[1], [2], [3]])


@given(
    st.lists(st.floats(width=32, min_value=-(2.0**120), max_value=2.0**120), min_size=1),
    st.floats(width=32, min_value=-(2.0**120), max_value=2.0**120),
)
def test_a_value_is_the_same_whichever_way_it_was_stored(
    values: list[float], center: float
) -> None:
    singles = np.array(values, np.float32)[:, None]
    at = np.array([center], np.float32)
    expected = Rows(singles, at, "T").block(0, len(values))
    got = Rows(singles.astype(np.float64), at, "T").block(0, len(values))
    np.testing.assert_array_equal(got.view(np.uint32), expected.view(np.uint32))


@given(st.lists(st.integers(0, 255), min_size=1), st.floats(0, 255, width=32))
def test_bytes_are_the_same_as_their_floats(values: list[int], center: float) -> None:
    at, stored = np.array([center], np.float32), np.array(values, np.uint8)[:, None]
    expected = Rows(stored.astype(np.float32), at, "T").block(0, len(values))
    for dtype in (np.uint8, np.int32, np.int64, np.float64):
        got = Rows(stored.astype(dtype), at, "T").block(0, len(values))
        np.testing.assert_array_equal(got, expected)


@pytest.mark.usefixtures("short_blocks")
def test_blocks_cover_all_rows_once_in_order() -> None:
    X = np.arange(1000.0).reshape(500, 2)
    blocks = list(plain(X).blocks())
    assert [block.start for block in blocks] == list(range(0, 500, 64))
    np.testing.assert_array_equal(np.concatenate([b.values for b in blocks]), X)


def test_blocks_suit_the_cache() -> None:
    assert block_length(784) == BLOCK_BYTES // (4 * 784)
    assert block_length(1) == block_length(0) == 4096
    assert block_length(10**9) == 64
    X = np.zeros((300, 2), np.uint8)
    assert len(list(plain(X).blocks(width=10**9))) == 5


@pytest.mark.usefixtures("short_blocks")
def test_centered_on_the_mean() -> None:
    X = np.random.default_rng(0).integers(0, 255, (500, 7)).astype(np.uint8)
    rows = Rows.centered(X, "T")
    assert rows.center.dtype == np.float32
    np.testing.assert_allclose(rows.center, X.mean(axis=0), rtol=1e-7)
    np.testing.assert_allclose(all_of(rows).mean(axis=0), 0, atol=1e-4)
    np.testing.assert_array_equal(rows.block(100, 120), X[100:120] - rows.center)
    assert (len(rows), rows.n_features) == (500, 7)


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize(
    "strange",
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
def test_any_layout_is_read(strange: Any) -> None:
    X = strange(np.random.default_rng(0).standard_normal((300, 9)).astype(np.float32))
    got = all_of(plain(X))
    assert got.flags.c_contiguous
    np.testing.assert_array_equal(got, X)


def test_read_only_input_is_read_and_left_alone() -> None:
    X = np.random.default_rng(0).standard_normal((30, 4))
    kept = X.copy()
    X.flags.writeable = False
    all_of(Rows.centered(X, "T"))
    np.testing.assert_array_equal(X, kept)


def test_a_block_can_be_written_where_it_is_wanted() -> None:
    X = np.arange(20.0).reshape(10, 2)
    out = np.empty((3, 2), np.float32)
    assert plain(X).block(4, 7, out) is out
    np.testing.assert_array_equal(out, X[4:7])


@pytest.mark.usefixtures("short_blocks")
def test_take_in_any_order_with_repetition() -> None:
    X = np.arange(400.0).reshape(200, 2)
    indices = np.random.default_rng(0).integers(200, size=95)
    np.testing.assert_array_equal(plain(X).take(indices), X[indices])
    assert plain(X).take(np.empty(0, np.int64)).shape == (0, 2)


def test_a_sample_has_no_repetition_and_keeps_the_order() -> None:
    X = np.arange(300.0)[:, None]
    got = plain(X).sample(100, np.random.default_rng(0))[:, 0]
    assert got.shape == (100,)
    assert (np.diff(got) > 0).all()
    again, other = (plain(X).sample(100, np.random.default_rng(seed))[:, 0] for seed in (0, 1))
    np.testing.assert_array_equal(got, again)
    assert not np.array_equal(got, other)


@pytest.mark.parametrize("size", [300, 301, 10**9])
def test_a_sample_as_large_as_the_data_is_the_data(size: int) -> None:
    X = np.arange(300.0)[:, None]
    np.testing.assert_array_equal(plain(X).sample(size, np.random.default_rng(0)), X)


def test_a_sample_is_fair() -> None:
    X = np.arange(10.0)[:, None]
    rng = np.random.default_rng(0)
    drawn = np.concatenate([plain(X).sample(3, rng)[:, 0] for _ in range(2000)])
    counts = np.bincount(drawn.astype(int), minlength=10)
    assert (np.abs(counts - 600) < 5 * np.sqrt(600 * 0.7)).all()


# What is refused

NAN = "X of T must be finite, got NaN in row {}."
HUGE = "X of T must be finite, got infinity or a value too large for float32 in row {}."


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize(
    ("value", "sentence"), [(np.nan, NAN), (np.inf, HUGE), (-np.inf, HUGE)], ids=str
)
def test_the_error_names_the_row(dtype: str, value: float, sentence: str) -> None:
    X = np.zeros((300, 3), dtype)
    X[217, 1] = value
    with pytest.raises(ValueError) as caught:
        Rows.centered(X, "T")
    assert str(caught.value) == sentence.format(217)
    with pytest.raises(ValueError) as caught:
        plain(X).take(np.arange(7, 300, 10))
    assert str(caught.value) == sentence.format(217)
    plain(X).take(np.arange(8, 300, 10))


@pytest.mark.usefixtures("short_blocks")
def test_infinities_that_cancel_are_seen() -> None:
    X = np.zeros((300, 3), np.float32)
    X[100], X[101] = np.inf, -np.inf
    with pytest.raises(ValueError) as caught:
        all_of(plain(X))
    assert str(caught.value) == HUGE.format(100)


@pytest.mark.parametrize("value", [1e38, 1e39, 1e300])
def test_what_float32_cannot_hold_is_refused_whatever_is_around_it(value: float) -> None:
    X = np.zeros((3, 2))
    X[1, 1] = value
    for near in (X, X[1:2], np.concatenate([X, -X])):
        with pytest.raises(ValueError, match="too large for float32 in row"):
            plain(near).block(0, len(near))


def test_large_numbers_that_float32_holds_pass() -> None:
    X = np.full((200, 3), 8e37)
    X[::2] *= -1
    np.testing.assert_array_equal(all_of(plain(X)), X.astype(np.float32))


def test_centered_refuses_distances_beyond_float32() -> None:
    X = np.zeros((300, 4))
    X[217, 2] = -1e30
    with pytest.raises(ValueError) as caught:
        Rows.centered(X, "T")
    assert str(caught.value) == (
        "X of T must be within ±2.3e+18, for distances to fit float32, got -1e+30 in row 217."
    )


# Memory maps


@pytest.mark.usefixtures("short_blocks")
@pytest.mark.parametrize("mode", ["r", "r+", "c"])
@pytest.mark.parametrize("part", [slice(None), slice(7, 291), slice(3, None, 5), slice(299, None)])
def test_memory_maps_are_read_like_arrays(tmp_path: Path, mode: Any, part: slice) -> None:
    X = np.random.default_rng(0).standard_normal((300, 33))
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode=mode)[part]
    np.testing.assert_array_equal(all_of(plain(mapped)), X[part].astype(np.float32))
    indices = np.random.default_rng(1).integers(len(mapped), size=50)
    np.testing.assert_array_equal(plain(mapped).take(indices), X[part][indices].astype(np.float32))


def test_what_was_written_to_a_private_map_is_not_released(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((300, 33)))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="c")
    mapped[:] = 1
    all_of(plain(mapped))
    assert (mapped == 1).all()


READ_ALL = """
import sys
import numpy as np
from bitfold._rows import BLOCK_BYTES, Rows

def peak():
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1024

X = np.memmap(sys.argv[1], np.float32, "r", shape=(50 << 10, 1 << 10))
rows = Rows(X, np.zeros(1 << 10, np.float32), "T")
rows.block(0, 2048)
before = peak()
for _ in rows.blocks():
    pass
read = peak()
rows.take(np.arange(0, len(X), 17))
print(read - before, peak() - read)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells peak memory")
def test_pages_that_were_read_do_not_count_as_memory(tmp_path: Path) -> None:
    with (tmp_path / "x").open("wb") as file:
        file.truncate(200 << 20)
    done = subprocess.run(
        [sys.executable, "-c", READ_ALL, str(tmp_path / "x")],
        capture_output=True,
        text=True,
        check=True,
    )
    of_blocks, of_take = map(int, done.stdout.split())
    # Megabytes; the matrix is 200, a block 8, and what was taken 12.
    assert of_blocks < 40
    assert of_take < 60


LOOK_BACK = """
import re, sys
from pathlib import Path
import numpy as np
from bitfold._rows import Rows

def mapped():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"RssFile:\\s+(\\d+) kB", status)[1]) // 1024

X = np.memmap(sys.argv[1], np.uint8, "r", shape=(1_000_000, 128))
rows = Rows(X, np.zeros(128, np.float32), "T")
rows.block(0, 1000)
before = mapped()
for stop in range(2000, len(X), 1000):
    rows.block(stop - 1000, stop)
    X[stop - 1, 0]  # as another thread may that works on what is beside it
print(mapped() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells mapped memory")
def test_pages_that_come_back_with_their_neighbors_go_again(tmp_path: Path) -> None:
    with (tmp_path / "x").open("wb") as file:
        file.truncate(128_000_000)
    command = [sys.executable, "-c", LOOK_BACK, str(tmp_path / "x")]
    # Megabytes of 128; without a look back it is 20 or more.
    assert int(subprocess.check_output(command, text=True)) < 8
