"""A list of segments answers like one segment, and few segments are kept."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bitfold._types import Ids
from bitfold.search.queries import CodeQueries
from bitfold.search.segment import Segment
from bitfold.search.segments import SegmentList, compact


def draw_segment(ids: Ids, rng: np.random.Generator) -> Segment:
    return Segment.build(rng.integers(0, 8, (len(ids), 1)).astype(np.uint64), ids)


@given(st.lists(st.integers(0, 8), max_size=4), st.integers(0, 2**32))
def test_parts_equal_their_merger(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    ids = rng.permutation(60)
    cuts = np.cumsum([0, *sizes])
    parts = [draw_segment(ids[a:b], rng) for a, b in itertools.pairwise(cuts)]
    deleted = ids[: cuts[-1]][rng.random(cuts[-1]) < 0.3]
    segments = SegmentList(3, SegmentList(3, parts).without(deleted))
    merged = SegmentList(3, [segments.merge()])
    assert len(segments) == len(merged) == cuts[-1] - len(deleted)
    queries = rng.integers(0, 8, (3, 1)).astype(np.uint64)
    for found, expected in zip(
        segments.nearest(CodeQueries(queries), 5),
        merged.nearest(CodeQueries(queries), 5),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)
    near, expected_near = segments.within(queries, 1), merged.within(queries, 1)
    np.testing.assert_array_equal(near.ids, expected_near.ids)
    np.testing.assert_array_equal(near.offsets, expected_near.offsets)
    np.testing.assert_array_equal(segments.contains(ids), merged.contains(ids))
    live = ids[segments.contains(ids)]
    assert set(live.tolist()) == set(ids[: cuts[-1]].tolist()) - set(deleted.tolist())
    np.testing.assert_array_equal(segments.words_of(live), merged.words_of(live))
    stored = {
        int(i): int(word[0]) for part in segments.batches(3) for i, word in zip(*part, strict=True)
    }
    assert stored == dict(zip(live.tolist(), segments.words_of(live)[:, 0].tolist(), strict=True))


def test_compact_keeps_few_segments() -> None:
    rng = np.random.default_rng(0)
    segments: list[Segment] = []
    for number in range(500):
        segments = compact([*segments, draw_segment(np.array([number]), rng)])
        assert len(segments) <= 10
    assert sum(map(len, segments)) == 500
    mostly_deleted = segments[0].without(np.arange(len(segments[0]) // 2 + 1))
    assert all(segment.n_deleted == 0 for segment in compact([mostly_deleted, *segments[1:]]))
    assert compact([segments[0].without(np.arange(len(segments[0])))]) == []
