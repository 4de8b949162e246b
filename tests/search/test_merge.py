"""Merged hits are those of the whole database."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfold import Codes, HammingIndex
from bitfold.search import Hits, RadiusHits, group_radius_hits, merge_hits, merge_radius_hits


def build_index(codes: Codes, ids: list[int]) -> HammingIndex:
    index = HammingIndex(codes.n_bits)
    index.add(codes, ids)
    return index


@given(st.integers(1, 4), st.integers(0, 30), st.integers(1, 40), st.integers(0, 2**32))
def test_parts_equal_the_whole(n_parts: int, n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = Codes.from_bits(rng.random((n, 6)) < 0.3) if n else Codes(np.empty((0, 1), "u1"), 6)
    ids = rng.permutation(100)[:n]
    queries = Codes.from_bits(rng.random((3, 6)) < 0.3)
    part_of = rng.integers(n_parts, size=n)
    whole = build_index(codes, ids.tolist())
    parts = [build_index(codes[part_of == p], ids[part_of == p].tolist()) for p in range(n_parts)]
    merged = merge_hits([part.search(queries, k) for part in parts], k)
    for found, expected in zip(merged, whole.search(queries, k), strict=True):
        np.testing.assert_array_equal(found, expected)
    near = merge_radius_hits([part.within(queries, 2) for part in parts], 3)
    expected_near = whole.within(queries, 2)
    np.testing.assert_array_equal(near.offsets, expected_near.offsets)
    np.testing.assert_array_equal(near.ids, expected_near.ids)
    np.testing.assert_array_equal(near.distances, expected_near.distances)


@pytest.mark.parametrize("n_queries", [0, 2])
def test_no_parts(n_queries: int) -> None:
    hits = merge_radius_hits([], n_queries)
    assert hits.offsets.tolist() == [0] * (n_queries + 1)
    assert (hits.ids.dtype.name, hits.distances.dtype.name) == ("int64", "int32")


def test_one_part_is_cut_to_k() -> None:
    hits = merge_hits([Hits(np.array([[4, 2, 7]]), np.array([[0, 1, 1]]))], k=2)
    assert hits.ids.tolist() == [[4, 2]]
    assert hits.distances.tolist() == [[0, 1]]
    assert hits.n_tied is None


def test_ties_of_one_part_that_is_cut() -> None:
    part = Hits(np.array([[4, 2, 7]]), np.array([[0, 1, 1]]), np.array([9]))
    assert [merge_hits([part], k).n_tied for k in (1, 2, 3)] == [1, 9, 9]


def test_group_by_query() -> None:
    hits = group_radius_hits(
        np.array([2, 0, 2, 2]), np.array([9, 8, 5, 1]), np.array([1, 3, 1, 0]), n_queries=4
    )
    expected = RadiusHits(np.array([0, 1, 1, 4, 4]), np.array([8, 1, 5, 9]), np.array([3, 0, 1, 1]))
    for found, column in zip(hits, expected, strict=True):
        np.testing.assert_array_equal(found, column)
