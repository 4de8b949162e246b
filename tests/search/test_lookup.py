"""Radius lookup: tables and scans give the same hits, and the cost model chooses between them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitfold import Codes
from bitfold.codes import count_bytes
from bitfold.search.lookup import RadiusLookup, best_plan
from bitfold.search.segment import Segment


def build_segment(codes: Codes) -> Segment:
    return Segment.build(codes.words(), np.arange(len(codes)))


@given(
    st.sampled_from([1, 3, 8, 20, 63, 64, 65, 128, 150, 256, 1024]),
    st.integers(1, 60),
    st.integers(0, 6),
    st.integers(0, 2**32),
)
def test_tables_equal_a_scan(n_bits: int, n: int, radius: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    radius = min(radius, n_bits)
    pool = rng.random((rng.integers(1, n + 1), n_bits)) < 0.5
    database = pool[rng.integers(0, len(pool), n)]
    queries = database[rng.integers(0, n, 4)] ^ (rng.random((4, n_bits)) < 0.05)
    words = Codes.from_bits(queries).words()
    plan = best_plan(8 * count_bytes(n_bits), n, radius)
    if sum(2**width for width in plan.widths) > 1 << 18:
        return  # tables too large for a quick test
    whole = build_segment(Codes.from_bits(database))
    for segment in (whole, whole.without(np.arange(0, n, 3))):
        lookup = RadiusLookup(segment, n_bits)
        by_tables, by_scan = lookup.run(plan, words, radius), lookup.run(None, words, radius)
        assert np.array_equal(by_tables.offsets, by_scan.offsets)
        assert np.array_equal(by_tables.ids, by_scan.ids)
        assert np.array_equal(by_tables.distances, by_scan.distances)


def test_more_hits_than_expected() -> None:
    segment = build_segment(Codes(np.zeros((5000, 1), np.uint8), 8))
    lookup = RadiusLookup(segment, 8)
    query = np.zeros((2, 1), np.uint64)
    for plan in (None, best_plan(8, 5000, 0)):
        hits = lookup.run(plan, query, 0)
        assert hits.offsets.tolist() == [0, 5000, 10_000]
        assert np.array_equal(hits.ids, np.tile(np.arange(5000), 2))


def test_cost_model() -> None:
    rng = np.random.default_rng(0)
    small = RadiusLookup(build_segment(Codes(rng.integers(0, 256, (500, 8), np.uint8), 64)), 64)
    assert small.choose_plan(1000, 2) is None
    codes = Codes(rng.integers(0, 256, (200_000, 8), np.uint8), 64)
    large = RadiusLookup(build_segment(codes), 64)
    assert large.choose_plan(1000, 20) is None
    assert large.choose_plan(1000, 1) is not None
    assert large.choose_plan(1, 1) is None  # one query does not pay for the tables


@pytest.mark.parametrize("radius", range(9))
@pytest.mark.parametrize("n_bits", [8, 24, 64, 128, 1024])
def test_plan_covers_the_radius(n_bits: int, radius: int) -> None:
    """However ``radius`` differing bits are spread, one part is probed far enough."""
    plan = best_plan(n_bits, 10**6, min(radius, n_bits))
    assert sum(r + 1 for r in plan.radii) > min(radius, n_bits)
    assert max(plan.widths) <= 24
