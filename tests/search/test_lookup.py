"""Radius lookup: tables and scans give the same hits, and tables are built when they pay off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfold import Codes
from bitfold._types import BoolArray, Words
from bitfold.search.lookup import RadiusLookup
from bitfold.search.parts import choose_parts
from bitfold.search.plan import rate_parts
from bitfold.search.results import RadiusHits
from bitfold.search.segment import Segment
from bitfold.search.tables import TableLookup


def build_segment(codes: Codes) -> Segment:
    return Segment.build(codes.words(), np.arange(len(codes)))


def make_lookup(segment: Segment, n_parts: int, width: int, radius: int) -> TableLookup | None:
    """Return tables of the given shape, None if the codes do not differ."""
    sample = segment.tables.draw(segment.words)
    parts = choose_parts(sample.differences, n_parts, width)
    if not parts:
        return None
    return segment.tables.build(segment.words, rate_parts(sample, parts, radius))


def search_by_brute_force(segment: Segment, queries: Words, radius: int) -> RadiusHits:
    """Return the hits by comparing everything with everything."""
    distances = np.bitwise_count(queries[:, None] ^ segment.item_words()).sum(axis=2, dtype=int)
    offsets, ids, found = [0], [], []
    for row in distances:
        near = np.flatnonzero((row <= radius) & segment.live)
        near = near[np.argsort(row[near], kind="stable")]
        ids.append(segment.ids[near])
        found.append(row[near])
        offsets.append(offsets[-1] + len(near))
    return RadiusHits(np.array(offsets), np.concatenate(ids), np.concatenate(found))


def assert_same(found: RadiusHits, expected: RadiusHits) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def draw_crowded(rng: np.random.Generator, n: int, n_bits: int) -> BoolArray:
    """Return codes around few centers, a few or many of them equal."""
    centers = rng.random((3, n_bits)) < 0.5
    noise = rng.random((n, n_bits)) < rng.choice([0.02, 0.2])
    codes: BoolArray = centers[rng.integers(0, 3, n)] ^ noise
    n_copies = rng.choice([n // 10, n])
    codes[:n_copies] = codes[rng.integers(0, n, n_copies)]
    return rng.permutation(codes)


@given(
    st.sampled_from([1, 3, 8, 20, 63, 64, 65, 128, 150, 256, 1024]),
    st.integers(1, 300),
    st.integers(0, 40),
    st.integers(1, 6),
    st.integers(1, 10),
    st.integers(0, 2**32),
)
def test_tables_and_scans_equal_brute_force(
    n_bits: int, n: int, radius: int, n_parts: int, width: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    database = draw_crowded(rng, n, n_bits)
    queries = database[rng.integers(0, n, 4)] ^ (rng.random((4, n_bits)) < 0.05)
    words, radius = Codes.from_bits(queries).words(), min(radius, n_bits)
    whole = build_segment(Codes.from_bits(database))
    mask = Codes.from_bits(rng.random((1, n_bits)) < 0.5).words()
    flipped = Segment.build(whole.item_words() ^ mask, whole.ids)
    for segment in (whole, whole.without(np.arange(0, n, 3))):
        expected = search_by_brute_force(segment, words, radius)
        by_tables = make_lookup(segment, n_parts, width, radius)
        for lookup in (None, by_tables, _never_scan(by_tables, n)):
            assert_same(RadiusLookup(segment).run(lookup, words, radius), expected)
    by_tables = make_lookup(flipped, n_parts, width, radius)
    found = RadiusLookup(flipped).run(by_tables, words ^ mask, radius)
    assert_same(found, search_by_brute_force(whole, words, radius))


def _never_scan(lookup: TableLookup | None, n: int) -> TableLookup | None:
    if lookup is None:
        return None
    return lookup._replace(plan=lookup.plan._replace(max_codes=n * len(lookup.plan.parts)))


def test_more_hits_than_expected() -> None:
    segment = build_segment(Codes(np.zeros((5000, 1), np.uint8), 8))
    hits = RadiusLookup(segment).run(None, np.zeros((2, 1), np.uint64), 0)
    assert hits.offsets.tolist() == [0, 5000, 10_000]
    assert np.array_equal(hits.ids, np.tile(np.arange(5000), 2))


def test_no_codes_and_no_queries() -> None:
    empty = build_segment(Codes(np.zeros((0, 8), np.uint8), 64))
    some = build_segment(Codes(np.zeros((3, 8), np.uint8), 64))
    for segment, n_queries in ((empty, 2), (some, 0), (empty, 0)):
        hits = RadiusLookup(segment).within(np.zeros((n_queries, 1), np.uint64), 64)
        assert hits.offsets.tolist() == [0] * (n_queries + 1)
        assert len(hits.ids) == len(hits.distances) == 0


@pytest.fixture(scope="module")
def large() -> Segment:
    rng = np.random.default_rng(0)
    return build_segment(Codes(rng.integers(0, 256, (200_000, 8), np.uint8), 64))


def copy_without_tables(segment: Segment) -> Segment:
    return Segment(segment.words, segment.starts, segment.members, segment.ids, segment.deleted)


def test_tables_are_built_when_they_pay_off(large: Segment) -> None:
    segment = copy_without_tables(large)
    queries = np.zeros((100, 1), np.uint64)
    lookup = RadiusLookup(segment)
    lookup.within(queries[:1], 1)
    assert segment.tables.n_bytes == 0  # one query does not pay for the tables
    for _ in range(60):
        lookup.within(queries, 1)
    assert segment.tables.n_bytes > 12 * 200_000
    assert lookup.estimate_ns(10, 1, 1.0) < lookup.estimate_ns(10, 2, 0.0) / 10
    assert segment.without(np.array([5])).tables is segment.tables


def test_a_wide_radius_is_scanned(large: Segment) -> None:
    segment = copy_without_tables(large)
    RadiusLookup(segment).within(np.zeros((2000, 1), np.uint64), 20)
    assert segment.tables.n_bytes == 0


def test_tables_of_another_radius_are_used(large: Segment) -> None:
    segment = copy_without_tables(large)
    lookup = RadiusLookup(segment)
    lookup.within(np.zeros((2000, 1), np.uint64), 8)
    n_bytes = segment.tables.n_bytes
    lookup.within(np.zeros((2000, 1), np.uint64), 7)
    assert segment.tables.known(7) is not None
    assert segment.tables.n_bytes == n_bytes > 0


def test_tables_stay_within_the_limit(large: Segment) -> None:
    segment, queries = copy_without_tables(large), np.zeros((2000, 1), np.uint64)
    for limit in (0, 4_000_000, 12_000_000, np.inf, 6_000_000):
        for radius in (2, 8, 12):
            RadiusLookup(segment, max_table_bytes=limit).within(queries, radius)
            assert segment.tables.n_bytes <= limit
        assert (segment.tables.n_bytes > 0) == (limit > 0)


def test_crowded_queries_scan(large: Segment) -> None:
    """All codes agree with the query in some part, so its buckets have all codes."""
    codes = np.array(large.words[0])
    codes[::2] &= np.uint64((1 << 32) - 1)
    codes[1::2] &= ~np.uint64((1 << 32) - 1)
    segment = Segment.build(codes[:, None], np.arange(len(codes)))
    queries = np.concatenate([np.zeros(20, np.uint64), codes[:20]])[:, None]
    lookup = make_lookup(segment, 4, 16, 4)
    assert lookup is not None
    found = RadiusLookup(segment).run(lookup, queries, 4)
    assert_same(found, RadiusLookup(segment).run(None, queries, 4))
