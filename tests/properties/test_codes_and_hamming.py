"""Packing is lossless, and Hamming distances of packed codes are those of the bits."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from bitfold.codes import Codes
from bitfold.metrics import distance_histograms

BitArray = NDArray[np.bool_]


@st.composite
def bit_matrices(draw: st.DrawFn, max_rows: int = 20, max_bits: int = 200) -> BitArray:
    shape = draw(st.integers(0, max_rows)), draw(st.integers(1, max_bits))
    return draw(hnp.arrays(bool, shape))


@given(bit_matrices())
def test_unpack_after_pack_is_the_identity(bits: BitArray) -> None:
    codes = Codes.from_bits(bits)
    np.testing.assert_array_equal(codes.unpack(), bits)
    assert Codes(codes.packed, codes.n_bits) == codes
    assert Codes.from_bits(codes.unpack()) == codes


@given(bit_matrices())
def test_words_count_the_same_ones(bits: BitArray) -> None:
    ones = np.unpackbits(Codes.from_bits(bits).words().view(np.uint8), axis=1)
    np.testing.assert_array_equal(ones.sum(axis=1), bits.sum(axis=1))


@given(bit_matrices(), st.data())
def test_concatenated_parts_are_the_whole(bits: BitArray, data: st.DataObject) -> None:
    codes = Codes.from_bits(bits)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(bits)), max_size=3)))
    bounds = [0, *cuts, len(bits)]
    parts = [codes[a:b] for a, b in itertools.pairwise(bounds)]
    assert Codes.concatenate(parts) == codes


@st.composite
def labeled(draw: st.DrawFn) -> tuple[BitArray, BitArray, list[int], list[int]]:
    """Queries and database of equal length, a few labels; more queries than one block holds."""
    n_bits = draw(st.sampled_from([1, 2, 7, 8, 63, 64, 65, 130]))
    q, n = draw(st.integers(1, 40)), draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    # Mostly zeros: small distances, and with them ties, are the rule.
    queries, database = (rng.random((rows, n_bits)) < 0.2 for rows in (q, n))
    return queries, database, rng.integers(3, size=q).tolist(), rng.integers(3, size=n).tolist()


@given(labeled())
@settings(max_examples=60)
def test_histograms_equal_a_loop(case: tuple[BitArray, BitArray, list[int], list[int]]) -> None:
    queries, database, query_labels, labels = case
    got = distance_histograms(
        Codes.from_bits(queries), Codes.from_bits(database), query_labels, labels
    )
    found = np.zeros((len(queries), queries.shape[1] + 1), int)
    relevant = np.zeros_like(found)
    for q, query in enumerate(queries):
        for i, code in enumerate(database):
            distance = int((query != code).sum())
            found[q, distance] += 1
            relevant[q, distance] += labels[i] == query_labels[q]
    np.testing.assert_array_equal(got.found, found)
    np.testing.assert_array_equal(got.relevant, relevant)
