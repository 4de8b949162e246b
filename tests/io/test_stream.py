"""Stream reads forward, block by block, and is sliced like an array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bitfold._threads import map_blocks
from bitfold.errors import DataError, ParameterError, ParameterTypeError
from bitfold.hashers import LSH
from bitfold.io import Rows, Stream, stream

X = np.random.default_rng(0).integers(0, 200, (500, 3)).astype(np.float32)


class CountedBlocks:
    """An iterable of blocks of different lengths that counts how often each is read."""

    def __init__(self, cuts: Iterable[int] = (7, 7, 100, 101, 390)) -> None:
        self.blocks = np.split(X, list(cuts))
        self.reads = [0] * len(self.blocks)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        for number, block in enumerate(self.blocks):
            self.reads[number] += 1
            yield block


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep 64 rows per thread, so that a few hundred rows do not all stay in memory."""
    monkeypatch.setattr(stream, "_MAX_BLOCK_BYTES", 1)
    monkeypatch.setattr(stream, "count_threads", lambda: 1)


@given(st.lists(st.integers(0, 500), max_size=6), st.data())
def test_slices_equal_those_of_the_array(cuts: list[int], data: st.DataObject) -> None:
    source = Stream.from_blocks(lambda: iter(np.split(X, sorted(cuts))))
    for _ in range(4):
        start, stop = data.draw(st.integers(0, 520)), data.draw(st.integers(0, 520))
        assert np.array_equal(source[start:stop], X[start:stop])
    assert source.shape == (500, 3)
    assert np.array_equal(source[:], X)


@pytest.mark.usefixtures("narrow")
def test_pass_reads_each_block_once_and_keeps_few_rows() -> None:
    blocks = CountedBlocks()
    source = Stream.from_blocks(lambda: blocks)
    for start in range(0, 500, 10):
        assert np.array_equal(source[start : start + 10], X[start : start + 10])
        # Some rows back, as a slower thread would request.
        assert np.array_equal(source[max(0, start - 150) : start], X[max(0, start - 150) : start])
    assert blocks.reads == [1] * 6
    assert source._window_start > 0
    assert np.array_equal(source[0:5], X[:5])
    assert blocks.reads == [2, 1, 1, 1, 1, 1]


def test_first_pass_counts_the_rows() -> None:
    blocks = CountedBlocks()
    source = Stream.from_blocks(lambda: blocks)
    assert (source.n_rows, source.n_features, source.dtype) == (None, 3, np.dtype("f4"))
    rows = Rows.centered(source, "T")
    assert source.n_rows == 500
    assert blocks.reads == [1] * 6
    assert np.array_equal(rows.center, Rows.centered(X, "T").center)


@pytest.mark.usefixtures("narrow")
def test_take_needs_one_pass_for_any_order() -> None:
    blocks = CountedBlocks()
    rows = Rows(Stream.from_blocks(lambda: blocks), np.zeros(3, np.float32), "T")
    indices = np.random.default_rng(0).integers(500, size=200)
    assert np.array_equal(rows.take(indices), X[indices])
    assert blocks.reads == [1] * 6
    assert rows.take(np.empty(0, np.int64)).shape == (0, 3)
    rng = np.random.default_rng
    expected = Rows(X, np.zeros(3, np.float32), "T")
    for size in (40, 500, 900):
        assert np.array_equal(rows.sample(size, rng(1)), expected.sample(size, rng(1)))


@pytest.mark.usefixtures("narrow")
def test_threads_may_read_out_of_order() -> None:
    blocks = CountedBlocks(cuts=range(20, 500, 20))
    source = Stream.from_blocks(lambda: blocks)
    assert len(source) == 500
    blocks.reads[:] = [0] * len(blocks.reads)
    starts = [start + 20 * (-1) ** place for place, start in enumerate(range(20, 460, 20))]
    # Unlike a plain pool, map_blocks lets no thread fall behind the rows that are kept.
    results = list(map_blocks(lambda start: (start, source[start : start + 20]), starts))
    assert all(np.array_equal(rows, X[start : start + 20]) for start, rows in results)
    assert set(blocks.reads) <= {0, 1}


def test_seekable_source_is_not_read_in_between() -> None:
    class RemoteMatrix:
        shape, dtype, chunks = (10_000, 3), np.dtype("f4"), (100, 3)

        def __init__(self) -> None:
            self.requests: list[tuple[int, int]] = []

        def __getitem__(self, rows: slice) -> NDArray[Any]:
            self.requests.append((rows.start, rows.stop))
            return np.arange(rows.start, rows.stop)[:, None] * np.ones(3, np.float32)

    matrix = RemoteMatrix()
    source = Stream.from_slices(matrix)
    assert source[9050:9060][:, 0].tolist() == list(range(9050, 9060))
    assert source[8250:8251][:, 0].tolist() == [8250]
    assert matrix.requests == [(8200, 10_000)]  # whole chunks, about one block in total
    assert source[10:11][:, 0].tolist() == [10]
    assert matrix.requests[1:] == [(0, 4100)]


def test_single_pass_source_cannot_be_counted_first() -> None:
    source = Stream(lambda row: (0, iter([X])), single_pass=True)
    with pytest.raises(ParameterTypeError, match=r"counted, got an iterator"):
        len(source)


@pytest.mark.usefixtures("narrow")
def test_single_pass_source_cannot_be_read_again() -> None:
    blocks = (X[i : i + 9] for i in range(0, 500, 9))
    source = Stream(lambda row: (0, blocks), single_pass=True)
    assert len(source[490:600]) == 10
    with pytest.raises(ParameterTypeError, match=r"read again, got an iterator"):
        source[0:1]


@pytest.mark.usefixtures("narrow")
def test_source_that_shrinks_between_passes_is_rejected() -> None:
    passes = iter([np.split(X, 5), np.split(X, 5)[:3]])
    source = Stream.from_blocks(lambda: next(passes))
    assert len(source) == 500
    with pytest.raises(DataError, match=r"500 rows.*ended after 300"):
        LSH(16, random_state=0).fit(source)


def test_error_while_reading_is_not_taken_for_the_end() -> None:
    def read_blocks() -> Iterator[NDArray[Any]]:
        yield X
        raise OSError("the disk is gone")

    source = Stream.from_blocks(read_blocks)
    for _ in range(2):
        with pytest.raises(OSError, match="the disk is gone"):
            len(source)
    assert source.n_rows is None


@pytest.mark.parametrize("rows", [slice(0, 10, 2), slice(-5, None), slice(0, -1)], ids=str)
def test_only_forward_slices_are_allowed(rows: slice) -> None:
    source = Stream.from_blocks(lambda: [X])
    with pytest.raises(ParameterError, match="consecutive rows") as caught:
        source[rows]
    assert (caught.value.name, caught.value.value) == ("rows", rows)


def test_source_without_rows_is_rejected() -> None:
    with pytest.raises(DataError, match="at least one row"):
        Stream.from_blocks(list).n_features  # noqa: B018


@given(st.lists(st.integers(0, 499)), st.integers(1, 600))
def test_chosen_rows_are_read_forward(chosen: list[int], step: int) -> None:
    blocks, out = CountedBlocks(), np.full((len(chosen), 3), -1.0)
    for at, values in Stream.from_blocks(lambda: blocks).iter_chosen(np.array(chosen, int), step):
        out[at] = values
    np.testing.assert_array_equal(out, X[chosen])
    assert max(blocks.reads) <= 1
