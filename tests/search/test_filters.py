"""Filters: a search among some items equals a search in an index of these items."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bitfold as bf
from bitfold.errors import DataError, ParameterError
from bitfold.search import filters
from bitfold.search.segment import Segment

N_BITS = [1, 3, 8, 20, 63, 64, 65, 128, 150, 256, 1024]


def assert_equal_hits(found: Any, expected: Any) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@st.composite
def filtered_indexes(draw: st.DrawFn) -> tuple[bf.HammingIndex, bf.HammingIndex, Any, Any]:
    """Draw an index with several segments and deletions, an index of some items, their ids, and
    reals to search for."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_bits, n = draw(st.sampled_from(N_BITS)), draw(st.integers(1, 90))
    pool = rng.integers(0, 2, (draw(st.integers(1, n)), n_bits), np.uint8)
    bits = pool[rng.integers(0, len(pool), n)]
    is_consecutive = draw(st.booleans())
    ids = np.arange(n) - 5 if is_consecutive else rng.choice(400, n, replace=False) - 200
    index, rest = bf.HammingIndex(n_bits), bf.HammingIndex(n_bits)
    for part in np.split(np.arange(n), [n * 2 // 3, n * 9 // 10]):
        index.add(bf.Codes.from_bits(bits[part]), ids=ids[part])
    deleted = rng.random(n) < draw(st.sampled_from([0, 0.2]))
    index.remove(ids[deleted])
    left = np.flatnonzero(~deleted)
    left = rng.permutation(left)[: draw(st.integers(0, len(left)))]
    rest.add(bf.Codes.from_bits(bits[left]), ids=ids[left])
    reals = rng.standard_normal((4, n_bits)).astype(np.float32)
    # Queries equal to a code have zero distances and ties.
    reals[:2] = np.where(bits[rng.integers(0, n, 2)] == 1, 1, -1) * np.abs(reals[:2])
    return index, rest, ids[left], reals


@given(filtered_indexes(), st.sampled_from([1, 7, 300]), st.sampled_from([0.0, 1.0, math.inf]))
def test_filtered_search_equals_an_index_of_the_rest(case: Any, k: int, skipping: float) -> None:
    index, rest, left, reals = case
    queries = bf.Codes.from_bits(reals > 0)
    mask = np.isin(np.sort(np.concatenate([b.ids for b in index.batches()] or [left])), left)
    with patch.object(filters, "_SKIPPING", skipping):  # always, sometimes or never skip
        for among in (left, left.tolist(), mask):
            assert_equal_hits(index.search(queries, k, among=among), rest.search(queries, k))
            by_reals = index.search(queries, k, query_embedding=reals, among=among)
            assert_equal_hits(by_reals, rest.search(queries, k, query_embedding=reals))
            for radius in (0, 3, 40):
                near = index.within(queries, radius, among=among)
                assert_equal_hits(near, rest.within(queries, radius))


@given(filtered_indexes(), st.integers(0, 2**32))
def test_one_mask_on_all_codes_changes_nothing(case: Any, seed: int) -> None:
    index, _, left, reals = case
    flips = np.random.default_rng(seed).integers(0, 2, index.n_bits, np.uint8)
    flipped = bf.HammingIndex(index.n_bits)
    for batch in index.batches():
        flipped.add(bf.Codes.from_bits(batch.codes.unpack() ^ flips), ids=batch.ids)
    queries, turned = reals > 0, np.where(flips == 1, -reals, reals)
    for k in (3, 300):
        found = flipped.search(bf.Codes.from_bits(queries ^ (flips == 1)), k, among=left)
        assert_equal_hits(found, index.search(bf.Codes.from_bits(queries), k, among=left))
        found = flipped.search(bf.Codes.from_bits(turned > 0), k, query_embedding=turned)
        expected = index.search(bf.Codes.from_bits(queries), k, query_embedding=reals)
        assert_equal_hits(found, expected)


def test_tables_are_shared_with_a_filtered_lookup() -> None:
    rng = np.random.default_rng(0)
    codes = bf.Codes(rng.integers(0, 256, (200_000, 8), np.uint8), 64)
    index = bf.HammingIndex(64)
    index.add(codes)
    queries, left = codes[:2000], np.flatnonzero(rng.random(200_000) < 0.9)
    with patch.object(Segment, "gather", side_effect=AssertionError):
        found = index.within(queries, 2, among=left)
    every = index.within(queries, 2)
    is_left = np.isin(every.ids, left)
    assert_equal_hits(found[1:], (every.ids[is_left], every.distances[is_left]))


def test_few_items_are_gathered_and_repeated_codes_skipped() -> None:
    distinct = Segment.build(np.arange(10_000, dtype=np.uint64)[:, None], np.arange(10_000))
    assert filters.narrow(distinct, np.arange(100), n_queries=1).n_distinct == 100
    equal = Segment.build(np.zeros((10_000, 1), np.uint64), np.arange(10_000))
    assert filters.narrow(equal, np.arange(9000), n_queries=100).n_distinct == 1


def test_filter_of_an_index_on_disk(tmp_path: Path) -> None:
    codes = bf.Codes.from_bits(np.random.default_rng(0).integers(0, 2, (50, 12)))
    index = bf.HammingIndex(12)
    index.add(codes)
    index.save(tmp_path / "i")
    with bf.HammingIndex.open(tmp_path / "i") as stored:
        for among in ([3], np.arange(0, 50, 2)):
            expected = index.search(codes, 5, among=among)
            assert_equal_hits(stored.search(codes, 5, among=among), expected)


def test_errors_name_the_ids_and_the_length() -> None:
    index = bf.HammingIndex(2)
    index.add(bf.Codes.from_bits([[0, 1], [1, 1], [0, 0]]), ids=[4, 6, 8])
    query = index.codes([4])
    for method, name in ((index.search, "search"), (index.within, "within")):
        with pytest.raises(DataError, match=r"does not contain these ids: 5, 7\.$"):
            method(query, 1, among=[4, 5, 7])
        with pytest.raises(DataError, match=rf"among of {name} .* repeated: 4\.$"):
            method(query, 1, among=[4, 4, 6])
        with pytest.raises(ParameterError, match=rf"among of {name} .* 3 items .* \(2,\)"):
            method(query, 1, among=[True, False])
    index.remove([6])
    with pytest.raises(DataError, match=": 6"):
        index.search(query, among=[6])
    with pytest.raises(ParameterError, match="2 items"):
        index.search(query, among=[True, False, True])
