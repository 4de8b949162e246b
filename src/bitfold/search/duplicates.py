"""Near-duplicates: groups of items in one index, and items that are near those of another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bitfold import _validation
from bitfold._kernels import forest
from bitfold._types import Ids, Int32Array, Int64Array
from bitfold.search.index import HammingIndex
from bitfold.search.results import Clusters, Pairs, RadiusHits
from bitfold.search.vector_check import VectorCheck

_MAX_NEAR = 1 << 20
"""Expected number of near items of the items that are looked up together."""

_BITS_PER_STEP = 16
"""Bits of a code for each step of the default radius."""


def default_radius(n_bits: int) -> int:
    """Return the radius of near-duplicates if nothing else is known: one bit in sixteen.

    For codes whose bits are signs of projections, an angle of about 11 degrees, or a cosine of
    0.98, separates vectors at this distance.

    Parameters
    ----------
    n_bits
        Length of the codes.

    Returns
    -------
    ``n_bits // 16``.

    Examples
    --------
    >>> [default_radius(n_bits) for n_bits in (64, 128, 256)]
    [4, 8, 16]
    """
    return n_bits // _BITS_PER_STEP


class Matches(NamedTuple):
    """Items that are near items of another index, each with the nearest of those.

    Parameters
    ----------
    ids
        Ids of the items, ascending.
    matches
        Id of the nearest item of the other index.
    distances
        Their Hamming distances.

    Examples
    --------
    >>> from bitfold import Codes
    >>> train, test = HammingIndex(n_bits=3), HammingIndex(n_bits=3)
    >>> train.add(Codes.from_bits([[0, 0, 1], [1, 1, 1]]))
    >>> test.add(Codes.from_bits([[0, 1, 0], [0, 0, 0]]))
    >>> match_duplicates(test, train, radius=1)
    Matches(ids=array([1]), matches=array([0]), distances=array([1], dtype=int32))
    """

    ids: Ids
    matches: Ids
    distances: Int32Array


def group_duplicates(
    index: HammingIndex,
    radius: int,
    *,
    linkage: str = "star",
    check: VectorCheck | None = None,
    min_size: int = 2,
) -> Clusters:
    """Group near-duplicates, confirmed by the original vectors if these are given.

    Parameters
    ----------
    index
        Index of the codes.
    radius
        The largest Hamming distance of near-duplicates.
    linkage
        "star" or "connected", as in :meth:`HammingIndex.clusters`.
    check
        Confirms pairs: items are near only if their codes and their vectors are. Equal codes are
        confirmed too, pair by pair.
    min_size
        Smallest number of items of a group; 1 returns every item.

    Returns
    -------
    Groups in the order of their representatives, which are the smallest ids of the groups. If all
    but the representatives are removed, every removed item of a star has a near item that remains.

    Raises
    ------
    ParameterError
        If a parameter has a wrong value.
    DataError
        If ``check`` has no vector for an item, or one that is not finite.

    Examples
    --------
    >>> from bitfold import Codes
    >>> X = np.array([[1.0, 1.0], [1.1, 1.0], [9.0, 9.0], [-1.0, 1.0]])
    >>> index = HammingIndex(n_bits=2)
    >>> index.add(Codes.from_bits(X > 0))
    >>> group_duplicates(index, radius=0).ids.tolist()
    [0, 1, 2]
    >>> group_duplicates(index, radius=0, check=VectorCheck(X, max_distance=0.5)).ids.tolist()
    [0, 1]
    """
    if check is None:
        return index.clusters(radius, linkage=linkage, min_size=min_size)
    _validation.check_choice(linkage, "linkage", "group_duplicates", ("connected", "star"))
    min_size = _validation.check_integer(min_size, "min_size", "group_duplicates", low=1)
    ids = np.sort(index.buckets().ids)
    link = _link_stars if linkage == "star" else _link_connected
    return _list_groups(index, ids, link(index, ids, radius, check), min_size)


def match_duplicates(
    index: HammingIndex, other: HammingIndex, radius: int, *, check: VectorCheck | None = None
) -> Matches:
    """Find the items of an index that are near items of another index.

    Parameters
    ----------
    index
        Index of the items, such as a test set.
    other
        Index of codes of the same model, such as a training set.
    radius
        The largest Hamming distance of near-duplicates.
    check
        Confirms pairs by vectors; ``check.other_vectors`` are those of ``other``.

    Returns
    -------
    The items with a near item, and the nearest one: by Hamming distance, or with ``check`` by
    exact distance; ties by id.

    Raises
    ------
    ParameterError
        If a parameter has a wrong value, or the codes differ in length.
    ModelMismatchError
        If the codes were made by different models.
    DataError
        If ``check`` has no vector for an item, or one that is not finite.

    Examples
    --------
    >>> from bitfold import Codes
    >>> train, test = HammingIndex(n_bits=2), HammingIndex(n_bits=2)
    >>> train.add(Codes.from_bits([[0, 1], [1, 1]]))
    >>> test.add(Codes.from_bits([[0, 0], [1, 1], [0, 1]]))
    >>> match_duplicates(test, train, radius=0).matches.tolist()
    [1, 0]
    """
    buckets = index.buckets()
    nearest = _BestMatches(np.sort(buckets.ids))
    for pairs in index.join(other, radius, expand_equal=check is not None):
        nearest.add(pairs, check)
    if check is None:
        # Only the smallest id of equal codes is in the pairs.
        nearest.copy(np.repeat(buckets.ids[buckets.offsets[:-1]], buckets.sizes), buckets.ids)
    return nearest.list_matches()


class _BestMatches:
    """The nearest match of each item so far."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._matches = np.zeros(len(ids), np.int64)
        self._ranks = np.full(len(ids), np.inf, np.float32)
        self._distances = np.zeros(len(ids), np.int32)

    def add(self, pairs: Pairs, check: VectorCheck | None) -> None:
        """Replace matches by nearer ones."""
        ranks = pairs.distances.astype(np.float32)
        if check is not None:
            ranks = check.measure(pairs.first, pairs.second)
            accepted = ranks <= np.float32(check.max_distance)
            ranks = ranks[accepted]
            pairs = Pairs(pairs.first[accepted], pairs.second[accepted], pairs.distances[accepted])
        rows = np.searchsorted(self._ids, pairs.first)
        order = np.lexsort((pairs.second, ranks, rows))
        order = order[np.flatnonzero(np.diff(rows[order], prepend=-1))]  # the best of each item
        rows, ranks = rows[order], ranks[order]
        matches = pairs.second[order]
        is_tie = (ranks == self._ranks[rows]) & (matches < self._matches[rows])
        better = (ranks < self._ranks[rows]) | is_tie
        rows, order = rows[better], order[better]
        self._ranks[rows], self._matches[rows] = ranks[better], matches[better]
        self._distances[rows] = pairs.distances[order]

    def copy(self, sources: Ids, targets: Ids) -> None:
        """Give items the matches of others."""
        given, taken = np.searchsorted(self._ids, sources), np.searchsorted(self._ids, targets)
        for column in (self._matches, self._ranks, self._distances):
            column[taken] = column[given]

    def list_matches(self) -> Matches:
        """Return the items that have a match."""
        found = np.isfinite(self._ranks)
        return Matches(self._ids[found], self._matches[found], self._distances[found])


