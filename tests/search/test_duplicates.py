"""Near-duplicates equal brute force, with and without a check by vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.test_pairs import distances_of, draw_codes, make_index

import bitfold as bf
from bitfold._types import BoolArray, Int64Array
from bitfold.errors import DataError, ModelMismatchError, ParameterError
from bitfold.search import (
    Clusters,
    VectorCheck,
    default_radius,
    group_duplicates,
    match_duplicates,
)


class Items(NamedTuple):
    """Codes with ids, and vectors whose row i belongs to id i."""

    bits: BoolArray
    ids: Int64Array
    vectors: Int64Array

    @classmethod
    def draw(cls, rng: np.random.Generator, n: int, n_bits: int) -> Items:
        ids = np.sort(rng.permutation(2 * n)[:n])
        return cls(draw_codes(rng, n, n_bits), ids, rng.integers(0, 3, (2 * n + 1, 2)))

    def near(self, radius: int, max_distance: float | None) -> BoolArray:
        """Return which pairs are near, by brute force."""
        near: BoolArray = distances_of(self.bits, self.bits) <= radius
        if max_distance is None:
            return near
        X = self.vectors[self.ids]
        near &= np.linalg.norm(X[:, None] - X, axis=2) <= max_distance
        return near

    def check(self, max_distance: float | None) -> VectorCheck | None:
        return None if max_distance is None else VectorCheck(self.vectors, max_distance)


def find_stars(near: BoolArray) -> list[int]:
    centers: list[int] = []
    for i in range(len(near)):
        earlier = [j for j in range(i) if centers[j] == j and near[i, j]]
        centers.append(earlier[0] if earlier else i)
    return centers


def find_components(near: BoolArray) -> list[int]:
    roots = list(range(len(near)))
    for _ in roots:
        roots = [min(roots[j] for j in np.flatnonzero(row)) for row in near]
    return roots


def listed(clusters: Clusters) -> dict[int, list[int]]:
    groups = np.split(clusters.ids, clusters.offsets[1:-1])
    return {int(group[0]): group.tolist() for group in groups if len(group)}


cases = st.tuples(
    st.sampled_from([1, 8, 64, 100]), st.integers(0, 30), st.integers(0, 20), st.integers(0, 2**32)
)
limits = st.sampled_from([None, 0, 1, 1.5, 2.5])


@settings(max_examples=40)
@given(cases, limits, st.sampled_from(["star", "connected"]), st.integers(1, 3))
def test_groups_equal_brute_force(
    case: tuple[int, int, int, int], max_distance: float | None, linkage: str, min_size: int
) -> None:
    n_bits, n, radius, seed = case
    items = Items.draw(np.random.default_rng(seed), n, n_bits)
    index = make_index(items.bits, items.ids)
    found = group_duplicates(
        index, radius, linkage=linkage, check=items.check(max_distance), min_size=min_size
    )
    near = items.near(radius, max_distance)
    centers = np.array((find_stars if linkage == "star" else find_components)(near), int)
    groups = {
        int(items.ids[c]): items.ids[centers == c].tolist()
        for c in np.unique(centers)
        if np.count_nonzero(centers == c) >= min_size
    }
    assert listed(found) == groups
    rows = {int(id_): row for row, id_ in enumerate(items.ids)}
    hamming = distances_of(items.bits, items.bits)
    expected = [hamming[rows[i], rows[c]] for c, members in groups.items() for i in members]
    assert found.distances.tolist() == expected
    assert found.distances.dtype == np.int32


@settings(max_examples=40)
@given(cases, st.integers(0, 30), limits)
def test_matches_equal_brute_force(
    case: tuple[int, int, int, int], n_other: int, max_distance: float | None
) -> None:
    n_bits, n, radius, seed = case
    rng = np.random.default_rng(seed)
    both = Items.draw(rng, n + n_other, n_bits)
    left, right = np.arange(n), n + np.arange(n_other)
    index, other = (make_index(both.bits[rows], both.ids[rows]) for rows in (left, right))
    check = both.check(max_distance)
    found = match_duplicates(index, other, radius, check=check)
    near = both.near(radius, max_distance)[:n, n:]
    hamming = distances_of(both.bits[left], both.bits[right])
    X = both.vectors[both.ids]
    ranks = hamming if check is None else np.linalg.norm(X[left][:, None] - X[right], axis=2)
    expected = []
    for i in np.flatnonzero(near.any(axis=1)).tolist():
        best = min(np.flatnonzero(near[i]).tolist(), key=lambda j: (ranks[i, j], both.ids[n + j]))
        expected.append((int(both.ids[i]), int(both.ids[n + best]), int(hamming[i, best])))
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


@settings(max_examples=30)
@given(cases, limits)
def test_deduplicating_in_two_steps_keeps_the_same_items(
    case: tuple[int, int, int, int], max_distance: float | None
) -> None:
    n_bits, n, radius, seed = case
    items = Items.draw(np.random.default_rng(seed), n, n_bits)
    check = items.check(max_distance)

    def keep(rows: Int64Array) -> set[int]:
        index = make_index(items.bits[rows], items.ids[rows])
        return set(group_duplicates(index, radius, check=check, min_size=1).representatives)

    old, new = np.arange(n // 2), np.arange(n // 2, n)
    kept = keep(old)
    rows = np.array([row for row in old if items.ids[row] in kept], int)
    index = make_index(items.bits[rows], items.ids[rows])
    arrived = make_index(items.bits[new], items.ids[new])
    matched = match_duplicates(arrived, index, radius, check=check).ids
    kept |= keep(new[~np.isin(items.ids[new], matched)])
    assert kept == keep(np.arange(n))


def test_many_equal_codes() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(3, 4)), 700, axis=0)[rng.permutation(2100)]
    index = make_index(np.zeros((2100, 64), bool), range(2100))
    for linkage in ("star", "connected"):
        found = group_duplicates(index, 2, linkage=linkage, check=VectorCheck(X, 0))
        assert found.sizes.tolist() == [700] * 3


def test_default_radius() -> None:
    assert [default_radius(n_bits) for n_bits in (1, 64, 128, 256)] == [0, 4, 8, 16]


def test_wrong_parameters() -> None:
    index = make_index(np.zeros((2, 8), bool), [0, 9])
    X = np.zeros((3, 2))
    with pytest.raises(DataError, match="3 vectors, but none for id 9"):
        group_duplicates(index, 1, check=VectorCheck(X, 1))
    for wrong in ({"linkage": "single"}, {"min_size": 0}, {"radius": -1}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            group_duplicates(index, **({"radius": 1, "check": VectorCheck(X, 1)} | wrong))  # type: ignore[arg-type]
    other = bf.HammingIndex(8)
    other.add(bf.Codes(np.zeros((1, 1), np.uint8), 8, "a"))
    another = bf.HammingIndex(8)
    another.add(bf.Codes(np.zeros((1, 1), np.uint8), 8, "b"))
    with pytest.raises(ModelMismatchError):
        match_duplicates(other, another, 1)
    with pytest.raises(ParameterError, match="8 bits"):
        match_duplicates(index, bf.HammingIndex(9), 1)
