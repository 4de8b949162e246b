"""Groups as a forest: every node points to another node of its group, the root to itself."""

from __future__ import annotations

from numba import njit

from bitfold._types import Int64Array


@njit(nogil=True, cache=True)
def _find_root(parents: Int64Array, node: int) -> int:
    """Return the root of a node, and shorten its path."""
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@njit(nogil=True, cache=True)
def connect(parents: Int64Array, lefts: Int64Array, rights: Int64Array) -> None:
    """Unite the groups of pairs of nodes; the root of a group is its smallest node."""
    for i in range(lefts.shape[0]):
        a, b = _find_root(parents, lefts[i]), _find_root(parents, rights[i])
        if a < b:
            parents[b] = a
        else:
            parents[a] = b


@njit(nogil=True, cache=True)
def point_to_roots(parents: Int64Array) -> None:
    """Point every node to the root of its group."""
    for node in range(parents.shape[0]):
        # A parent is a smaller node, and already points to the root.
        parents[node] = parents[parents[node]]


@njit(nogil=True, cache=True)
def claim_stars(
    centers: Int64Array, nodes: Int64Array, offsets: Int64Array, near: Int64Array
) -> None:
    """Make each node that has no center yet a center of the nodes near it, one after another.

    The nodes near ``nodes[i]`` are ``near[offsets[i]:offsets[i + 1]]``. Without a center, an entry
    of ``centers`` is -1.
    """
    for i in range(nodes.shape[0]):
        center = nodes[i]
        if centers[center] >= 0:
            continue
        centers[center] = center
        for e in range(offsets[i], offsets[i + 1]):
            if centers[near[e]] < 0:
                centers[near[e]] = center
