"""Pairs, joins and groups equal brute force, whatever the codes and the history of the index."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import bitfold as bf
from bitfold.errors import ModelMismatchError, ParameterError
from bitfold.search import Clusters, Pairs, joins
from bitfold.search.join_plan import ALL_CODES
from bitfold.search.parts import choose_parts
from bitfold.search.plan import Plan, drop_unused, rate_parts
from bitfold.search.segment import Segment

Found = dict[tuple[int, int], int]


def draw_codes(rng: np.random.Generator, n: int, n_bits: int) -> NDArray[np.bool_]:
    """Return codes around few centers, some of them equal."""
    centers = rng.random((3, n_bits)) < 0.5
    noise = rng.random((n, n_bits)) < rng.choice([0.02, 0.2, 0.5])
    codes: NDArray[np.bool_] = centers[rng.integers(0, 3, n)] ^ noise
    return codes[rng.integers(0, max(n, 1), n)]


def make_index(bits: NDArray[np.bool_], ids: Iterable[int], n_parts: int = 1) -> bf.HammingIndex:
    """Add codes in several parts, so that there can be several segments."""
    index = bf.HammingIndex(bits.shape[1])
    for rows in np.array_split(np.arange(len(bits)), n_parts):
        index.add(bf.Codes.from_bits(bits[rows]), np.asarray(ids)[rows])
    return index


def collect(blocks: Iterable[Pairs]) -> Found:
    """Return all pairs with their distances; none may appear twice."""
    found: Found = {}
    for first, second, distances in blocks:
        assert first.dtype == second.dtype == np.int64
        assert distances.dtype == np.int32
        for a, b, d in zip(first.tolist(), second.tolist(), distances.tolist(), strict=True):
            assert (a, b) not in found
            found[a, b] = d
    return found


def distances_of(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> NDArray[np.int64]:
    distances: NDArray[np.int64] = np.sum(a[:, None] != b, axis=2)
    return distances


def smallest_ids(bits: NDArray[np.bool_], ids: NDArray[np.int64]) -> dict[int, int]:
    """Return the smallest id with the same code as each id."""
    first: dict[bytes, int] = {}
    order = np.argsort(ids)
    return {int(ids[i]): first.setdefault(bits[i].tobytes(), int(ids[i])) for i in order.tolist()}


cases = st.tuples(
    st.sampled_from([1, 3, 8, 20, 63, 64, 65, 128, 200, 1024]),
    st.integers(0, 60),
    st.integers(0, 30),
    st.integers(0, 2**32),
)


@given(cases, st.integers(1, 3), st.booleans())
def test_pairs_equal_brute_force(
    case: tuple[int, int, int, int], n_parts: int, with_deleted: bool
) -> None:
    n_bits, n, radius, seed = case
    rng = np.random.default_rng(seed)
    bits, ids = draw_codes(rng, n, n_bits), rng.permutation(3 * n)[:n]
    index = make_index(bits, ids, n_parts)
    if with_deleted:
        gone = rng.random(n) < 0.3
        index.remove(ids[gone])
        bits, ids = bits[~gone], ids[~gone]
    distances = distances_of(bits, bits)
    expected = {
        (int(ids[i]), int(ids[j])): int(distances[i, j])
        for i, j in np.argwhere(distances <= radius).tolist()
        if ids[i] < ids[j]
    }
    assert collect(index.pairs(radius, expand_equal=True)) == expected
    first = smallest_ids(bits, ids)
    nodes = {pair: d for pair, d in expected.items() if d and all(first[i] == i for i in pair)}
    assert collect(index.pairs(radius)) == nodes
    mask = rng.random(n_bits) < 0.5
    assert collect(make_index(bits ^ mask, ids).pairs(radius)) == nodes
    check_groups(index, nodes, first, radius)


@given(cases, st.integers(0, 40))
def test_joins_equal_brute_force(case: tuple[int, int, int, int], n_other: int) -> None:
    n_bits, n, radius, seed = case
    rng = np.random.default_rng(seed)
    bits = draw_codes(rng, n + n_other, n_bits)
    left, right = np.split(bits, [n])
    left_ids, right_ids = rng.permutation(100)[:n], rng.permutation(100)[:n_other]
    distances = distances_of(left, right)
    expected = {
        (int(left_ids[i]), int(right_ids[j])): int(distances[i, j])
        for i, j in np.argwhere(distances <= radius).tolist()
    }
    one, other = make_index(left, left_ids, 2), make_index(right, right_ids)
    assert collect(one.join(other, radius, expand_equal=True)) == expected
    first, second = smallest_ids(left, left_ids), smallest_ids(right, right_ids)
    nodes = {(a, b): d for (a, b), d in expected.items() if first[a] == a and second[b] == b}
    assert collect(one.join(other, radius)) == nodes
    assert collect(other.join(one, radius)) == {(b, a): d for (a, b), d in nodes.items()}


def test_join_with_itself(tmp_path: Path) -> None:
    bits = draw_codes(np.random.default_rng(0), 30, 64)
    distances = distances_of(bits, bits)
    index = make_index(bits, range(30))
    near = {(i, j): int(distances[i, j]) for i, j in np.argwhere(distances <= 9).tolist()}
    assert collect(index.join(index, 9, expand_equal=True)) == near
    index.save(tmp_path / "index")
    stored = bf.HammingIndex.open(tmp_path / "index")
    assert collect(stored.join(stored, 9, expand_equal=True)) == near


def check_groups(index: bf.HammingIndex, pairs: Found, first: dict[int, int], radius: int) -> None:
    """Check groups, given the pairs of nodes and the node of each id."""
    near: dict[int, set[int]] = {node: {node} for node in sorted(set(first.values()))}
    for a, b in pairs:
        near[a].add(b)
        near[b].add(a)
    connected: dict[int, int] = {}
    stars: dict[int, int] = {}
    for node in near:
        if node not in connected:
            group, more = {node}, {node}
            while more:
                more = set().union(*(near[i] for i in more)) - group
                group |= more
            connected |= dict.fromkeys(group, node)
        if node not in stars:
            stars |= {i: node for i in near[node] if i not in stars}
    for linkage, groups in (("connected", connected), ("star", stars)):
        expected = {i: groups[node] for i, node in first.items()}
        for min_size in (1, 2, 4):
            clusters = index.clusters(radius, linkage=linkage, min_size=min_size)
            sizes = {group: list(expected.values()).count(group) for group in expected.values()}
            large = {i: group for i, group in expected.items() if sizes[group] >= min_size}
            assert list_members(clusters) == large
            check_clusters(index, clusters, radius if linkage == "star" else index.n_bits)


def list_members(clusters: Clusters) -> dict[int, int]:
    """Return the representative of each id."""
    groups = np.repeat(clusters.representatives, clusters.sizes)
    assert len(groups) == len(set(clusters.ids.tolist()))
    return dict(zip(clusters.ids.tolist(), groups.tolist(), strict=True))


def check_clusters(index: bf.HammingIndex, clusters: Clusters, radius: int) -> None:
    assert clusters.offsets[0] == 0 and clusters.offsets[-1] == len(clusters.ids)
    assert (np.diff(clusters.representatives) > 0).all()
    for a, b in zip(clusters.offsets, clusters.offsets[1:], strict=False):
        assert (np.diff(clusters.ids[a:b]) > 0).all()
    groups = np.repeat(clusters.representatives, clusters.sizes)
    differ = index.codes(clusters.ids).unpack() != index.codes(groups).unpack()
    np.testing.assert_array_equal(clusters.distances, differ.sum(axis=1))
    assert (clusters.distances <= radius).all()


@given(st.sampled_from([10, 64, 100]), st.integers(1, 4), st.integers(2, 9), st.integers(0, 2**32))
def test_every_plan_finds_the_same_pairs(n_bits: int, n_parts: int, width: int, seed: int) -> None:
    """The cheapest plan of few codes is to compare all pairs, so others are tried here."""
    rng = np.random.default_rng(seed)
    bits, radius = draw_codes(rng, 150, n_bits), int(rng.integers(0, 12))
    segment = Segment.build(bf.Codes.from_bits(bits).words(), np.arange(len(bits)))
    other = Segment.build(bf.Codes.from_bits(bits[50:]).words(), np.arange(100))
    for right in (segment, other):
        expected = run_plan(segment, right, radius, None)
        assert run_plan(segment, right, radius, (n_parts, width)) == expected


def run_plan(
    left: Segment, right: Segment, radius: int, shape: tuple[int, int] | None
) -> set[tuple[int, int, int]]:
    sample = right.tables.draw(right.words)
    plan = Plan(ALL_CODES, (0,), 0.0, 0)
    parts = choose_parts(sample.differences, *shape) if shape else ()
    if parts:
        plan = drop_unused(rate_parts(sample, parts, radius))
    found = [
        pair
        for part in range(len(plan.parts))
        for block in joins._PartJoin(left, right, plan, part, radius).run()
        for pair in zip(*(values.tolist() for values in block), strict=True)
    ]
    if left is right:
        found = [(min(a, b), max(a, b), d) for a, b, d in found]
    assert len(set(found)) == len(found)
    return set(found)


def test_blocks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joins, "MAX_PAIRS", 100)
    monkeypatch.setattr("bitfold.search.pairs.MAX_PAIRS", 100)
    n = 512
    codes = bf.Codes(np.arange(n, dtype=">u2").view(np.uint8).reshape(-1, 2), 16)
    index = bf.HammingIndex(16)
    index.add(codes)
    blocks = list(index.pairs(9))
    assert len(collect(blocks)) == n * (n - 1) // 2
    assert max(len(block.first) for block in blocks) <= 100 + 64 * n
    assert len(blocks) > 3
    equal = bf.HammingIndex(16)
    equal.add(codes[np.zeros(50, int)])
    blocks = list(equal.pairs(0, expand_equal=True))
    assert [len(block.first) for block in blocks] == [100] * 12 + [25]
    assert len(collect(blocks)) == 50 * 49 // 2


def test_pairs_are_those_of_the_call() -> None:
    index = make_index(np.eye(4, dtype=bool), range(4))
    pairs = index.pairs(2)
    index.remove([0, 1, 2, 3])
    assert len(collect(pairs)) == 6
    assert collect(index.pairs(2)) == {}
    assert len(index.clusters(2).ids) == 0


def test_parameters_are_checked_at_once() -> None:
    index, other = bf.HammingIndex(8), bf.HammingIndex(9)
    for call in (
        lambda: index.pairs(-1),
        lambda: index.join(index, 1.5),  # type: ignore[arg-type]
        lambda: index.join(other, 1),
        lambda: index.join([1], 1),  # type: ignore[arg-type]
        lambda: index.clusters(True),
        lambda: index.clusters(1, linkage="single"),
        lambda: index.clusters(1, min_size=0),
    ):
        with pytest.raises(ParameterError):
            call()
    codes = np.zeros((1, 1), np.uint8)
    index.add(bf.Codes(codes, 8, "a"))
    stranger = bf.HammingIndex(8)
    stranger.add(bf.Codes(codes, 8, "b"))
    with pytest.raises(ModelMismatchError):
        index.join(stranger, 1)
