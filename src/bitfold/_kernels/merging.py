"""Merge sorted rows of distances and ids."""

from __future__ import annotations

from numba import njit

from bitfold._types import AnyArray, Ids


@njit(nogil=True, cache=True)
def merge_rows(
    ids: Ids,
    distances: AnyArray,
    other_ids: Ids,
    other_distances: AnyArray,
    merged_ids: Ids,
    merged_distances: AnyArray,
) -> None:
    """Fill rows with the first entries of two rows, each sorted by distance, ties by id."""
    for q in range(merged_ids.shape[0]):
        a, b = 0, 0
        for i in range(merged_ids.shape[1]):
            takes_other = a == ids.shape[1]
            if not takes_other and b < other_ids.shape[1]:
                d, other = distances[q, a], other_distances[q, b]
                takes_other = other < d or (other == d and other_ids[q, b] < ids[q, a])
            if takes_other:
                merged_ids[q, i], merged_distances[q, i] = other_ids[q, b], other_distances[q, b]
                b += 1
            else:
                merged_ids[q, i], merged_distances[q, i] = ids[q, a], distances[q, a]
                a += 1