def _link_connected(index: HammingIndex, ids: Ids, radius: int, check: VectorCheck) -> Int64Array:
    """Return the first position of the group of each position in ``ids``, by chains."""
    parents = np.arange(len(ids))
    for pairs in index.pairs(radius, expand_equal=True):
        lefts, rights = np.searchsorted(ids, pairs.first), np.searchsorted(ids, pairs.second)
        # Pairs that are already connected need no check; there may be very many of them.
        forest.point_to_roots(parents)
        is_new = parents[lefts] != parents[rights]
        lefts, rights = lefts[is_new], rights[is_new]
        near = check.accepts(ids[lefts], ids[rights])
        forest.connect(parents, lefts[near], rights[near])
    forest.point_to_roots(parents)
    return parents


def _link_stars(index: HammingIndex, ids: Ids, radius: int, check: VectorCheck) -> Int64Array:
    """Return the position of the representative of each position in ``ids``."""
    centers = np.full(len(ids), -1)
    first, n_nodes = 0, 64
    while first < len(ids):
        nodes = first + np.flatnonzero(centers[first : first + n_nodes] < 0)
        hits = index.within(index.codes(ids[nodes]), radius)
        forest.claim_stars(centers, nodes, *_confirm(hits, ids, nodes, check, centers))
        first += n_nodes
        n_affordable = _MAX_NEAR * len(nodes) // max(len(hits.ids), 1)
        n_nodes = int(np.clip(n_affordable, 16, 4 * n_nodes))
    return centers


def _confirm(
    hits: RadiusHits, ids: Ids, nodes: Int64Array, check: VectorCheck, centers: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Return where the later, free positions near each node begin, and these positions."""
    rows = np.repeat(np.arange(len(nodes)), np.diff(hits.offsets))
    near = np.searchsorted(ids, hits.ids)
    is_open = (near > nodes[rows]) & (centers[near] < 0)
    rows, near = rows[is_open], near[is_open]
    accepted = check.accepts(ids[nodes[rows]], ids[near])
    rows, near = rows[accepted], near[accepted]
    return np.searchsorted(rows, np.arange(len(nodes) + 1)), near


def _list_groups(index: HammingIndex, ids: Ids, centers: Int64Array, min_size: int) -> Clusters:
    """List the items with the same center, if there are enough."""
    items = np.argsort(centers, kind="stable")
    sizes = np.bincount(centers, minlength=1)
    items = items[sizes[centers[items]] >= min_size]
    offsets = np.concatenate([[0], np.cumsum(sizes[sizes >= min_size])])
    members, roots = ids[items], ids[centers[items]]
    return Clusters(offsets, members, _measure_codes(index, members, roots))


def _measure_codes(index: HammingIndex, first: Ids, second: Ids) -> Int32Array:
    """Return the Hamming distances of pairs of items."""
    differing = index.codes(first).packed ^ index.codes(second).packed
    distances: Int32Array = np.bitwise_count(differing).sum(axis=1, dtype=np.int32)
    return distances
