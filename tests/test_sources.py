"""Sources: vectors read block by block, sliced like an array."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pyarrow import dataset, parquet
from scipy import sparse

from bitfold._threads import map_blocks
from bitfold.hashers import LSH
from bitfold.io import sources
from bitfold.io.rows import Rows
from bitfold.io.sources import open_source
from bitfold.io.stream import Stream

X = np.random.default_rng(0).integers(0, 200, (500, 3)).astype(np.float32)


class Counting:
    """Blocks of uneven lengths that can be read again; tells how often each was."""

    def __init__(self, matrix: NDArray[Any] = X, cuts: Iterable[int] = (7, 7, 100, 101, 390)):
        self.blocks = np.split(matrix, list(cuts))
        self.reads = [0] * len(self.blocks)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        for number, block in enumerate(self.blocks):
            self.reads[number] += 1
            yield block


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep 64 rows for each thread, so that a few hundred do not all stay."""
    monkeypatch.setattr(sources, "_LONGEST_BYTES", 1)
    monkeypatch.setattr(sources, "n_threads", lambda: 1)


@given(st.lists(st.integers(0, 500), max_size=6), st.data())
def test_slices_are_those_of_the_array(cuts: list[int], data: st.DataObject) -> None:
    stream = Stream.from_blocks(lambda: iter(np.split(X, sorted(cuts))))
    for _ in range(4):
        start, stop = data.draw(st.integers(0, 520)), data.draw(st.integers(0, 520))
        assert np.array_equal(stream[start:stop], X[start:stop])
    assert stream.shape == (500, 3)
    assert np.array_equal(stream[:], X)


@pytest.mark.usefixtures("narrow")
def test_a_pass_reads_each_block_once_and_keeps_little() -> None:
    blocks = Counting()
    stream = Stream.from_blocks(lambda: blocks)
    for start in range(0, 500, 10):
        assert np.array_equal(stream[start : start + 10], X[start : start + 10])
        # A few rows back, as a slower thread would ask.
        assert np.array_equal(stream[max(0, start - 150) : start], X[max(0, start - 150) : start])
    assert blocks.reads == [1] * 6
    assert stream._first > 0
    assert np.array_equal(stream[0:5], X[:5])
    assert blocks.reads == [2, 1, 1, 1, 1, 1]


def test_the_first_pass_counts() -> None:
    blocks = Counting()
    stream = Stream.from_blocks(lambda: blocks)
    assert (stream.n_rows, stream.n_features, stream.dtype) == (None, 3, np.dtype("f4"))
    rows = Rows.centered(stream, "T")
    assert stream.n_rows == 500
    assert blocks.reads == [1] * 6
    assert np.array_equal(rows.center, Rows.centered(X, "T").center)


@pytest.mark.usefixtures("narrow")
def test_chosen_rows_come_by_one_pass_in_any_order() -> None:
    blocks = Counting()
    rows = Rows(opened(blocks), np.zeros(3, np.float32), "T")
    indices = np.random.default_rng(0).integers(500, size=200)
    assert np.array_equal(rows.take(indices), X[indices])
    assert blocks.reads == [1] * 6
    assert rows.take(np.empty(0, np.int64)).shape == (0, 3)
    rng = np.random.default_rng
    plain = Rows(X, np.zeros(3, np.float32), "T")
    for size in (40, 500, 900):
        assert np.array_equal(rows.sample(size, rng(1)), plain.sample(size, rng(1)))


@pytest.mark.usefixtures("narrow")
def test_threads_may_ask_out_of_order() -> None:
    blocks = Counting(cuts=range(20, 500, 20))
    stream = opened(blocks)
    assert len(stream) == 500
    blocks.reads[:] = [0] * len(blocks.reads)
    starts = [start + 20 * (-1) ** place for place, start in enumerate(range(20, 460, 20))]
    # Which, unlike a bare pool, lets no thread fall behind further than the rows that are kept.
    parts = list(map_blocks(lambda start: (start, stream[start : start + 20]), starts))
    assert all(np.array_equal(part, X[start : start + 20]) for start, part in parts)
    assert set(blocks.reads) <= {0, 1}


def test_a_jump_reads_nothing_on_the_way() -> None:
    class Remote:
        shape, dtype, chunks = (10_000, 3), np.dtype("f4"), (100, 3)

        def __init__(self) -> None:
            self.asked: list[tuple[int, int]] = []

        def __getitem__(self, rows: slice) -> NDArray[Any]:
            self.asked.append((rows.start, rows.stop))
            return np.arange(rows.start, rows.stop)[:, None] * np.ones(3, np.float32)

    remote = Remote()
    stream = opened(remote)
    assert stream[9050:9060][:, 0].tolist() == list(range(9050, 9060))
    assert stream[8250:8251][:, 0].tolist() == [8250]
    assert remote.asked == [(8200, 10_000)]  # whole chunks, about a block of them
    assert stream[10:11][:, 0].tolist() == [10]
    assert remote.asked[1:] == [(0, 4100)]
    assert remote.asked[0][0] % 100 == 0


def all_sources(folder: Path) -> dict[str, Any]:
    np.save(folder / "x.npy", X)
    file = h5py.File(folder / "x.h5", "w")
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 3)
    table = pa.table({"id": pa.array(range(500)), "v": lists})
    parquet.write_table(table, folder / "x.parquet", row_group_size=70)
    stored = zarr.create_array(folder / "x.zarr", shape=X.shape, chunks=(30, 2), dtype="f4")
    stored[:] = X
    return {
        "memory map": np.load(folder / "x.npy", mmap_mode="r"),
        "hdf5": file.create_dataset("x", data=X, chunks=(33, 3), compression="gzip"),
        "hdf5 in one piece": file.create_dataset("y", data=X),
        "zarr": stored,
        "parquet": parquet.ParquetFile(folder / "x.parquet"),
        "parquet data set": dataset.dataset(folder / "x.parquet"),
        "arrow table": table,
        "dask": da.from_array(X, chunks=(40, 3)),
        "list of blocks": np.split(X, [1, 77]),
        "re-iterable": Counting(),
        "function": lambda: (X[i : i + 9] for i in range(0, 500, 9)),
        "stream": Stream.from_blocks(lambda: np.split(X, 5)),
    }


