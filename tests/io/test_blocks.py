"""Blocks of stored rows: their length, their order, and chosen rows of a stream."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bitfold.io import Stream
from bitfold.io.blocks import BLOCK_BYTES, block_length, iter_blocks, iter_chosen

X = np.arange(90).reshape(30, 3)


def read_blocks() -> list[np.ndarray]:
    return [X[:1], X[1:14], X[14:]]


def test_block_length() -> None:
    assert block_length(784) == BLOCK_BYTES // (4 * 784)
    assert block_length(1) == block_length(0) == 4096
    assert block_length(10**9) == 64


@given(st.integers(1, 40), st.integers(1, 4), st.integers(0, 35), st.booleans())
def test_blocks_of_arrays_and_streams(step: int, stride: int, first: int, is_stream: bool) -> None:
    matrix = Stream.from_blocks(read_blocks) if is_stream else X
    found = list(iter_blocks(matrix, step, stride=stride, first=first))
    assert [start for start, _ in found] == list(range(first, 30, step * stride))
    for start, values in found:
        assert np.array_equal(values, X[start : start + step])


@given(st.lists(st.integers(0, 29)), st.integers(1, 40))
def test_chosen_rows_of_a_stream(chosen: list[int], step: int) -> None:
    out = np.full((len(chosen), 3), -1)
    stream = Stream.from_blocks(read_blocks)
    for at, rows in iter_chosen(stream, np.array(chosen, np.intp), step):
        out[at] = rows
    assert np.array_equal(out, X[chosen])
