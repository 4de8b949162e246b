"""Short lists sorted by distance, filled by insertion."""

from __future__ import annotations

from numba import njit

from bitfold._types import AnyArray


@njit(nogil=True, cache=True)
def insert(distances: AnyArray, items: AnyArray, filled: int, distance: float, item: int) -> int:
    """Insert into a list sorted by distance and item, if there is space; return its length."""
    position = filled
    while position > 0 and (
        distances[position - 1] > distance
        or (distances[position - 1] == distance and items[position - 1] > item)
    ):
        if position < len(distances):
            distances[position] = distances[position - 1]
            items[position] = items[position - 1]
        position -= 1
    if position < len(distances):
        distances[position] = distance
        items[position] = item
    return min(filled + 1, len(distances))