def test_whatever_holds_the_vectors_the_rows_are_the_same(tmp_path: Path) -> None:
    codes = LSH(16, random_state=0).fit(X).encode(X)
    for name, source in all_sources(tmp_path).items():
        stream = opened(source)
        assert isinstance(stream, Stream) == (name != "memory map"), name
        assert stream.shape == X.shape, name
        assert np.array_equal(stream[:], X), name
        assert LSH(16, random_state=0).fit(source).encode(source) == codes, name


def test_what_numpy_can_hold_is_left_as_it_is() -> None:
    frame = pd.DataFrame(X)
    for whole in (X, X.tolist(), frame, frame[0], [X[0], X[1]], "text", {"a": 1}, {1, 2}, None, 3):
        assert opened(whole) is whole
    lopsided = sparse.csr_array(X)
    assert opened(lopsided) is lopsided


def test_an_iterator_is_read_once() -> None:
    hasher = LSH(16, random_state=0).fit(X)
    assert hasher.encode(iter(np.split(X, [9, 200]))) == hasher.encode(X)
    assert np.array_equal(hasher.embed(block for block in [X]), hasher.embed(X))
    with pytest.raises(TypeError, match=r"^X of LSH must be readable more than once, got an itera"):
        hasher.fit(iter([X]))
    stream = opened(iter([X]))
    with pytest.raises(TypeError, match="more than once to be counted"):
        len(stream)


@pytest.mark.usefixtures("narrow")
def test_an_iterator_does_not_begin_again() -> None:
    stream = opened(X[i : i + 9] for i in range(0, 500, 9))
    assert len(stream[490:600]) == 10
    with pytest.raises(TypeError, match="more than once to be read again"):
        stream[0:1]


def test_a_generator_may_fill_one_array_again_and_again() -> None:
    def blocks() -> Iterator[NDArray[Any]]:
        room = np.empty((10, 3), np.float32)
        for start in range(0, 500, 10):
            room[:] = X[start : start + 10]
            yield room

    hasher = LSH(16, random_state=0).fit(X)
    assert hasher.encode(blocks()) == hasher.encode(X)
    assert hasher.encode(blocks) == hasher.encode(X)


def test_codes_come_block_by_block_from_any_row() -> None:
    many = np.tile(X, (20, 1))
    hasher = LSH(16, random_state=0).fit(X)
    whole = hasher.encode(many)
    for source in (many, opened(lambda: [many]), iter([many[:5], many[5:]])):
        parts = list(hasher.encode_blocks(source, first=4321))
        assert len(parts) > 1
        assert np.array_equal(np.concatenate([part.packed for part in parts]), whole.packed[4321:])
    assert list(hasher.encode_blocks(many, first=len(many))) == []
    with pytest.raises(ValueError, match="first of LSH must be at least 0, got -1"):
        hasher.encode_blocks(many, first=-1)


def spoilt(row: int) -> NDArray[Any]:
    bad = X.copy()
    bad[row, 1] = np.nan
    return bad


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: iter([]), "X of LSH must be 1 rows or more, got 0."),
    (lambda: iter([X[:0]]), "X of LSH must be 1 rows or more, got 0."),
    (lambda: iter([X, X[:, :2]]), "a block of a source of vectors must be of 3 features, as the"),
    (lambda: iter([X[0]]), "a block of a source of vectors must be 2-dimensional"),
    (lambda: iter([X.astype(str)]), "a block of a source of vectors must hold numbers"),
    (lambda: iter([X[:, :2]]), "X has 2 features, but LSH is expecting 3"),
    (lambda: iter([X, spoilt(17)]), "X of LSH must be finite, got NaN in row 517."),
    (
        lambda: pa.table({"a": pa.array([1])}),
        "a table of vectors must have one column of lists, got 0",
    ),
]


@pytest.mark.parametrize(("source", "sentence"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_wrong_is_said_in_a_sentence(source: Callable[[], Any], sentence: str) -> None:
    hasher = LSH(16, random_state=0).fit(X)
    with pytest.raises(ValueError) as caught:
        hasher.encode(source())
    assert str(caught.value).startswith(sentence)


@pytest.mark.usefixtures("narrow")
def test_a_source_that_changes_between_passes_is_refused() -> None:
    passes = iter([np.split(X, 5), np.split(X, 5)[:3]])
    stream = Stream.from_blocks(lambda: next(passes))
    assert len(stream) == 500
    with pytest.raises(ValueError, match=r"must hold the 500 rows that it began with, got 300\.$"):
        LSH(16, random_state=0).fit(stream)


def test_an_error_in_a_block_is_not_the_end() -> None:
    def broken() -> Iterator[NDArray[Any]]:
        yield X
        raise OSError("the disk is gone")

    stream = opened(broken)
    for _ in range(2):
        with pytest.raises(OSError, match="the disk is gone"):
            len(stream)
    assert stream.n_rows is None


def test_only_forward_slices() -> None:
    stream = opened(lambda: [X])
    for rows in (slice(0, 10, 2), slice(-5, None), slice(0, -1)):
        with pytest.raises(ValueError, match="a slice of a stream must be of rows forward"):
            stream[rows]
